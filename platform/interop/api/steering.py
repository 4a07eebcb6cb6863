"""What people decide about an order: cancel, hold, release, another priority. Each on the order as it was seen."""

from collections.abc import Callable
from uuid import UUID

from django.http import HttpResponse
from ninja import Router

from accounts.roles import Verb
from interop.api import shapes
from interop.api.orders import order_done
from interop.api.security import ApiRequest, Token
from interop.api.writing import KEY, SEEN, done_once, edits_seen
from interop.idempotency import Done
from orders import selectors, services, urgency
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
    """Put an order on hold. One that is or was STAT is held by its requester; two people do it on its page."""

    def deed(order: Order, edits: int) -> None:
        urgency.hold(order=order, reason=given.reason, actor=request.auth, expected_edits=edits)

    return _decide(request, pk, if_match, idempotency_key, deed)


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


def _decide(
    request: ApiRequest, pk: UUID, if_match: str | None, key: str | None, deed: Callable[[Order, int], None]
) -> HttpResponse:
    order, edits = selectors.order_for(request.auth, pk), edits_seen(if_match)

    def work() -> Done:
        deed(order, edits)
        return order_done(request.auth, pk)

    return done_once(request, key, work, seen=lambda found: selectors.order_for(request.auth, found))
