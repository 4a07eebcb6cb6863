"""Replace an order: what an accepted order rests on is never changed, so a change is another order that points at the first."""

from uuid import UUID

from django.db import transaction

from accounts.roles import Verb
from accounts.services import require
from foundation.actor import Actor
from foundation.errors import Refused, Stale
from foundation.reasons import Reason
from orders import services
from orders.errors import InvalidOrder, OrderConflict
from orders.machines import IN_ERROR
from orders.models import STANDING, Order
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
    """Place an order instead of another, which is cancelled when the new one is accepted, unless it is closed.

    As a rule that is the same transaction; while the new one waits for a decision who its patient is, the other goes on. Where
    the new one ends before it is accepted, it stays linked, and the other can be replaced again.

    `words` say what is changed and why; of an order that was for the wrong patient, that has been said. `told` as in
    `services.place`. Asking twice gives the same order. Raises what that raises, and `Replaced`, `NotReplaceable` or `Stale`;
    `OrderConflict` too where it is STAT under a number that stands for another order: parked, it would stop what it replaces.
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
        if order.conflicts_with is not None and not again:
            taken = Reason.ORDER_CONFLICT.say(accession=order.conflicts_with.accession)
            raise OrderConflict(f"{taken} Leave the number out.", code=str(Reason.ORDER_CONFLICT))
        return order


def _asked_again(locked: Order, request: OrderRequest) -> bool:
    """Whether this very replacement was placed before. Raises `Replaced` where another one was, and stands."""
    placed = Order.objects.filter(replaces=locked)
    if placed.filter(intake_id=request.intake_id).exists():
        return True
    successor = placed.filter(STANDING).first()
    if successor is not None:
        raise Replaced(f"Order {successor.accession} has replaced this one already. Change that one.", code="order.replaced")
    return False


def _check(locked: Order, actor: Actor, request: OrderRequest, expected_edits: int) -> None:
    if request.ordering_organisation_id != locked.ordering_organisation_id:
        raise InvalidOrder({"organisation": ["An order is replaced by one of the same organisation."]})
    if locked.state not in REPLACEABLE:
        raise NotReplaceable(code="order.not-replaceable")
    if locked.state in Order.OPEN:
        require(actor, Verb.CANCEL, *_parties(locked))
    if locked.edits != expected_edits:
        raise Stale(code="state.stale")
    number = request.placer_system, request.placer_number
    if request.placer_number and number == (locked.placer_system, locked.placer_number):
        words = f"Number {request.placer_number} stays with order {locked.accession}. Leave it out of the order that replaces it."
        raise OrderConflict(words, code=str(Reason.ORDER_CONFLICT))


def _parties(order: Order) -> tuple[UUID, UUID]:
    return order.ordering_organisation_id, order.performing_laboratory_id
