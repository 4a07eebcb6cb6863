"""Change how urgent an order is, hold it, let it go on. Each function is one transaction; workers hear of it with the commit."""

from typing import Any

from django.db import transaction

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from engine_queue import steering
from engine_queue.models import OPEN, Run
from foundation import clock
from foundation.actor import Actor
from foundation.errors import Refused, Stale
from foundation.reasons import Reason
from orders import demotions, hints, holds, needs, promise
from orders.errors import InvalidOrder
from orders.machines import HOLD_REQUEST
from orders.models import HoldRequest, Order
from orders.remarks import remark
from registry.priority import PRIORITY_RANK, Priority

PROMISED = ("test_version__definition", "calendar", "performing_site")  # what another promise is counted from
HOLD_REASONS = (Reason.HOLD_SPECIMEN, Reason.HOLD_INPUT, Reason.HOLD_REQUESTER, Reason.HOLD_LABORATORY)


class Closed(Refused):
    """This order is closed: its priority does not matter any more, and nothing of it can wait."""


class Held(Refused):
    """This order is on hold already."""


class TwoPeople(Refused):
    """A STAT order, or one that another than its requester took STAT from, is put on hold by who placed it or by two people."""


class HeldByOne(Refused):
    """One person alone put this order on hold, and a STAT order does not wait for that. Let it go on, then make it STAT."""


def change_priority(*, order: Order, priority: str, reason: str, actor: Actor, expected_edits: int | None = None) -> None:
    """Promote or demote an open order: its run, what waits, and what computes at this moment. A reason is required.

    A promotion counts its due times from now, and they never become later; a demotion counts from acceptance, and they never become
    earlier. Raises `NotPermitted` (STAT wants the right to place STAT as well), `InvalidOrder`, `Refused` or `Stale`.
    """
    parties = (order.ordering_organisation_id, order.performing_laboratory_id)
    require(actor, Verb.PROMOTE, *parties)
    if priority == Priority.STAT:
        require(actor, Verb.STAT, *parties)
    if priority not in PRIORITY_RANK:
        raise InvalidOrder({"priority": ["Choose STAT, ASAP, urgent or routine."]})
    words = remark(reason, field="reason", missing="Say why the priority changes.")
    with transaction.atomic():
        locked = open_order(order, expected_edits)
        before, rank = locked.priority, PRIORITY_RANK[priority]
        if before == priority:
            raise InvalidOrder({"priority": [f"The order is {Priority(priority).label} already."]})
        action = "order.promoted" if rank < locked.rank else "order.demoted"
        if priority == Priority.STAT and stat_must_wait(locked, actor):
            raise HeldByOne(code="hold.by-one")
        changes: dict[str, Any] = {"priority": priority, "rank": rank, **promise.of_priority(locked, priority, clock.now())}
        changes |= _words(locked, priority, words) | _agreement(locked, priority)
        _change(locked, action, actor, {"from": before, "to": priority}, **changes)
        demotions.follow(locked, before=before, words=words, actor=actor)
        if not held_by_two(locked):
            void_request(locked, actor)
        for run in _open_runs(locked):
            steering.reclass_run(run, rank=rank, due_at=locked.result_due or run.due_at, actor=actor)


def give_stat_reason(*, order: Order, reason: str, actor: Actor, expected_edits: int | None = None) -> None:
    """Say why an order is STAT that came without a reason: whoever may order STAT for one of its parties. Nothing else changes.

    Raises `NotPermitted`, `InvalidOrder`, `Refused` or `Stale`.
    """
    require(actor, Verb.STAT, order.ordering_organisation_id, order.performing_laboratory_id)
    words = remark(reason, field="reason", missing="Say why the order is STAT.")
    with transaction.atomic():
        locked = open_order(order, expected_edits)
        if not lacks_reason(locked):
            raise Refused(Reason.STAT_REASON_GIVEN.words, code=str(Reason.STAT_REASON_GIVEN))
        settled: dict[str, Any] = needs.columns(code for code in needs.codes(locked) if code != Reason.STAT_REASON_MISSING)
        _change(locked, "order.stat_reason_given", actor, {}, stat_reason=words, **settled)


def lacks_reason(order: Order) -> bool:
    """Whether it is STAT and nobody has said why: it runs as STAT, and somebody is asked."""
    return order.priority == Priority.STAT and not order.stat_reason


def hold(*, order: Order, reason: str, actor: Actor, second: Actor | None = None, expected_edits: int | None = None) -> None:
    """Put an open order on hold for a coded reason: nothing of it starts, what computes stands still, no report of it is released.

    An order that is `held_by_two` wants its requester, or a `second` person who may hold it. Raises `NotPermitted`, `InvalidOrder`,
    `Refused` or `Stale`.
    """
    require(actor, Verb.HOLD, order.ordering_organisation_id, order.performing_laboratory_id)
    if reason not in HOLD_REASONS:
        raise InvalidOrder({"reason": ["Choose why the order waits."]})
    with transaction.atomic():
        locked = open_order(order, expected_edits)
        if locked.hold_reason:
            raise Held(code="order.on-hold")
        agreed = _agreed(locked, actor, second)
        if held_by_two(locked) and not agreed:
            raise TwoPeople(code="hold.two-people")
        void_request(locked, actor)
        put_on_hold(locked, reason, actor, {"second": str(second.id)} if second else {}, agreed=agreed)


