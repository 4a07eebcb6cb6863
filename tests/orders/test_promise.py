"""Due times by elapsed minutes and by working calendars: promised at acceptance, promoted, demoted, stopped by holds, going on."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import DatabaseError, transaction

from accounts.roles import Role
from audit.models import Event
from engine_queue.models import Job, Run
from foundation import clock
from foundation.errors import NotPermitted, Stale
from orders import delays, promise, risk, services, urgency
from orders.clocks import elapsed
from orders.models import Hold, Order
from orders.worklist import worklist
from registry import calendars
from tests.factories import SLA, make_actor, make_laboratory, make_order, make_ready_intake, make_test_version

pytestmark = pytest.mark.django_db
OFFICE = ["08:00-12:00, 13:00-17:00"] * 5 + ["", ""]
FRIDAY = datetime(2026, 3, 27, 15, 0, tzinfo=UTC)  # 16:00 in Berlin, before the night in which clocks are set


@pytest.fixture
def at(monkeypatch):
    """Sets the clock; gives it back."""

    def set_to(moment: datetime) -> datetime:
        monkeypatch.setattr(clock, "_source", lambda: moment)
        return moment

    set_to(FRIDAY)
    return set_to


@pytest.fixture
def test_version(at):
    """A test of a laboratory in Berlin; routine counts office hours, Easter Monday none."""
    laboratory = make_laboratory(time_zone="Europe/Berlin")
    made = make_test_version(laboratory=laboratory)
    director = make_actor(role=Role.DIRECTOR, organisation=laboratory)
    keep(laboratory, director)
    calendars.choose(definition=made.definition, priority="routine", code="office", actor=director)
    return made


def keep(laboratory, director, holidays="2026-04-06 Easter Monday", week=OFFICE):
    return calendars.keep(laboratory=laboratory, code="office", name="Office hours", week=week, holidays=holidays, actor=director)


def placed(test_version, **said) -> Order:
    return make_order(intake=make_ready_intake(test_version=test_version, variants=1), variants=1, **said)


def somebody(order: Order):
    return make_actor(role=Role.DIRECTOR, organisation=order.performing_laboratory)


def read(order: Order) -> Order:
    return Order.objects.get(pk=order.pk)


def to(order: Order, priority: str) -> Order:
    urgency.change_priority(order=order, priority=priority, reason="worse", actor=somebody(order))
    return read(order)


def held(order: Order) -> Order:
    urgency.hold(order=order, reason="hold.specimen", actor=somebody(order))
    return read(order)


def released(order: Order) -> Order:
    urgency.release(order=order, actor=somebody(order))
    return read(order)


def hours(order: Order) -> float:
    return (order.result_due - FRIDAY) / timedelta(hours=1)


def test_routine_is_due_in_working_hours_and_the_run_with_it(test_version):
    order = placed(test_version)  # 12 h: 1 on Friday, 8 on Monday, 3 on Tuesday
    assert order.result_due == datetime(2026, 3, 31, 9, 0, tzinfo=UTC)  # 11:00 in summer time
    assert Run.objects.get().due_at == order.result_due
    assert (order.calendar.code, order.clock_zone) == ("office", "Europe/Berlin")


def test_other_priorities_count_every_minute(test_version):
    order = placed(test_version, priority="urgent")
    assert (order.calendar, hours(order)) == (None, 2)


def test_a_calendar_that_is_changed_and_a_laboratory_that_moves_change_no_order(test_version, at):
    order, laboratory = placed(test_version), test_version.definition.laboratory
    keep(laboratory, somebody(order), week=["00:00-24:00"] * 7)
    laboratory.sites.update(time_zone="Asia/Kolkata")
    assert placed(test_version).result_due == FRIDAY + timedelta(hours=12)
    order = held(order)
    at(FRIDAY + timedelta(minutes=30))
    assert released(order).result_due == datetime(2026, 3, 31, 9, 30, tzinfo=UTC)
    assert placed(test_version).clock_zone == "Asia/Kolkata"


def test_a_promotion_counts_from_its_own_time_and_is_never_due_later(test_version, at):
    order = placed(test_version)
    at(FRIDAY + timedelta(hours=10))
    order = to(order, "urgent")
    assert (hours(order), order.calendar, order.promise) == (12, None, 2)
    soon = at(order.result_due - timedelta(minutes=5))
    assert to(order, "asap").result_due == soon + timedelta(minutes=5)


def test_a_demotion_counts_from_acceptance_without_the_holds(test_version, at):
    order = held(placed(test_version, priority="urgent"))
    at(FRIDAY + timedelta(minutes=30))  # half an hour of it was worked by the calendar
    order = to(released(order), "routine")
    assert order.result_due == datetime(2026, 3, 31, 9, 30, tzinfo=UTC)
    assert order.promised_at == order.accepted_at


def test_a_hold_stops_the_clock_and_what_was_left_is_left_when_it_goes_on(test_version, at):
    order = placed(test_version, priority="asap")
    at(FRIDAY + timedelta(minutes=10))
    order = held(order)
    assert order.clock_stopped_at == clock.now()
    at(FRIDAY + timedelta(hours=5))
    order = released(order)
    assert order.result_due == clock.now() + timedelta(minutes=SLA["asap"][0] - 10)
    assert set(Job.objects.values_list("due_at", flat=True)) == {order.result_due}
    hold = Hold.objects.get()
    assert (hold.since, hold.until) == (FRIDAY + timedelta(minutes=10), FRIDAY + timedelta(hours=5))


def test_a_hold_over_a_weekend_costs_the_working_hours_of_it_alone(test_version, at):
    order = held(placed(test_version))
    at(datetime(2026, 3, 30, 6, 30, tzinfo=UTC))  # Monday 08:30: one hour on Friday and half of one today
    assert released(order).result_due == datetime(2026, 3, 31, 11, 30, tzinfo=UTC)  # 13:30, after the lunch hour


def test_an_order_that_was_late_before_its_hold_is_as_late_after_it(test_version, at):
    order = placed(test_version, priority="asap")
    at(FRIDAY + timedelta(hours=1))
    order = held(order)
    at(FRIDAY + timedelta(hours=2))
    assert (delays.is_late(order), hours(released(order))) == (True, 0.5)


def test_another_priority_during_a_hold_loses_no_minute_of_it(test_version, at):
    order = held(placed(test_version, priority="asap"))
    at(FRIDAY + timedelta(hours=1))
    order = to(order, "routine")
    at(FRIDAY + timedelta(hours=2))
    order = released(order)
    cut = promise.pauses(order, clock.now())
    assert elapsed(order.accepted_at, order.result_due, promise.of(order), cut) == timedelta(minutes=SLA["routine"][0])


def test_what_is_on_hold_is_not_late_at_risk_nor_listed_as_such(test_version, at):
    order = held(placed(test_version, priority="asap"))
    at(FRIDAY + timedelta(hours=9))
    risk.watch()
    order = read(order)
    analyst = make_actor(role=Role.ANALYST, organisation=order.performing_laboratory)
    late = {chip.key: chip.count for chip in worklist(analyst).chips}["late"]
    assert (order.risk, delays.is_late(order), late) == ("", False, 0)
    at(FRIDAY + timedelta(hours=20))
    assert not delays.is_late(released(order))


def test_a_cancellation_ends_the_hold(test_version, at):
    order = held(placed(test_version))
    at(FRIDAY + timedelta(hours=1))
    services.cancel(actor=somebody(order), order=order, reason="twice", expected_edits=order.edits)
    assert Hold.objects.get().until == clock.now()


def test_calendars_and_holds_that_were_written_cannot_be_altered(test_version):
    order = released(held(placed(test_version)))
    calendar = order.calendar
    for change in (
        lambda: type(calendar).objects.filter(pk=calendar.pk).update(name="x"),
        lambda: Hold.objects.update(until=None),
        lambda: Hold.objects.update(since=FRIDAY),
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()


def test_the_same_calendar_again_is_no_new_version_and_a_stranger_makes_none(test_version):
    laboratory = test_version.definition.laboratory
    director = make_actor(role=Role.DIRECTOR, organisation=laboratory)
    assert keep(laboratory, director).number == 1
    assert keep(laboratory, director, holidays="").number == 2
    with pytest.raises(Stale):
        calendars.keep(laboratory=laboratory, code="office", name="x", week=OFFICE, holidays="", actor=director, expected=1)
    for role, place in ((Role.DIRECTOR, make_laboratory()), (Role.ANALYST, laboratory)):
        with pytest.raises(NotPermitted):
            keep(laboratory, make_actor(role=role, organisation=place), holidays="")
    assert Event.objects.filter(action="calendar.kept").count() == 2
