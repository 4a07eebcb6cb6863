"""Replace an order: what an accepted order rests on is never changed, so a change is another order that points at the first."""

from uuid import UUID

from django.db import transaction

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import Refused, Stale
from foundation.reasons import Reason
from orders import hints, services
from orders.errors import InvalidOrder
from orders.machines import IN_ERROR
from orders.models import Order
from orders.remarks import remark
from orders.requests import OrderRequest

MISSING = "Say what is changed and why: both orders show it."
REPLACEABLE = frozenset({*Order.OPEN, "reported", IN_ERROR}) - {"draft"}


class Replaced(Refused):
    """Another order has replaced this one already."""


class NotReplaceable(Refused):
    """This order was cancelled or rejected, so there is nothing to replace. Place a new order."""


def may_replace(actor: Actor, order: Order) -> bool:
    """Whether this person may place an order instead of this one, as far as his rights and its state go."""
    places = actor.may(Verb.PLACE, order.ordering_organisation_id)
    cancels = order.state not in Order.OPEN or actor.may(Verb.CANCEL, *_parties(order))
    return order.state in REPLACEABLE and places and cancels


def replace(
    *,
    actor: Actor,
    request: OrderRequest,
    replaced: Order,
    words: str,
    expected_edits: int,
    told: frozenset[UUID] | None = None,
) -> Order:
    """Place an order instead of another, which is cancelled in the same transaction unless it is closed.

    `words` say what is changed and why; of an order that was for the wrong patient, that has been said. `told` as in
    `services.place`. Asking twice gives the same order. Raises what that raises, and `Replaced`, `NotReplaceable` or `Stale`.
    """
    require(actor, Verb.PLACE, replaced.ordering_organisation_id)
    with transaction.atomic():
        locked = Order.objects.select_for_update(of=("self",)).get(pk=replaced.pk)
        again = _asked_again(locked, request)
        if not again:
            _check(locked, actor, request, expected_edits)
        said = remark(words, field="replaces_reason", missing="" if locked.state == IN_ERROR else MISSING)
        order = services.place(actor=actor, request=request, told=told, replaces=locked, replaces_reason=said)
        if order.replaces_id != locked.pk:
            raise InvalidOrder({"intake": [f"This file is order {order.accession} already. Check the file once more."]})
        if not again:
            _tell(locked, order, actor)
        return order


def _asked_again(locked: Order, request: OrderRequest) -> bool:
    """Whether this very replacement was placed before. Raises `Replaced` where another one was."""
    successor = Order.objects.filter(replaces=locked).first()
    if successor is not None and successor.intake_id != request.intake_id:
        raise Replaced(f"Order {successor.accession} has replaced this one already. Change that one.", code="order.replaced")
    return successor is not None


def _check(locked: Order, actor: Actor, request: OrderRequest, expected_edits: int) -> None:
    if request.ordering_organisation_id != locked.ordering_organisation_id:
        raise InvalidOrder({"organisation": ["An order is replaced by one of the same organisation."]})
    if locked.state not in REPLACEABLE:
        raise NotReplaceable(code="order.not-replaceable")
    if locked.state in Order.OPEN:
        require(actor, Verb.CANCEL, *_parties(locked))
    if locked.edits != expected_edits:
        raise Stale(code="state.stale")


def _tell(locked: Order, order: Order, actor: Actor) -> None:
    """Cancel what is open; in any case, write down on the replaced order which one follows it."""
    reason = str(Reason.ORDER_REPLACED)
    if locked.state in Order.OPEN:
        words = f"Replaced by order {order.accession}: {order.replaces_reason}"
        changes = {"ended_at": clock.now(), "cancelled_reason": words, "edits": locked.edits + 1}
        services.end(locked, to="cancelled", actor=actor, reason=reason, **changes)
    audit.record(
        actor=actor, action="order.replaced", obj=locked, organisation_id=locked.performing_laboratory_id, reason=reason,
        facts={"by": str(order.pk)},
    )  # fmt: skip
    hints.changed(locked)


def _parties(order: Order) -> tuple[UUID, UUID]:
    return order.ordering_organisation_id, order.performing_laboratory_id
