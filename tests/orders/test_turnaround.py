"""The figures against their definition, one by one: open and cancelled orders count, net leaves out holds and closed hours."""

import random
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.roles import Role
from foundation import clock
from foundation.errors import NotFound
from orders import clocks, promise, turnaround
from orders.models import Hold, Order
from orders.turnaround import Quantile, quantiles
from registry import calendars
from tests.factories import make_actor, make_laboratory, make_order, make_ready_intake, make_test_version
from tests.forging import forge

START = datetime(2026, 3, 27, 6, 0, tzinfo=UTC)  # Friday 07:00 in Berlin
NOW = START + timedelta(days=5)


def product_limit(durations: list[int], ended: list[bool], share: float) -> Quantile:
    """Kaplan and Meier as their paper writes it: at each time at which some end, times (n − d) / n of those still there."""
    left = 1.0
    for time in sorted({time for time, end in zip(durations, ended, strict=True) if end}):
        there = sum(one >= time for one in durations)
        ends = sum(end and one == time for one, end in zip(durations, ended, strict=True))
        left *= (there - ends) / there
        if left <= 1 - share + 1e-9:
            return Quantile(float(time))
    return Quantile(float(max(durations)), at_least=True)


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=30))
def test_percentiles_are_those_of_the_product_limit(pairs) -> None:
    durations, ended = [time for time, _ in pairs], [end for _, end in pairs]
    found = quantiles(np.array(durations, dtype=float), np.array(ended))
    assert found == tuple(product_limit(durations, ended, share) for share in (0.5, 0.9))


def test_where_all_are_through_the_median_is_the_middle_one_and_nothing_gives_nothing() -> None:
    assert quantiles(np.array([5.0, 1.0, 3.0]), np.array([True] * 3))[0] == Quantile(3.0)
    assert quantiles(np.array([]), np.array([], dtype=bool)) == (Quantile(None), Quantile(None))


@pytest.fixture
def test_version(db, monkeypatch):
    monkeypatch.setattr(clock, "_source", lambda: NOW)
    laboratory = make_laboratory(time_zone="Europe/Berlin")
    made = make_test_version(laboratory=laboratory)
    director = make_actor(role=Role.DIRECTOR, organisation=laboratory)
    week = ["08:00-12:00, 13:00-17:00"] * 5 + ["", ""]
    calendars.keep(
        laboratory=laboratory, code="office", name="Office", week=week, holidays="2026-03-31 Founding day", actor=director
    )
    calendars.choose(definition=made.definition, priority="routine", code="office", actor=director)
    return made


def placed(test_version, *, priority: str = "urgent", hours: dict[str, float], **columns) -> Order:
    """An order whose moments are so many hours after the start."""
    with pytest.MonkeyPatch.context() as before:
        before.setattr(clock, "_source", lambda: START + timedelta(hours=hours["placed"]))
        order = make_order(intake=make_ready_intake(test_version=test_version, variants=1), variants=1, priority=priority)
    moments = {f"{name}_at": START + timedelta(hours=at) for name, at in hours.items()}
    if "scored" in hours:
        columns.setdefault("state", "awaiting_review")
    forge(order, **moments, **columns)
    return Order.objects.get(pk=order.pk)


def report(test_version, **said) -> turnaround.Report:
    laboratory = test_version.definition.laboratory
    actor = said.pop("actor", None) or make_actor(role=Role.AUDITOR, organisation=laboratory)
    period = {"since": START - timedelta(days=1), "until": NOW}
    return turnaround.report(actor=actor, laboratory=laboratory.pk, **period, **said)


def whole(found: turnaround.Report) -> turnaround.Line:
    return next(line for line in found.segments if line.name == turnaround.WHOLE)


def due(hours: float) -> datetime:
    return START + timedelta(hours=hours)


def test_each_part_of_the_way_is_measured_and_zero_is_not_late(test_version):
    placed(test_version, hours={"placed": 0, "accepted": 1, "started": 3, "scored": 3}, result_due=due(3))
    found = report(test_version)
    assert {line.name: line.wall[0].seconds for line in found.segments if line.through} == {
        "placed to accepted": 3600.0, "accepted to started": 7200.0, "started to scored": 0.0, "accepted to scored": 7200.0,
    }  # fmt: skip
    assert (whole(found).met, whole(found).missed, found.counts.scored) == (1, 0, 1)
    assert (found.segments[-1].met, found.segments[-1].missed) == (0, 1)  # nobody has signed it, and its report is overdue


