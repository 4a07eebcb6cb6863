"""Hold an order of another person that is or was STAT: one asks, a second one agrees in time, and until then the work goes on."""

from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from django.db import transaction

from accounts.roles import Verb
from accounts.services import actor_for, require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor, process
from foundation.errors import NotPermitted, Refused
from orders import hints, urgency
from orders.errors import InvalidOrder
from orders.machines import HOLD_REQUEST
from orders.models import HoldRequest, Order
from orders.remarks import remark

OPEN_FOR = timedelta(minutes=15)
ACTOR = process("hold requests")


class Answered(Refused):
    """This request to hold the order is not open any more: it was answered, withdrawn or ran out."""


class Asked(Refused):
    """Somebody has asked for a hold of this order already. Confirm or decline that."""


class Alone(Refused):
    """This hold needs no second person: put the order on hold yourself."""


def ask(*, order: Order, reason: str, words: str, actor: Actor) -> HoldRequest:
    """Ask that an order waits that only two people hold, for a coded reason. The same person asking twice has asked once.

    Raises `NotPermitted`, `InvalidOrder` or `Refused`.
    """
    parties = (order.ordering_organisation_id, order.performing_laboratory_id)
    require(actor, Verb.HOLD, *parties)
    if reason not in urgency.HOLD_REASONS:
        raise InvalidOrder({"reason": ["Choose why the order waits."]})
    said = remark(words, field="words")
    with transaction.atomic():
        locked = urgency.open_order(order)
        if locked.hold_reason:
            raise urgency.Held(code="order.on-hold")
        if locked.placed_by_id == actor.id or not urgency.held_by_two(locked):
            raise Alone(code="hold.alone")
        found = _open_of(locked)
        if found is not None and found.asked_by_id == actor.id:
            return found
        if found is not None:
            raise Asked(code="hold.asked")
        now = clock.now()
        made = HoldRequest.objects.create(
            organisation_id=locked.performing_laboratory_id, order=locked, reason=reason, words=said,
            asked_by_id=cast(UUID, actor.id), asked_at=now, expires_at=now + OPEN_FOR,
        )  # fmt: skip
        _tell(locked, "order.hold_asked", made, actor, reason=reason)
        return made


def confirm(*, request: HoldRequest, words: str, actor: Actor) -> None:
    """Agree, as the second person: the order is on hold. Raises `NotPermitted`, `InvalidOrder` or `Refused`."""
    with transaction.atomic():
        locked, found, said = _to_answer(request, words, actor)
        if locked.hold_reason:
            raise urgency.Held(code="order.on-hold")
        asker = actor_for(found.asked_by)
        if not asker.may(Verb.HOLD, locked.ordering_organisation_id, locked.performing_laboratory_id):
            raise Refused(f"{asker.name}, who asked for it, may not hold this order any more. Ask anew.", code="hold.asker-left")
        _end(found, "confirmed", actor, said)
        urgency.put_on_hold(locked, found.reason, actor, {"asked_by": str(asker.id), "request": str(found.pk)}, agreed=True)


def decline(*, request: HoldRequest, words: str, actor: Actor) -> None:
    """Refuse, as the second person: the order goes on as it does. Raises `NotPermitted`, `InvalidOrder` or `Refused`."""
    with transaction.atomic():
        locked, found, said = _to_answer(request, words, actor)
        _end(found, "declined", actor, said)
        _tell(locked, "order.hold_declined", found, actor)


def withdraw(*, request: HoldRequest, actor: Actor) -> None:
    """Take back what one has asked for oneself. Raises `NotPermitted` or `Refused`."""
    with transaction.atomic():
        locked, found = _found(request)
        if found.asked_by_id != actor.id:
            raise NotPermitted("Only who asked for the hold can take it back.", code="access.not-permitted")
        _end(found, "withdrawn", actor, "")
        _tell(locked, "order.hold_withdrawn", found, actor)


def may_answer(actor: Actor, order: Order, request: HoldRequest) -> bool:
    """Whether this person can be the second one: not the one who asked, and one who may hold the order, or placed it."""
    parties = (order.ordering_organisation_id, order.performing_laboratory_id)
    return actor.id != request.asked_by_id and (actor.id == order.placed_by_id or actor.may(Verb.HOLD, *parties))


def expire() -> int:
    """End the requests that nobody has answered in time; how many that were."""
    overdue = HoldRequest.objects.filter(state="open", expires_at__lte=clock.now()).select_related("order")
    ended = 0
    for request in overdue:
        with transaction.atomic():
            locked = Order.objects.select_for_update(skip_locked=True).filter(pk=request.order_id).first()
            found = _open_of(locked, overdue=True) if locked is not None else None
            if locked is not None and found is not None and found.pk == request.pk:
                _end(found, "expired", ACTOR, "")
                _tell(locked, "order.hold_expired", found, ACTOR)
                ended += 1
    return ended


def _to_answer(request: HoldRequest, words: str, actor: Actor) -> tuple[Order, HoldRequest, str]:
    locked, found = _found(request)
    if actor.id == found.asked_by_id:
        raise urgency.TwoPeople("Another person than the one who asked has to agree.", code="hold.two-people")
    if not may_answer(actor, locked, found):
        raise NotPermitted("Your role does not allow this (hold).", code="access.not-permitted")
    return locked, found, remark(words, field="words", missing="Say why you agree, or why not.")


def _found(request: HoldRequest) -> tuple[Order, HoldRequest]:
    """The order and the request, locked in this order, where the request can still be answered."""
    locked = urgency.open_order(request.order)
    found = _open_of(locked)
    if found is None or found.pk != request.pk:
        raise Answered(code="hold.answered")
    return locked, found


def _open_of(locked: Order, *, overdue: bool = False) -> HoldRequest | None:
    """The open request of a locked order. One that ran out is ended here, unless the caller wants it."""
    found = (
        HoldRequest.objects.select_for_update(of=("self",)).select_related("asked_by").filter(order=locked, state="open").first()
    )
    if found is None or found.expires_at > clock.now() or overdue:
        return found
    _end(found, "expired", ACTOR, "")
    _tell(locked, "order.hold_expired", found, ACTOR)
    return None


def _end(found: HoldRequest, to: str, actor: Actor, words: str) -> None:
    answered: dict[str, Any] = {"answered_by_id": actor.id, "answered_at": clock.now(), "answer": words}
    audit.transition(HOLD_REQUEST, found, to=to, actor=actor, **answered)


def _tell(locked: Order, action: str, request: HoldRequest, actor: Actor, *, reason: str = "") -> None:
    """Write the event of the order, and tell its pages: nothing that a person typed on another page is outdated by it."""
    locked.version += 1
    locked.save(update_fields=["version"])
    facts = {"request": str(request.pk), "asked_by": str(request.asked_by_id)}
    audit.record(
        actor=actor, action=action, obj=locked, organisation_id=locked.performing_laboratory_id, reason=reason, facts=facts
    )
    hints.changed(locked)