def held_by_two(order: Order) -> bool:
    """Whether only its requester or two people put it on hold: it is STAT, or was until another than its requester demoted it."""
    return order.priority == Priority.STAT or demotions.from_stat(order) is not None


def stat_must_wait(order: Order, actor: Actor) -> bool:
    """Whether this person cannot make it STAT before it goes on: one person put it on hold, and its requester agreed to nothing."""
    return bool(order.hold_reason) and not order.hold_agreed and actor.id != order.placed_by_id


def put_on_hold(locked: Order, reason: str, actor: Actor, facts: dict[str, str], *, agreed: bool) -> None:
    """Hold an order that is locked and open, whoever had to agree having agreed; `agreed`: its requester did, or two people."""
    now = clock.now()
    columns = {"hold_reason": reason, "hold_agreed": agreed, **promise.stopped(locked, now)}
    _change(locked, "order.held", actor, facts, reason=reason, **columns)
    holds.begin(locked, reason, now)
    for run in _open_runs(locked):
        steering.hold_run(run, actor=actor, reason=reason)


def void_request(locked: Order, actor: Actor) -> None:
    """End an open request to hold a locked order: it was held or closed without a second person, or needs none any more."""
    for request in HoldRequest.objects.select_for_update().filter(order=locked, state="open"):
        audit.transition(HOLD_REQUEST, request, to="void", actor=actor, answered_at=clock.now())


def release(*, order: Order, actor: Actor, expected_edits: int | None = None) -> None:
    """Let an order on hold go on, due as much later as it waited. Raises `NotPermitted`, `Refused` or `Stale`."""
    require(actor, Verb.HOLD, order.ordering_organisation_id, order.performing_laboratory_id)
    with transaction.atomic():
        locked = open_order(order, expected_edits)
        if not locked.hold_reason:
            raise Refused("This order is not on hold.", code="order.not-on-hold")
        let_go(locked, actor)


def let_go(locked: Order, actor: Actor) -> None:
    """Let a locked order on hold go on, due as much later as it waited."""
    columns = {"hold_reason": "", "hold_agreed": False, **promise.going_on(locked, clock.now())}
    _change(locked, "order.released", actor, {}, reason=locked.hold_reason, **columns)
    holds.end(locked)
    for run in _open_runs(locked):
        if locked.result_due and locked.result_due != run.due_at:
            steering.reclass_run(run, rank=run.rank, due_at=locked.result_due, actor=actor)
        steering.release_run(run, actor=actor)


def open_order(order: Order, expected_edits: int | None = None) -> Order:
    """The order, locked, as it stands now. Raises `Closed`, or `Stale` when somebody changed it since it had `expected_edits`."""
    locked = Order.objects.select_for_update(of=("self",)).select_related(*PROMISED).get(pk=order.pk)
    if locked.state not in Order.OPEN:
        raise Closed(code="order.closed")
    if expected_edits is not None and locked.edits != expected_edits:
        raise Stale(code="state.stale")
    return locked


def _open_runs(order: Order) -> list[Run]:
    return list(Run.objects.filter(order_id=order.pk, state__in=OPEN).order_by("created_at"))


def _words(order: Order, priority: str, reason: str) -> dict[str, Any]:
    words: dict[str, Any] = {"priority_reason": reason}
    if priority == Priority.STAT:
        return {**words, "stat_reason": reason}
    others = [code for code in needs.codes(order) if code != Reason.STAT_REASON_MISSING]
    return {**words, **needs.columns(others)}


def _agreement(order: Order, priority: str) -> dict[str, bool]:
    """Of an order on hold that becomes STAT: two people agreed, or its requester does so now."""
    return {"hold_agreed": True} if priority == Priority.STAT and order.hold_reason else {}


def _agreed(order: Order, actor: Actor, second: Actor | None) -> bool:
    if actor.id == order.placed_by_id:
        return True
    if second is None or second.id == actor.id:
        return False
    parties = (order.ordering_organisation_id, order.performing_laboratory_id)
    return second.id == order.placed_by_id or second.may(Verb.HOLD, *parties)


def _change(order: Order, action: str, actor: Actor, facts: dict[str, str], *, reason: str = "", **columns: Any) -> None:
    """Write the columns and the event, count the person's edit, tell open pages."""
    for name, value in columns.items():
        setattr(order, name, value)
    order.version, order.edits = order.version + 1, order.edits + 1
    order.save(update_fields=[*columns, "version", "edits"])
    audit.record(actor=actor, action=action, obj=order, organisation_id=order.performing_laboratory_id, reason=reason, facts=facts)
    hints.changed(order)
