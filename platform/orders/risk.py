"""Which open orders will be late, said before they are; and which are late.

At risk: the later end of the estimate passes the time by which results are due. It is taken back only when the estimate leaves a
margin, so that it does not come and go. Where nothing can be foreseen, an order is at risk from the last fifth of its time on.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from audit import services as audit
from engine_queue.units import alone
from foundation import clock
from foundation.actor import process
from orders import clocks, estimates, hints, promise
from orders.clocks import Working
from orders.estimates import Finish
from orders.models import Order

ACTOR = process("due times")
LOCK = 7_241_003  # advisory: one watches at a time; two would only do the same work twice
AT_RISK, LATE = "at_risk", "late"
MARGIN = 0.1  # of the promised time, that an estimate has to leave before an order is no longer at risk
UNKNOWN = 0.8  # of the promised time, after which an order of which nothing is known is at risk
_COLUMNS = ("state", "risk", "accepted_at", "promised_at", "placed_at", "result_due", "clock_zone", "calendar")
_ACTIONS = {AT_RISK: "order.at_risk", LATE: "order.late", "": "order.in_time_again"}


@dataclass(frozen=True)
class Watched:
    """What one turn did."""

    active: bool = True  # False: another one watches
    open: int = 0
    changed: int = 0


def watch() -> Watched:
    """One turn over all orders whose results are due and not there."""
    with alone(LOCK) as ours:
        if not ours:
            return Watched(active=False)
        waiting = Order.objects.filter(state__in=estimates.ESTIMATED, scored_at=None, ended_at=None, result_due__isnull=False)
        waiting = waiting.filter(hold_reason="")  # the clocks of an order on hold stand
        orders = list(waiting.select_related("calendar").only(*_COLUMNS).order_by("rank", "result_due"))
        finishes = estimates.finishes(orders)
        changed = sum(_note(order, finishes.get(order.pk)) for order in orders)
    return Watched(open=len(orders), changed=changed)


def look(order: Order) -> bool:
    """Say at once of an order that was accepted at this moment if it is late, or nearly: one that was entered late may be."""
    return _note(order, None)


def judged(
    risk: str, *, now: datetime, since: datetime, due: datetime, high: datetime | None, working: Working | None = None
) -> str:
    """The risk of an order that had `risk` before, promised from `since` to `due`, foreseen to end by `high` (None: unknown).

    Where nothing is known, the time that is used counts by its calendar.
    """
    promised = due - since
    if now >= due:
        return LATE
    if high is None:
        used, given = clocks.elapsed(since, now, working), clocks.elapsed(since, due, working)
        return AT_RISK if risk == AT_RISK or used >= UNKNOWN * given else ""
    latest = due - MARGIN * promised if risk == AT_RISK else due
    return AT_RISK if high > latest else ""


def _note(order: Order, finish: Finish | None) -> bool:
    """Write what has changed, with its event, unless the order has moved on or another process has written it."""
    if order.result_due is None:
        return False
    now, since = clock.now(), min(order.accepted_at or order.placed_at, order.promised_at or order.placed_at)
    risk = judged(
        order.risk, now=now, since=since, due=order.result_due, high=finish.high if finish else None, working=promise.of(order)
    )
    if risk == order.risk:
        return False
    with transaction.atomic():
        same = Order.objects.filter(
            pk=order.pk, risk=order.risk, result_due=order.result_due, scored_at=None, ended_at=None, hold_reason=""
        )
        changed = same.select_for_update(
            skip_locked=True
        ).first()  # one that is locked moves on at this moment: the next turn looks
        if changed is None:
            return False
        changed.risk, changed.risk_since, changed.version = risk, now, changed.version + 1
        changed.save(update_fields=["risk", "risk_since", "version"])
        facts = {"due": order.result_due.isoformat(), "from": order.risk}
        if finish is not None:
            facts |= {"low": finish.low.isoformat(), "high": finish.high.isoformat()}
        audit.record(actor=ACTOR, action=_ACTIONS[risk], obj=changed, organisation_id=changed.performing_laboratory_id, facts=facts)
        hints.changed(changed)
    return True
