"""Cancel an order from its page: a reason and a confirmation, on the order as the person has seen it."""

from collections.abc import Mapping
from uuid import UUID

from dashboard import order_page, urgency
from foundation.actor import Actor
from foundation.errors import HelicaseError, Refused
from orders import services
from orders.errors import InvalidOrder
from orders.models import Order
from orders.selectors import order_for


class NotConfirmed(Refused):
    """Tick the box to confirm that this order is to be cancelled."""


class Over(Refused):
    """This order is closed already."""


# What cancelling did to the work, by the state in which the order was.
STOPPED = {"in_analysis": " Work that was running has been stopped.", "accepted": " Its work has been taken out of the line."}


def cancel(*, actor: Actor, order: Order, data: Mapping[str, str]) -> None:
    """Cancel it, unless the reason or the confirmation is missing or somebody changed the order meanwhile."""
    if order.ended_at is not None:
        raise Over(f"This order is {order.state.replace('_', ' ')} already.", code="order.over")
    if not data.get("confirmed"):
        raise NotConfirmed(code="cancel.not-confirmed")
    seen = data.get("edits", "")
    expected = int(seen) if seen.isdecimal() and len(seen) < 10 else 0
    services.cancel(actor=actor, order=order, reason=data.get("reason", ""), expected_edits=expected)


def refused(actor: Actor, pk: UUID, data: Mapping[str, str], error: HelicaseError) -> dict[str, object]:
    """The page again, on the order as it stands now, with what was typed and why it was not done."""
    order = order_for(actor, pk)
    messages = error.fields.get("reason", []) if isinstance(error, InvalidOrder) else [urgency.said(error)]
    return {"order": order, "may": order_page.may_cancel(actor, order), "errors": messages, "reason": data.get("reason", "")}