def test_unfinished_late_held_and_cancelled_work_counts(test_version):
    placed(test_version, hours={"placed": 0, "accepted": 0, "started": 0, "scored": 1}, result_due=due(2))
    placed(test_version, hours={"placed": 0, "accepted": 0}, result_due=due(2))  # open, long late
    placed(test_version, hours={"placed": 0, "accepted": 0}, result_due=NOW + timedelta(hours=1))  # open, in time yet
    placed(test_version, hours={"placed": 0, "accepted": 0, "clock_stopped": 1}, result_due=due(2), hold_reason="hold.input")
    placed(test_version, hours={"placed": 0, "accepted": 0, "ended": 5}, result_due=due(2), state="cancelled")
    placed(test_version, hours={"placed": 0, "accepted": 0, "ended": 1}, result_due=due(2), state="cancelled")
    found = report(test_version)
    counts = found.counts
    assert (counts.placed, counts.open, counts.held, counts.late_open, counts.undecided) == (6, 4, 1, 1, 2)
    assert (counts.cancelled, counts.cancelled_late) == (2, 1)
    assert (whole(found).met, whole(found).missed) == (1, 2)
    assert whole(found).wall[0] == Quantile((NOW - START).total_seconds(), at_least=True)


def test_net_time_is_what_the_arithmetic_of_clocks_counts(test_version):
    random.seed(7)
    expected = []
    for _ in range(6):
        begins, lasts, held, waited = random.uniform(0, 20), random.uniform(1, 70), random.uniform(0, 30), random.uniform(0, 20)
        order = placed(test_version, priority="routine", hours={"placed": 0, "accepted": begins, "scored": begins + lasts})
        hold = Hold.objects.create(
            organisation_id=order.performing_laboratory_id, order=order, reason="hold.input",
            since=START + timedelta(hours=held), until=START + timedelta(hours=held + waited),
        )  # fmt: skip
        cut = [(hold.since, hold.until)]
        expected.append(clocks.elapsed(order.accepted_at, order.scored_at, promise.of(order), cut).total_seconds())
    line = whole(report(test_version))
    assert line.net[0].seconds == pytest.approx(sorted(expected)[2], abs=0.001)
    assert line.net[1].seconds == pytest.approx(sorted(expected)[5], abs=0.001)
    assert line.net[1].seconds < line.wall[1].seconds


def test_priority_test_and_period_choose_the_orders(test_version):
    other = make_test_version(laboratory=test_version.definition.laboratory)
    placed(test_version, hours={"placed": 0, "accepted": 0, "scored": 1})
    placed(other, priority="asap", hours={"placed": 0, "accepted": 0, "scored": 2})
    placed(other, hours={"placed": -48, "accepted": -48, "scored": 2})
    found = report(test_version)
    assert found.counts.placed == 2
    assert {line.key: line.wall[0].seconds for line in found.priorities if line.orders} == {"asap": 7200.0, "urgent": 3600.0}
    assert [line.orders for line in found.tests] == [1, 1]
    assert report(test_version, priority="asap").counts.placed == 1
    assert report(test_version, test=other.definition_id).counts.placed == 1
    assert report(test_version, test=uuid4()).counts.placed == 0


def test_whoever_may_not_see_the_figures_of_a_laboratory_finds_none(test_version):
    laboratory = test_version.definition.laboratory
    for role, place in ((Role.DIRECTOR, make_laboratory()), (Role.REQUESTER, laboratory), (Role.OPERATOR, laboratory)):
        with pytest.raises(NotFound):
            report(test_version, actor=make_actor(role=role, organisation=place))


def test_the_period_is_read_in_a_constant_number_of_queries(test_version, django_assert_max_num_queries):
    for _ in range(3):
        placed(test_version, priority="routine", hours={"placed": 0, "accepted": 0, "scored": 1})
    laboratory = test_version.definition.laboratory
    actor = make_actor(role=Role.AUDITOR, organisation=laboratory)
    with django_assert_max_num_queries(5):
        report(test_version, actor=actor)
