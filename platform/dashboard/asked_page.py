"""What came by FHIR and is no order yet: what was said, why it waits, what stands under its number, and what can be done."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from accounts.roles import Verb
from dashboard.patients_page import complaints, whole
from foundation.actor import Actor
from foundation.errors import HelicaseError, NotFound, Refused
from interop.fhir import finding, ordering
from interop.models import FhirOrder
from orders.models import Order

DONE = {"close": "Nothing comes of order number {} any more.", "sample": "The file of order number {} is checked for this sample."}


def found(actor: Actor, pk: UUID) -> FhirOrder | Order:
    """What was asked for, or the order that came of it. Raises `NotFound`."""
    return finding.one(actor, pk)


def may_settle(actor: Actor, asked: FhirOrder) -> bool:
    """Whether this person does anything about it."""
    return may_close(actor, asked) or may_choose(actor, asked)


def may_close(actor: Actor, asked: FhirOrder) -> bool:
    return actor.may(Verb.CANCEL, asked.ordering_organisation_id, asked.performing_laboratory_id)


def may_choose(actor: Actor, asked: FhirOrder) -> bool:
    return actor.may(Verb.PLACE, asked.ordering_organisation_id) and asked.state == "parked" and bool(asked.intake.samples)


def page(actor: Actor, asked: FhirOrder) -> dict[str, object]:
    """What the page shows."""
    same_number = {
        "ordering_organisation_id": asked.ordering_organisation_id,
        "placer_system": asked.placer_system,
        "placer_number": asked.placer_number,
    }
    return {
        "asked": asked,
        "patient": asked.request["patient"],
        "specimen": asked.request["specimen"],
        "indication": asked.request["indication"],
        "stat_reason": asked.request["stat_reason"],
        "requester": asked.said["ServiceRequest"].get("requester", {}).get("display", ""),
        "standing": Order.objects.for_actor(actor).filter(conflicts_with=None, **same_number).first(),
        "may_close": asked.state in ("waiting", "parked") and may_close(actor, asked),
        "may_choose": may_choose(actor, asked),
    }


def decide(actor: Actor, asked: FhirOrder, data: Mapping[str, str]) -> str:
    """Do what the form decides; the words that say it is done."""
    seen: dict[str, Any] = {"actor": actor, "asked": asked, "expected_version": whole(data, "version")}
    match data.get("do", ""):
        case "close":
            ordering.close(words=data.get("words", ""), **seen)
        case "sample":
            ordering.choose_sample(sample=data.get("sample", ""), **seen)
        case _:
            raise Refused("Choose one of the decisions.", code="order.unknown-decision")
    return DONE[data["do"]].format(asked.placer_number)


def refused(actor: Actor, pk: UUID, data: Mapping[str, str], error: HelicaseError) -> dict[str, object]:
    """The page again, with what was typed and why nothing was done."""
    asked = finding.one(actor, pk)
    if not isinstance(asked, FhirOrder):
        raise NotFound
    return page(actor, asked) | {"errors": complaints(error), "words": data.get("words", "")}
