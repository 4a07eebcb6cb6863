"""What people decide about an order: cancel, replace, hold, release, another priority. Each on the order as it was seen."""

from collections.abc import Callable
from typing import cast
from uuid import UUID

from django.http import HttpResponse
from ninja import Router

from accounts.models import User
from accounts.roles import Verb
from foundation.actor import Actor
from foundation.errors import NotPermitted, Stale
from interop.api import holds, shapes
from interop.api.orders import asked, order_done
from interop.api.security import ApiRequest, Token
from interop.api.writing import KEY, SEEN, done_once, edits_seen
from interop.idempotency import Done
from orders import holding, replacing, selectors, services, urgency
from orders.models import Order

router = Router(tags=["Decisions"])


@router.post("/orders/{uuid:pk}/cancel", response=shapes.OrderShape, auth=Token(Verb.CANCEL))
def cancel_order(
    request: ApiRequest, pk: UUID, given: shapes.CancelGiven, if_match: str | None = SEEN, idempotency_key: str | None = KEY
) -> HttpResponse:
    """Cancel an order: what waits never starts, what runs stops."""

    def deed(order: Order, edits: int) -> None:
        services.cancel(actor=request.auth, order=order, reason=given.reason, expected_edits=edits)

    return _decide(request, pk, if_match, idempotency_key, deed)


@router.post("/orders/{uuid:pk}/hold", response=shapes.OrderShape, auth=Token(Verb.HOLD))
def hold_order(
    request: ApiRequest, pk: UUID, given: shapes.HoldGiven, if_match: str | None = SEEN, idempotency_key: str | None = KEY
) -> HttpResponse:
    """Put an order on hold. One that is or was STAT is held by its requester, or by two people: `hold/ask` and `hold/answer`."""

    def deed(order: Order, edits: int) -> None:
        urgency.hold(order=order, reason=given.reason, actor=request.auth, expected_edits=edits)

    return _decide(request, pk, if_match, idempotency_key, deed)


@router.post("/orders/{uuid:pk}/hold/ask", response=shapes.OrderShape, auth=Token(Verb.HOLD))
def ask_for_hold(
    request: ApiRequest, pk: UUID, given: holds.HoldAsked, if_match: str | None = SEEN, idempotency_key: str | None = KEY
) -> HttpResponse:
    """Ask that an order waits that only two people hold. A second person answers within a quarter of an hour."""

    def deed(order: Order, edits: int) -> None:
        _as_seen(order, edits)
        holding.ask(order=order, reason=given.reason, words=given.words, actor=request.auth)

    return _decide(request, pk, if_match, idempotency_key, deed)


@router.post("/orders/{uuid:pk}/hold/answer", response=shapes.OrderShape, auth=Token(Verb.VIEW_ORDER))
def answer_hold(
    request: ApiRequest, pk: UUID, given: holds.HoldAnswered, if_match: str | None = SEEN, idempotency_key: str | None = KEY
) -> HttpResponse:
    """Agree to a hold that another person asked for, or decline it: who may hold the order, or who placed it. No program does."""

    def deed(order: Order, edits: int) -> None:
        asked = selectors.hold_requests([order]).get(order.pk)
        if asked is None:
            raise holding.Answered(code="hold.answered")
        _require_second(request.auth, order)
        _as_seen(order, edits)
        answer = holding.confirm if given.agree else holding.decline
        answer(request=asked, words=given.words, actor=request.auth)

    return _decide(request, pk, if_match, idempotency_key, deed)


@router.post("/orders/{uuid:pk}/replace", response={201: shapes.OrderShape}, auth=Token(Verb.PLACE))
def replace_order(
    request: ApiRequest, pk: UUID, given: shapes.ReplaceGiven, if_match: str | None = SEEN, idempotency_key: str | None = KEY
) -> HttpResponse:
    """Place an order instead of this one, which is cancelled with it unless it is closed. The answer is the new order."""
    actor, order, edits = request.auth, selectors.order_for(request.auth, pk), edits_seen(if_match)

    def work() -> Done:
        wanted, words = asked(actor, given), given.replaces_reason
        made = replacing.replace(actor=actor, request=wanted, replaced=order, words=words, expected_edits=edits)
        return order_done(actor, made.pk, status=201)

    return done_once(request, idempotency_key, work, seen=lambda found: selectors.order_for(actor, found))


@router.post("/orders/{uuid:pk}/release", response=shapes.OrderShape, auth=Token(Verb.HOLD))
def release_order(request: ApiRequest, pk: UUID, if_match: str | None = SEEN, idempotency_key: str | None = KEY) -> HttpResponse:
    """Let an order on hold go on."""

    def deed(order: Order, edits: int) -> None:
        urgency.release(order=order, actor=request.auth, expected_edits=edits)

    return _decide(request, pk, if_match, idempotency_key, deed)


@router.post("/orders/{uuid:pk}/priority", response=shapes.OrderShape, auth=Token(Verb.PROMOTE))
def change_priority(
    request: ApiRequest, pk: UUID, given: shapes.PriorityGiven, if_match: str | None = SEEN, idempotency_key: str | None = KEY
) -> HttpResponse:
    """Make an order more or less urgent, queued or running. STAT needs the right `stat` as well."""

    def deed(order: Order, edits: int) -> None:
        urgency.change_priority(order=order, priority=given.priority, reason=given.reason, actor=request.auth, expected_edits=edits)

    return _decide(request, pk, if_match, idempotency_key, deed)


@router.post("/orders/{uuid:pk}/stat-reason", response=shapes.OrderShape, auth=Token(Verb.STAT))
def give_stat_reason(
    request: ApiRequest, pk: UUID, given: shapes.StatReasonGiven, if_match: str | None = SEEN, idempotency_key: str | None = KEY
) -> HttpResponse:
    """Say why an order is STAT that came without a reason. It runs as STAT before and after."""

    def deed(order: Order, edits: int) -> None:
        urgency.give_stat_reason(order=order, reason=given.reason, actor=request.auth, expected_edits=edits)

    return _decide(request, pk, if_match, idempotency_key, deed)


def _as_seen(order: Order, edits: int) -> None:
    """Raises `Stale` where somebody has changed it since. Who asks or answers beside it outdates nothing."""
    if order.edits != edits:
        raise Stale(code="state.stale")


def _require_second(actor: Actor, order: Order) -> None:
    """Raises `NotPermitted` for a program, and for a token that was not given what its owner would need on the page."""
    parties = (order.ordering_organisation_id, order.performing_laboratory_id)
    placed = actor.id == order.placed_by_id and actor.may(Verb.PLACE, *parties)
    program = User.objects.filter(pk=cast(UUID, actor.id), responsible__isnull=False).exists()
    if program or not (placed or actor.may(Verb.HOLD, *parties)):
        words = "The second person needs the right “hold”, or has placed the order and has the right “place”; a program is none."
        raise NotPermitted(words, code="access.not-permitted")


def _decide(
    request: ApiRequest, pk: UUID, if_match: str | None, key: str | None, deed: Callable[[Order, int], None]
) -> HttpResponse:
    order, edits = selectors.order_for(request.auth, pk), edits_seen(if_match)

    def work() -> Done:
        deed(order, edits)
        return order_done(request.auth, pk)

    return done_once(request, key, work, seen=lambda found: selectors.order_for(request.auth, found))
