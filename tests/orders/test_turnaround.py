"""The figures against their definition, one by one: open and cancelled orders count, net leaves out holds and closed hours."""

import json
import random
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import numpy as np
import pytest
from django.db import connection
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
from tests.forging import forge, forging

START = datetime(2026, 3, 27, 6, 0, tzinfo=UTC)  # Friday 07:00 in Berlin
NOW = START + timedelta(days=5)


def product_limit(durations: list[float], ended: list[bool], share: float) -> Quantile:
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


# Copies of one order, each with an upload of its own.
COPIES = """
    WITH intakes AS (
        INSERT INTO orders_intake SELECT (jsonb_populate_record(i, jsonb_build_object('id', made->>'id', 'item_set_id', NULL))).*
        FROM orders_intake i, jsonb_array_elements(%(made)s::jsonb) AS made WHERE i.id = %(intake)s
    )
    INSERT INTO orders_order
    SELECT (jsonb_populate_record(o, made || jsonb_build_object('intake_id', made->>'id', 'accession', 'A99-' || n))).*
    FROM orders_order o, jsonb_array_elements(%(made)s::jsonb) WITH ORDINALITY AS each(made, n) WHERE o.id = %(order)s
"""


def drawn(chance: random.Random, tests: list[str], calendar: int) -> dict[str, object]:
    """An order of any state, anywhere in the week, by any clock; moments to the minute, so that many are equal."""
    ways, gone = ("placed_at", "accepted_at", "started_at", "scored_at"), chance.randrange(5)
    states = ("submitted", "submitted", "accepted", "in_analysis", "awaiting_review")
    row: dict[str, object] = {"id": str(uuid4()), "state": states[gone]}
    at = START + timedelta(minutes=chance.randrange(4 * 1440))
    for name in ways[: max(gone, 1)]:
        row[name], at = at.isoformat(), min(NOW, at + timedelta(minutes=chance.choice([0, 1, 30, 600, 3000])))
    if chance.random() < 0.4:
        row |= {"ended_at": at.isoformat(), "state": "reported" if gone == 4 else chance.choice(["cancelled", "rejected"])}
    if gone > 1:
        row |= {"result_due": (START + timedelta(hours=chance.randrange(120))).isoformat(), "report_due": NOW.isoformat()}
    zone = chance.choice(["Europe/Berlin", "Europe/London", "America/New_York"])
    row |= {"calendar_id": chance.choice([calendar, None]), "clock_zone": zone, "test_version_id": chance.choice(tests)}
    rank = chance.randrange(1, 4)
    return row | {"rank": rank, "priority": ["asap", "urgent", "routine"][rank - 1]}


def one_by_one(orders: list[Order], segment: str) -> list[tuple[Quantile, ...]]:
    """The percentiles of a part of the way by the wall and net, each order reckoned by itself."""
    seen = []
    for order in orders:
        released = order.ended_at if order.state == "reported" else None
        came, out = (getattr(order, f"{name}_at", released) for name in turnaround.SEGMENTS[segment])
        if came is not None:
            went, cut = max(out or order.ended_at or NOW, came), [(hold.since, hold.until) for hold in order.holds.all()]
            net = clocks.elapsed(came, went, promise.of(order), cut)
            seen.append(((went - came).total_seconds(), net.total_seconds(), out is not None))
    if not seen:
        return [(Quantile(None), Quantile(None))] * 2
    walls, nets, ended = (list(column) for column in zip(*seen, strict=True))
    return [tuple(product_limit(durations, ended, share) for share in (0.5, 0.9)) for durations in (walls, nets)]


@pytest.mark.parametrize("start", [START, datetime(2026, 10, 23, 6, 0, tzinfo=UTC)])
def test_random_orders_with_holds_calendars_and_clock_changes_have_the_figures_of_each_by_itself(test_version, monkeypatch, start):
    monkeypatch.setattr(f"{__name__}.START", start)
    monkeypatch.setattr(f"{__name__}.NOW", start + timedelta(days=5))
    monkeypatch.setattr(clock, "_source", lambda: NOW)
    chance, first = random.Random(26), placed(test_version, priority="routine", hours={"placed": 0, "accepted": 0})
    tests = [str(one.pk) for one in (test_version, make_test_version(laboratory=test_version.definition.laboratory))]
    made = [drawn(chance, tests, first.calendar_id) for _ in range(150)]
    with forging(), connection.cursor() as cursor:
        cursor.execute(COPIES, {"made": json.dumps(made), "intake": first.intake_id, "order": first.pk})
    for order in chance.sample(list(Order.objects.all()), 60):
        for since in (order.placed_at + timedelta(minutes=chance.randrange(600)) for _ in range(2)):  # which may overlap
            hold = {"organisation_id": order.performing_laboratory_id, "order": order, "reason": "hold.input", "since": since}
            Hold.objects.create(**hold, until=since + timedelta(minutes=chance.choice([0, 20, 2000])))
    orders = list(Order.objects.select_related("calendar", "test_version").prefetch_related("holds"))
    found = report(test_version)
    for line in (*found.segments, *found.priorities, *found.tests):
        its = [one for one in orders if line.key in (*turnaround.SEGMENTS, one.priority, str(one.test_version.definition_id))]
        part = line.key if line.key in turnaround.SEGMENTS else turnaround.WHOLE
        assert [line.wall, line.net] == one_by_one(its, part), line


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
