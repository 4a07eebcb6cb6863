"""Say that an order was for the wrong patient: words and a confirmation, on the order as the person has seen it."""

from collections.abc import Mapping
from uuid import UUID

from dashboard.patients_page import complaints, whole
from foundation.actor import Actor
from foundation.errors import HelicaseError, Refused
from orders.models import Order
from orders.selectors import order_for
from reports import wrong_patient


class NotConfirmed(Refused):
    """Tick the box to confirm that this order was for the wrong patient."""


def form(actor: Actor, order: Order) -> dict[str, object]:
    """What the page shows."""
    reports = order.reports.exclude(state="discarded").order_by("number")
    return {
        "order": order,
        "may": wrong_patient.may_declare(actor, order),
        "reports": list(reports.only("number", "state", "kind")),
    }


def declare(actor: Actor, order: Order, data: Mapping[str, str]) -> None:
    """Mark it, unless words or confirmation are missing, or somebody changed the order meanwhile."""
    if not data.get("confirmed"):
        raise NotConfirmed(code="order.not-confirmed")
    wrong_patient.declare(order=order, words=data.get("words", ""), actor=actor, expected_edits=whole(data, "edits"))


def refused(actor: Actor, pk: UUID, data: Mapping[str, str], error: HelicaseError) -> dict[str, object]:
    """The page again, on the order as it stands now, with what was typed and why nothing was done."""
    return form(actor, order_for(actor, pk)) | {"errors": complaints(error), "words": data.get("words", "")}
