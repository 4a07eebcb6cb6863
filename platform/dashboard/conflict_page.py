"""A STAT order beside the one that has its number: another one, the same one, or refused."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dashboard.identity_page import number
from dashboard.patients_page import complaints, whole
from foundation.actor import Actor
from foundation.errors import HelicaseError, Refused
from interop.fhir import finding
from orders import conflicts
from orders.models import Order
from orders.selectors import order_for

DONE = {
    "new": "Order {} is another order. It is accepted and runs.",
    "same": "Order {} is the same as the one that has its number, and is rejected.",
    "refuse": "Order {} is rejected.",
}


@dataclass(frozen=True)
class Line:
    """One thing that both orders say."""

    label: str
    here: str
    there: str

    @property
    def differs(self) -> bool:
        """Whether they say it differently."""
        return self.here != self.there


_SAID: dict[str, Callable[[Order], object]] = {
    "Patient": lambda order: f"{order.patient}, born {order.patient.birth_date.day} {order.patient.birth_date:%b %Y}",
    "Patient number": number,
    "Specimen": lambda order: f"{order.specimen.identifier}, {order.specimen.type}",
    "Test": lambda order: order.test_version.definition.name,
    "File": lambda order: order.intake.filename,
    "SHA-256 of the file": lambda order: order.intake.file.sha256[:16],
    "Sample": lambda order: order.intake.sample or "none chosen",
    "Priority": lambda order: order.get_priority_display(),
    "STAT reason": lambda order: order.stat_reason or "none",
    "Indication": lambda order: order.indication or "none",
    "Came": lambda order: "by FHIR" if finding.asked_for(order) else "by a page, a table or the API",
}


def page(actor: Actor, order: Order) -> dict[str, object]:
    """What the page shows. The other order only to who may see it."""
    standing = standing_for(actor, order)
    return {
        "order": order,
        "standing": standing,
        "waits": conflicts.waits(order),
        "lines": [Line(label, str(said(order)), str(said(standing)) if standing else "") for label, said in _SAID.items()],
    }


def standing_for(actor: Actor, order: Order) -> Order | None:
    """The order that has its number, where this person may see it."""
    if order.conflicts_with_id is None:
        return None
    seen = Order.objects.for_actor(actor).select_related(
        "patient", "specimen", "intake__file", "test_version__definition", "asked_by_fhir"
    )
    found: Order | None = seen.filter(pk=order.conflicts_with_id).first()
    return found


def decide(actor: Actor, order: Order, data: Mapping[str, str]) -> str:
    """Do what the form decides; the words that say it is done."""
    seen: dict[str, Any] = {"order": order, "actor": actor, "expected_edits": whole(data, "edits")}
    match data.get("do", ""):
        case "new":
            conflicts.take_as_new(**seen)
        case "same":
            conflicts.same(words=data.get("words", ""), **seen)
        case "refuse":
            conflicts.refuse(words=data.get("words", ""), **seen)
        case _:
            raise Refused("Choose one of the decisions.", code="order.unknown-decision")
    return DONE[data["do"]].format(order.accession)


def refused(actor: Actor, pk: UUID, data: Mapping[str, str], error: HelicaseError) -> dict[str, object]:
    """The page again, with what was typed and why nothing was decided."""
    typed = {name: data.get(name, "") for name in ("do", "words")}
    return page(actor, order_for(actor, pk)) | {"errors": complaints(error), "typed": typed}
