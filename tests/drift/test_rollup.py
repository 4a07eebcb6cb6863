"""Hours are counted against what was frozen: exactly, however often, and whoever commits meanwhile."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import numpy as np
import psycopg
import pytest
from django.db import Error, connection, transaction

from accounts.roles import Role
from drift import measures, references, rollup
from drift.models import FrozenReference, Hist, Hour, Request
from drift.references import Period
from foundation import clock
from foundation.errors import NotPermitted, Refused
from tests.drift.rows import fill, frozen, noon, today
from tests.engine_queue.rows import in_thread_of_its_own
from tests.factories import make_actor, make_laboratory

DAY = timedelta(days=1)
COLUMNS = ("reference_id", "slice", "key", "n", "total", "squares", "low", "high", "counts")


def counted() -> list[tuple]:
    return sorted(map(repr, Hist.objects.values_list(*COLUMNS)))


@pytest.mark.django_db
def test_a_reference_is_frozen_by_whoever_may_from_days_that_are_over_and_stays() -> None:
    made = frozen(3)
    delta = made["delta"]
    assert set(made) == {"delta", "bits", "bases", "flags", "failed"}
    assert (delta.n, len(delta.edges), len(delta.counts), sum(delta.counts)) == (4000, 65, 66, 4000)
    assert references.digest(FrozenReference.objects.get(pk=delta.pk)) == delta.sha256
    laboratory, day = delta.test_version.definition.laboratory, today()
    for role, organisation in ((Role.OPERATOR, laboratory), (Role.MODEL_STEWARD, make_laboratory())):
        with pytest.raises(NotPermitted):
            references.freeze(
                actor=make_actor(role=role, organisation=organisation), test=delta.test_version, period=Period(day - DAY, day - DAY)
            )
    director = make_actor(role=Role.DIRECTOR, organisation=laboratory)
    with pytest.raises(Refused, match="before today"):
        references.freeze(actor=director, test=delta.test_version, period=Period(day, day))
    with pytest.raises(Refused, match=r"fewer than 2,000"):
        references.freeze(actor=director, test=delta.test_version, period=Period(day - DAY, day - DAY))
    fill(delta.test_version, noon(2), 3000, shift=1)
    references.freeze(actor=director, test=delta.test_version, period=Period(day - 2 * DAY, day - 2 * DAY))
    delta.refresh_from_db()
    assert delta.ended_on == day and FrozenReference.objects.filter(feature="delta", ended_on=None).get().n == 3000
    for sql in ("UPDATE drift_reference SET n = 1", "UPDATE drift_reference SET ended_on = NULL", "DELETE FROM drift_reference"):
        with pytest.raises(Error), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql)


@pytest.mark.django_db
def test_the_database_and_the_monitors_count_alike_at_the_edges() -> None:
    edges = measures.edges_of(np.random.default_rng(4).normal(size=5000))
    near = [np.nextafter(edges, -np.inf), edges, np.nextafter(edges, np.inf), [-1e300, 1e300, 0.0, -0.0]]
    values = np.concatenate(near)
    with connection.cursor() as cursor:
        cursor.execute("SELECT width_bucket(v, %s::float8[]) FROM unnest(%s::float8[]) AS v", [edges.tolist(), values.tolist()])
        places = np.array([row[0] for row in cursor.fetchall()])
    assert np.bincount(places, minlength=len(edges) + 1).tolist() == measures.counted(values, edges).tolist()


def test_an_hour_is_counted_by_slice_and_twice_is_as_once(clone_db: str) -> None:
    made = frozen(3)
    delta, hour = made["delta"], noon(1)
    fill(delta.test_version, hour, 3000, first=10_000, shift=0.25)
    fill(delta.test_version, hour, 500, first=20_000, kind="shadow")
    assert rollup.roll(hour)
    values = np.array(Request.objects.filter(at__gte=hour, kind="clinical").values_list("delta", flat=True))
    row = Hist.objects.get(reference=delta, slice="all")
    assert (row.counts, row.n) == (measures.counted(values, delta.edges).tolist(), 3000)
    assert (row.total, row.low, row.high) == (pytest.approx(values.sum()), values.min(), values.max())
    assert Hist.objects.get(reference=made["failed"], slice="all").total == 60
    for part, keys in (("tier", {"0", "1", "2", "3"}), ("worker", {"engine-0", "engine-1"}), ("site", {""})):
        rows = list(Hist.objects.filter(reference=delta, slice=part))
        assert {one.key for one in rows} == keys and np.sum([one.counts for one in rows], axis=0).tolist() == row.counts
    before = counted()
    assert rollup.roll(hour) and counted() == before


def test_two_that_count_at_once_and_one_that_commits_late_leave_exact_counts(clone_db: str, services) -> None:
    delta, hour = frozen(3)["delta"], noon(1)
    fill(delta.test_version, hour, 2000, first=10_000)
    with psycopg.connect(services.app_url(clone_db.rsplit("/")[-1])) as late:
        late.execute(
            "INSERT INTO drift_request SELECT (jsonb_populate_record(q, jsonb_build_object('result_id', q.result_id + 50000))).*"
            " FROM drift_request q WHERE q.result_id BETWEEN 10000 AND 10099"
        )
        with ThreadPoolExecutor(2) as both:
            done = [both.submit(in_thread_of_its_own, rollup.roll, hour) for _ in range(2)]
            assert any(one.result() for one in done)
        assert Hist.objects.get(reference=delta, slice="all").n == 2000
    assert rollup.count() and Hist.objects.get(reference=delta, slice="all").n == 2000, "its next look has not come"
    Hour.objects.filter(hour=hour).update(done_at=hour + timedelta(hours=1, minutes=6))
    rollup.count()
    assert Hist.objects.get(reference=delta, slice="all").n == 2100


@pytest.mark.django_db
def test_an_hour_is_looked_at_after_five_minutes_after_an_hour_and_every_night(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen(3)
    hour = noon(1)

    def at(**after: float) -> bool:
        return hour in rollup.due(hour + timedelta(**after))

    assert not at(hours=1, minutes=4) and at(hours=1, minutes=5)
    Hour.objects.create(hour=hour, done_at=hour + timedelta(hours=1, minutes=5))
    assert not at(hours=1, minutes=59) and at(hours=2)
    Hour.objects.filter(hour=hour).update(done_at=hour + timedelta(hours=2))
    assert not at(hours=13) and at(hours=14)
    Hour.objects.filter(hour=hour).update(done_at=clock.now())
    assert not at(hours=30) or clock.now() < hour + timedelta(hours=14)
