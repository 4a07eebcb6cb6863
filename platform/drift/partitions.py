"""The days of `drift_request`: a partition for each of the next two weeks, and none for days that are past keeping.

The owner runs this, beside processes that write. A row of a day without a partition lies in the default one, which is always there.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial

import structlog
from django.db import OperationalError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

log = structlog.get_logger(__name__)

AHEAD = 14  # days
_TRIES = 5  # at a lock that writers hold
_WAIT = "SET LOCAL lock_timeout = '2s'"  # less than writers wait: they come first
_DAYS = """
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'drift_request'::regclass ORDER BY 1
"""
_STRAY = "SELECT DISTINCT (at AT TIME ZONE 'UTC')::date FROM drift_request_default ORDER BY 1"
_MOVE = """
    WITH moved AS (DELETE FROM drift_request_default WHERE at >= '{since}' AND at < '{until}' RETURNING *)
    INSERT INTO {name} SELECT * FROM moved
"""


@dataclass(slots=True)
class Kept:
    """What was done."""

    made: int = 0
    moved: int = 0  # rows, out of the default partition
    dropped: int = 0


def keep(connection: BaseDatabaseWrapper, now: datetime, *, days: int, ahead: int = AHEAD) -> Kept:
    """Make, fill and drop what has to be. Twice does nothing more. Raises OperationalError where writers held it off for long."""
    done = Kept()
    today = now.astimezone(UTC).date()
    first = today - timedelta(days=days)
    with connection.cursor() as cursor:
        there = set(existing(cursor))
        cursor.execute(_STRAY)
        stray = {row[0] for row in cursor.fetchall()}
        wanted = {today + timedelta(days=n) for n in range(ahead + 1)} | {day for day in stray if day >= first}
        for day in sorted(wanted - there):
            done.moved += _patiently(connection, partial(_make, cursor, day))
            done.made += 1
        for day in sorted(one for one in there if one < first):
            _patiently(connection, partial(_drop, cursor, day))
            done.dropped += 1
        cursor.execute("DELETE FROM drift_request_default WHERE at < %s", [_midnight(first)])
    return done


def existing(cursor: CursorWrapper) -> list[date]:
    """The days that have a partition, in order."""
    cursor.execute(_DAYS)
    found = (re.fullmatch(r"drift_request_(\d{8})", row[0]) for row in cursor.fetchall())
    return [datetime.strptime(one[1], "%Y%m%d").replace(tzinfo=UTC).date() for one in found if one]


def _make(cursor: CursorWrapper, day: date) -> int:
    """A partition with the rows of its day; how many they are. Nobody writes to the default one meanwhile."""
    name, since, until = _name(day), _midnight(day), _midnight(day + timedelta(days=1))
    cursor.execute(_WAIT)
    cursor.execute("LOCK TABLE drift_request_default IN ACCESS EXCLUSIVE MODE")
    cursor.execute(f"CREATE TABLE {name} (LIKE drift_request INCLUDING DEFAULTS)")
    cursor.execute(f"REVOKE ALL ON {name} FROM helicase_app")  # who reads and writes does it by the table above
    cursor.execute(_MOVE.format(name=name, since=since, until=until))
    moved: int = cursor.rowcount
    cursor.execute(f"ALTER TABLE drift_request ATTACH PARTITION {name} FOR VALUES FROM ('{since}') TO ('{until}')")
    return moved


def _drop(cursor: CursorWrapper, day: date) -> int:
    cursor.execute(_WAIT)
    cursor.execute(f"DROP TABLE {_name(day)}")
    return 0


def _patiently(connection: BaseDatabaseWrapper, deed: Callable[[], int]) -> int:
    for left in reversed(range(_TRIES)):
        try:
            with transaction.atomic(using=connection.alias):
                return deed()
        except OperationalError as error:  # the lock was not to be had
            if not left:
                raise
            log.info("drift.partitions_wait", error=type(error).__name__)
    raise AssertionError("the last try returns or raises")


def _name(day: date) -> str:
    return f"drift_request_{day:%Y%m%d}"


def _midnight(day: date) -> str:
    return f"{day:%Y-%m-%d} 00:00:00+00"
