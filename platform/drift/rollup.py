"""Count the rows of an hour against every reference that it belongs to. The hour is replaced, never added to: twice is as once."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Min

from drift import features
from drift.models import FrozenReference, Hour
from drift.references import LOCK, midnight
from foundation import clock

log = structlog.get_logger(__name__)

HOUR = timedelta(hours=1)
LOOKS = (timedelta(minutes=5), timedelta(hours=1))  # after the end of an hour; and every night while its rows are kept
NIGHT = 2  # o'clock, UTC
AT_ONCE = 24  # hours of one turn

_COUNT = "SELECT count(*) FROM drift_request WHERE at >= %s AND at < %s"
_FILL = f"""
    INSERT INTO drift_hist (hour, reference_id, organisation_id, slice, key, n, total, squares, low, high, counts)
    WITH live AS MATERIALIZED (
        SELECT * FROM drift_reference WHERE until < %(day)s AND (ended_on IS NULL OR ended_on > %(day)s)
    ), measured AS MATERIALIZED (
        SELECT live.id AS reference_id, q.tier::text AS tier, coalesce(q.site_id::text, '') AS site, q.worker, x.value,
               width_bucket(x.value, live.edges) AS bin
        FROM drift_request q
        JOIN live ON q.test_version_id = live.test_version_id AND q.model_version_id = live.model_version_id
                 AND q.deployment_id = live.deployment_id
        CROSS JOIN LATERAL (SELECT {features.chosen_by("live.feature")} AS value) x
        WHERE q.at >= %(since)s AND q.at < %(until)s AND q.kind = 'clinical' AND x.value IS NOT NULL
    ), bins AS MATERIALIZED (
        SELECT reference_id, coalesce(tier, site, worker, '') AS key, bin, count(*) AS n,
               CASE WHEN grouping(tier) = 0 THEN 'tier' WHEN grouping(site) = 0 THEN 'site'
                    WHEN grouping(worker) = 0 THEN 'worker' ELSE 'all' END AS slice,
               sum(value::numeric) AS total, sum((value * value)::numeric) AS squares, min(value) AS low, max(value) AS high
        FROM measured
        GROUP BY reference_id, bin, GROUPING SETS ((), (tier), (site), (worker))
    ), cells AS (
        SELECT reference_id, slice, key, sum(n) AS n, sum(total) AS total, sum(squares) AS squares,
               min(low) AS low, max(high) AS high
        FROM bins GROUP BY reference_id, slice, key
    )
    SELECT %(since)s, c.reference_id, live.organisation_id, c.slice, c.key, c.n, c.total, c.squares, c.low, c.high,
           array_agg(coalesce(b.n, 0) ORDER BY place.bin)
    FROM cells c JOIN live ON live.id = c.reference_id
    CROSS JOIN LATERAL generate_series(0, cardinality(live.edges)) AS place (bin)
    LEFT JOIN bins b ON b.reference_id = c.reference_id AND b.slice = c.slice AND b.key = c.key AND b.bin = place.bin
    GROUP BY c.reference_id, live.organisation_id, c.slice, c.key, c.n, c.total, c.squares, c.low, c.high
"""  # noqa: S608 -- the columns of features.py


def roll(hour: datetime) -> bool:
    """Count one hour anew, from one snapshot of its rows. False where another process counts at this moment: it will come again."""
    until = hour + HOUR
    with _alone() as ours:
        if not ours:
            return False
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute(_COUNT, [hour, until])
            rows = cursor.fetchone()[0]
            cursor.execute("DELETE FROM drift_hist WHERE hour = %s", [hour])
            cursor.execute(_FILL, {"since": hour, "until": until, "day": hour.astimezone(UTC).date()})
            Hour.objects.update_or_create(hour=hour, defaults={"rows": rows, "done_at": clock.now()})
    return True


def due(now: datetime) -> list[datetime]:
    """The hours to be looked at again, in order: never counted, counted before a look of theirs, or asked for."""
    first = _first(now)
    if first is None:
        return []
    done = dict(Hour.objects.filter(hour__gte=first).values_list("hour", "done_at"))
    found, hour = [], first
    while hour + HOUR + LOOKS[0] <= now:
        at = done.get(hour)
        if at is None or at < _last_look(hour, now):
            found.append(hour)
        hour += HOUR
    return found


def count() -> int:
    """Look at the hours that are due; count those whose rows are not those of the last time. How many were counted."""
    counted = 0
    for hour in due(clock.now())[:AT_ONCE]:
        if _unchanged(hour):
            Hour.objects.filter(hour=hour).update(done_at=clock.now())
        elif roll(hour):
            counted += 1
    return counted


def settled(hours: list[datetime]) -> set[datetime]:
    """Those of these hours that were counted, and looked at again an hour after their end."""
    done = Hour.objects.filter(hour__in=hours, done_at__isnull=False).values_list("hour", "done_at")
    return {hour for hour, at in done if at is not None and at >= hour + HOUR + LOOKS[1]}


def _unchanged(hour: datetime) -> bool:
    before = Hour.objects.filter(hour=hour, done_at__isnull=False).first()
    if before is None:
        return False
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [hour, hour + HOUR])
        return bool(cursor.fetchone()[0] == before.rows)


def _first(now: datetime) -> datetime | None:
    """The first hour of the first reference that counts, as far back as rows are kept."""
    until = FrozenReference.objects.filter(ended_on=None).aggregate(first=Min("until"))["first"]
    if until is None:
        return None
    kept = now.astimezone(UTC).date() - timedelta(days=settings.DRIFT_DAYS)
    return midnight(max(until + timedelta(days=1), kept))


def _last_look(hour: datetime, now: datetime) -> datetime:
    """The newest moment at which this hour should have been looked at."""
    looks = [hour + HOUR + after for after in LOOKS]
    tonight = now.astimezone(UTC).replace(hour=NIGHT, minute=0, second=0, microsecond=0)
    tonight -= timedelta(days=now < tonight)
    return max([look for look in (*looks, tonight) if look <= now and look > hour + HOUR], default=looks[0])


@contextmanager
def _alone() -> Iterator[bool]:
    """Whether this process is the only one; asked for before the snapshot is taken, and given back after its commit."""
    if connection.in_atomic_block:
        raise RuntimeError("an hour is counted in a transaction of its own")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK])
        ours = bool(cursor.fetchone()[0])
    try:
        yield ours
    finally:
        if ours:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
