"""The due times of an order: promised at acceptance, anew with another priority, and standing still while it is on hold.

By which calendar the minutes count, and in which zone, is settled when the promise is made: a calendar that is changed later, or a
site that moves, changes no order. Every function gives the columns to write; nothing is written here.
"""

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from accounts.sites import main_site
from orders import clocks
from orders.clocks import Span, Working
from orders.models import Hold, LateEntry, Order
from registry import calendars, hours
from registry.models import Calendar, TestVersion
from registry.priority import PRIORITY_RANK

DUES = ("result_due", "report_due")


def working_time(calendar: Calendar | None, zone: str) -> Working | None:
    """What the arithmetic needs of a calendar; None: every minute counts."""
    return Working(hours.read(calendar.weekly, calendar.holidays), ZoneInfo(zone or "UTC")) if calendar else None


def of(order: Order) -> Working | None:
    """By what the time of an order counts."""
    return working_time(order.calendar, order.clock_zone)


def pauses(order: Order, now: datetime) -> list[Span]:
    """When an order was on hold, up to now."""
    return [(hold.since, hold.until or now) for hold in Hold.objects.filter(order_id=order.pk)]


def counted_from(order: Order, accepted_at: datetime) -> datetime:
    """From when the clocks of an order count: its acceptance, or when it was taken on paper and is entered late."""
    requested: datetime | None = LateEntry.objects.filter(order=order).values_list("requested_at", flat=True).first()
    return requested or accepted_at


def at_acceptance(order: Order, now: datetime, since: datetime) -> dict[str, Any]:
    """The first promise, counted from `since`. An order that is on hold already has a clock that stands."""
    zone = zone_of(order)
    calendar = calendars.counting(order.test_version.definition, order.priority)
    working = working_time(calendar, zone)
    to_result, to_report = order.test_version.sla_minutes[order.priority]
    return {
        "result_due": due(since, to_result, working), "report_due": due(since, to_report, working), "calendar": calendar,
        "clock_zone": zone, "promised_at": since, "clock_stopped_at": now if order.hold_reason else None, "escalate_at": now,
    }  # fmt: skip


def of_priority(order: Order, priority: str, now: datetime) -> dict[str, Any]:
    """Another promise. A promotion counts from now and is never due later; a demotion counts from acceptance, never due earlier."""
    if order.accepted_at is None or order.result_due is None or order.report_due is None:
        return {}
    zone = order.clock_zone or zone_of(order)
    calendar = calendars.counting(order.test_version.definition, priority)
    working = working_time(calendar, zone)
    before = {name: getattr(order, name) for name in DUES} | _shifted(order, now)
    sooner = PRIORITY_RANK[priority] < order.rank
    since, cut = (now, []) if sooner else (counted_from(order, order.accepted_at), pauses(order, now))
    dues = zip(DUES, order.test_version.sla_minutes[priority], strict=True)
    counted = {name: due(since, minutes, working, cut) for name, minutes in dues}
    choose = min if sooner else max
    return {
        **{name: choose(before[name], counted[name]) for name in DUES},
        "calendar": calendar, "clock_zone": zone, "promise": order.promise + 1, "promised_at": since,
        "clock_stopped_at": now if order.clock_stopped_at else None, "escalate_at": now,
    }  # fmt: skip


def stopped(order: Order, now: datetime) -> dict[str, Any]:
    """The clocks of an accepted order stand from now on."""
    return {"clock_stopped_at": now} if order.accepted_at is not None else {}


def going_on(order: Order, now: datetime) -> dict[str, Any]:
    """The clocks go on: what was left when they stood still is left now."""
    if order.clock_stopped_at is None:
        return {}
    return {**_shifted(order, now), "clock_stopped_at": None, "escalate_at": now}


def due(start: datetime, minutes: float, working: Working | None, cut: list[Span] | None = None) -> datetime:
    """As `clocks.due`; a calendar that has run out of hours counts every minute: no order is accepted without a due time."""
    try:
        return clocks.due(start, minutes, working, cut or [])
    except clocks.NeverDue:
        return clocks.due(start, minutes, None, cut or [])


def hypothetical(test: TestVersion, priority: str, now: datetime) -> datetime:
    """When results would be due of an order that was accepted now."""
    calendar = calendars.counting(test.definition, priority)
    if calendar is None:
        return due(now, test.sla_minutes[priority][0], None)
    zone = main_site(test.definition.laboratory_id).time_zone
    return due(now, test.sla_minutes[priority][0], working_time(calendar, zone))


def zone_of(order: Order) -> str:
    """The zone of the site that performs."""
    zone: str = order.performing_site.time_zone
    return zone


def _shifted(order: Order, now: datetime) -> dict[str, datetime]:
    """The due times as they would be if the clocks went on now. What was late when they stood still stays as late as it was."""
    since, working = order.clock_stopped_at, of(order)
    if since is None:
        return {}
    moved = {}
    for name in DUES:
        was: datetime | None = getattr(order, name)
        if was is not None and was > since and not (name == "result_due" and order.scored_at is not None):
            left = clocks.elapsed(since, was, working)
            moved[name] = due(now, left / timedelta(minutes=1), working)
    return moved
