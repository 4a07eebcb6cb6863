"""Say that the time to a due time is half used, nearly used, and used up: once for each order, clock, level and promise.

Nothing is said of an order on hold, whose clocks stand, nor of a closed one. Where several levels have passed since somebody
looked, the highest is told and the lower ones are not.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction

from audit import services as audit
from engine_queue.units import alone
from foundation import clock
from foundation.actor import process
from orders import clocks, hints, promise
from orders.clock_models import LEVELS, Clock
from orders.models import Escalation, Order
from outbox import services as outbox

ACTOR = process("escalation")
LOCK = 7_241_007  # advisory: one looks at a time; two would only do the same work twice
TOPIC = "notice.escalated"
TURN = 500  # orders of one turn


@dataclass(frozen=True)
class Threshold:
    """When a level of a clock is reached."""

    clock: str
    level: int
    at: datetime
    due: datetime


def sweep() -> int:
    """One turn over the orders whose time to be looked at has come; how many levels were told."""
    with alone(LOCK) as ours:
        if not ours:
            return 0
        waiting = Order.objects.filter(ended_at=None, hold_reason="", escalate_at__lte=clock.now())
        ids = list(waiting.order_by("escalate_at").values_list("pk", flat=True)[:TURN])
        return sum(look(pk) for pk in ids)


def look(pk: UUID) -> int:
    """Tell what this order has reached, and say when to look again; how many levels were told."""
    with transaction.atomic():
        waiting = Order.objects.select_for_update(skip_locked=True, of=("self",)).select_related("calendar")
        order = waiting.filter(pk=pk, ended_at=None, hold_reason="", escalate_at__lte=clock.now()).first()
        if order is None:  # somebody is changing it, or has: the next turn looks
            return 0
        now = clock.now()
        reached = list(thresholds(order, now))
        told = sum(_tell(order, one) for one in _highest([one for one in reached if one.at <= now]))
        order.escalate_at = min((one.at for one in reached if one.at > now), default=None)
        order.save(update_fields=["escalate_at"])
        if told:
            hints.changed(order)
        return told


def thresholds(order: Order, now: datetime) -> Iterator[Threshold]:
    """When each level of the clocks that still run is reached, by the order's own calendar and without its holds."""
    since, working, cut = order.promised_at, promise.of(order), promise.pauses(order, now)
    running = ((Clock.RESULT, order.result_due if order.scored_at is None else None), (Clock.REPORT, order.report_due))
    for name, due in running:
        if since is None or due is None:
            continue
        minutes = clocks.elapsed(since, due, working, cut) / timedelta(minutes=1)
        for level in LEVELS:
            at = due if level == 100 else promise.due(since, minutes * level / 100, working, cut)
            yield Threshold(name.value, level, at, due)


def _highest(passed: list[Threshold]) -> list[Threshold]:
    """Of each clock the highest level."""
    return list({one.clock: one for one in sorted(passed, key=lambda one: one.level)}.values())


def _tell(order: Order, one: Threshold) -> bool:
    """Write that the level is told and post it; False where it, or a higher one, was told before."""
    known = Escalation.objects.filter(order=order, promise=order.promise, clock=one.clock, level__gte=one.level)
    if known.exists():
        return False
    try:
        with transaction.atomic():
            made = Escalation.objects.create(
                organisation_id=order.performing_laboratory_id, order=order, promise=order.promise, clock=one.clock,
                level=one.level, due=one.due, at=clock.now(),
            )  # fmt: skip
    except IntegrityError:  # another one was quicker
        return False
    facts = {"clock": one.clock, "level": one.level, "due": one.due.isoformat()}
    audit.record(actor=ACTOR, action="order.escalated", obj=order, organisation_id=order.performing_laboratory_id, facts=facts)
    outbox.post(topic=TOPIC, payload={"escalation": made.pk}, organisation_id=order.performing_laboratory_id)
    return True
