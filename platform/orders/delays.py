"""Late work, and that somebody was told of it: whom, when, by which means, by whom (42 CFR 493.1291(h))."""

from collections.abc import Iterable
from datetime import datetime
from typing import cast
from uuid import UUID

from django.db import transaction

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import Refused
from foundation.printable import is_printable
from orders import hints
from orders.errors import InvalidOrder
from orders.models import DelayNotice, Order
from orders.remarks import remark

MEANS = dict(DelayNotice.MEANS)


class Told(Refused):
    """This very notice is there already: a form was sent twice, or two people wrote down one call."""


def is_late(order: Order) -> bool:
    """Whether a due time that still counts has passed. On hold the clocks stand: then, whether it had when they were stopped."""
    if order.ended_at is not None:
        return False
    now = order.clock_stopped_at or clock.now()
    dues = (order.report_due, order.result_due if order.scored_at is None else None)
    return any(due is not None and due < now for due in dues)


def tell(*, order: Order, told: str, means: str, words: str, told_at: datetime | None, actor: Actor) -> DelayNotice:
    """Keep that somebody was told of the delay of an open order. Raises `NotPermitted`, `InvalidOrder`, `Told` or `Refused`."""
    require(actor, Verb.TELL_DELAY, order.performing_laboratory_id)
    now, whom = clock.now(), " ".join(told.split())
    if wrong := problems(order, told=told, means=means, told_at=told_at):
        raise InvalidOrder(wrong)
    note = remark(words, field="words")
    with transaction.atomic():
        locked = Order.objects.select_for_update(of=("self",)).get(pk=order.pk)
        if locked.state not in Order.OPEN:
            raise Refused("This order is closed: there is no delay any more to tell of.", code="order.closed")
        _require_new(locked, whom, means, cast(datetime, told_at))
        made = DelayNotice.objects.create(
            organisation_id=locked.performing_laboratory_id, order=locked, told=whom, means=means, words=note,
            told_at=cast(datetime, told_at), by_id=cast(UUID, actor.id), recorded_at=now,
        )  # fmt: skip
        locked.version += 1
        locked.save(update_fields=["version"])
        facts = {"notice": made.pk, "means": means, "told_at": made.told_at.isoformat()}
        audit.record(
            actor=actor, action="order.delay_told", obj=locked, organisation_id=locked.performing_laboratory_id, facts=facts
        )
        hints.changed(locked)
    return made


def _require_new(locked: Order, whom: str, means: str, told_at: datetime) -> None:
    before = DelayNotice.objects.filter(order=locked, told__iexact=whom, means=means, told_at=told_at).select_related("by").first()
    if before is not None:
        raise Told(f"{before.by} has written this down already. It is kept once.", code="delay.told")


def problems(order: Order, *, told: str, means: str, told_at: datetime | None) -> dict[str, list[str]]:
    """What is wrong with a record of who was told, by field."""
    now, whom = clock.now(), " ".join(told.split())
    wrong: dict[str, list[str]] = {}
    if not whom or len(whom) > 120 or not is_printable(whom):
        wrong["told"] = ["Say who was told: name and role, at most 120 letters."]
    if means not in MEANS:
        wrong["means"] = ["Choose how the person was told."]
    if told_at is None:
        wrong["told_at"] = ["Say when the person was told."]
    elif told_at > now:
        wrong["told_at"] = ["This time lies in the future."]
    elif told_at < order.placed_at.replace(second=0, microsecond=0):  # a form says the minute
        wrong["told_at"] = ["This time lies before the order was placed."]
    return wrong


def told_of(order: Order) -> list[DelayNotice]:
    """Who was told of the delay of an order, the last one first."""
    return list(DelayNotice.objects.filter(order=order).select_related("by").order_by("-told_at", "-id"))


def last_told(orders: Iterable[Order]) -> dict[UUID, datetime]:
    """When somebody was last told of the delay of these orders, by order."""
    rows = DelayNotice.objects.filter(order__in=[order.pk for order in orders]).order_by("told_at")
    return dict(rows.values_list("order_id", "told_at"))
