"""Who is it? The statement of an order beside the record that has its number, and what can be decided."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import QueryDict

from accounts.people import people_who_may
from accounts.roles import Verb
from dashboard.urgency import said
from foundation.actor import Actor
from foundation.errors import HelicaseError, Refused, Stale
from foundation.reasons import Reason
from orders import identity, identity_decisions, patient_selectors
from orders.errors import InvalidOrder
from orders.models import IdentityCheck, Order, Sex
from orders.selectors import order_for

NAMED = 3  # people whom one can ask
LABELS = {"family_name": "Family name", "given_name": "Given name", "birth_date": "Birth date", "sex": "Sex"}
DONE = {
    "statement": "Order {} belongs to the known patient. It is accepted and runs.",
    "record": "The record is corrected, and order {} belongs to it. It is accepted and runs.",
    "another": "Order {} belongs to another person, with the number that you typed. It is accepted and runs.",
    "reject": "Order {} is rejected.",
}
AGAIN = "The number that you typed is known with other details too. The question is asked again, against that record."


@dataclass(frozen=True)
class Line:
    """One field of both sides."""

    name: str
    label: str
    stated: str
    known: str
    differs: bool


def may_decide(actor: Actor, order: Order) -> bool:
    """Whether this person settles identities of this order."""
    return actor.may(Verb.EDIT_IDENTITY, order.ordering_organisation_id, order.performing_laboratory_id)


def whom_to_ask(actor: Actor, order: Order) -> str:
    """Who settles the open question of this order, said to somebody who may not; else empty."""
    if order.attention != Reason.IDENTITY_MISMATCH or order.ended_at is not None or may_decide(actor, order):
        return ""
    people = people_who_may(Verb.EDIT_IDENTITY, {order.ordering_organisation_id, order.performing_laboratory_id})
    if not people:
        return "Who the patient is settles an accessioner, and there is none here: ask an administrator to name one."
    names = ", ".join(person.name for person in people[:NAMED])
    return f"Who the patient is settles an accessioner: ask {names}{' or another' if len(people) > NAMED else ''}."


def page(actor: Actor, order: Order) -> dict[str, object]:
    """What the page shows."""
    checks = patient_selectors.checks_of(order)
    check = next((one for one in checks if one.state == "open"), None)
    return {
        "order": order,
        "check": check,
        "settled": [one for one in checks if one.state != "open"],
        "stated_number": number(order),
        **(_sides(actor, order, check) if check else {}),
    }


def open_check(order: Order) -> IdentityCheck | None:
    """The question that is open about who its patient is."""
    return next((one for one in patient_selectors.checks_of(order) if one.state == "open"), None)


def _sides(actor: Actor, order: Order, check: IdentityCheck) -> dict[str, object]:
    others = [one for one in patient_selectors.orders_of(actor, order.patient) if one.pk != order.pk]
    return {
        "lines": lines(order, check),
        "known_numbers": [one for one in check.known.identifiers.all() if one.retired_at is None],
        "orders_of_known": patient_selectors.orders_of(actor, check.known),
        "orders_of_stated": others,
        "may_correct": actor.may(Verb.EDIT_IDENTITY, check.known.organisation_id),
        "may_open_known": actor.may(Verb.VIEW_ORDER, check.known.organisation_id),
        "systems": patient_selectors.systems([order.ordering_organisation_id]),
    }


def lines(order: Order, check: IdentityCheck) -> list[Line]:
    """Both sides, field by field; what differs is said in words as well."""
    details = identity_decisions.stated(order)
    differing = identity.differences(check.known, details)
    return [
        Line(name, label, _shown(name, getattr(details, name)), _shown(name, getattr(check.known, name)), name in differing)
        for name, label in LABELS.items()
    ]


def _shown(name: str, value: Any) -> str:
    if name == "birth_date":
        return f"{value.day} {value:%b %Y}"
    return str(Sex(value).label) if name == "sex" else str(value)


def number(order: Order) -> str:
    """The numbers as stated, verbatim, with their system where that is not the organisation's own."""
    others = [(one["value"], one["system"]) for one in order.stated.get("others", [])]
    stated = [(order.stated_mrn, str(order.stated.get("mrn_system", ""))), *others]
    return "; ".join(f"{value} ({system})" if system else str(value) for value, system in stated)


def stated_otherwise(order: Order) -> str:
    """The patient as stated, where the record says something else today, or has another number; else empty."""
    if not order.stated:
        return ""
    details = identity_decisions.stated(order)
    has = {one.value for one in order.patient.identifiers.all() if one.retired_at is None}
    if order.stated_mrn in has and identity.same(order.patient, details):
        return ""
    said = [_shown(name, getattr(details, name)) for name in LABELS]
    return f"{said[0]}, {said[1]} · born {said[2]} · {said[3]} · {number(order)}"


def decide(actor: Actor, order: Order, data: QueryDict) -> str:
    """Do what the form decides, about the question that it showed; the words that say it is done."""
    deed = data.get("do", "")
    if deed not in DONE:
        raise Refused("Choose one of the decisions.", code="identity.unknown-decision")
    check = next((one for one in patient_selectors.checks_of(order) if str(one.pk) == data.get("check")), None)
    if check is None:
        raise Stale(code="state.stale")
    seen = (_whole(data, "version"), _whole(data, "known"))
    given: dict[str, Any] = {"check": check, "words": data.get("words", ""), "actor": actor, "expected": seen}
    again = None
    match deed:
        case "statement":
            identity_decisions.statement_wrong(**given)
        case "record":
            identity_decisions.record_wrong(fields=data.getlist("fields"), **given)
        case "another":
            again = identity_decisions.another_person(system=data.get("system", ""), number=data.get("number", ""), **given)
        case _:
            identity_decisions.reject(**given)
    return AGAIN if again else DONE[deed].format(order.accession)


def refused(actor: Actor, pk: UUID, data: QueryDict, error: HelicaseError) -> dict[str, object]:
    """The page again, on the question as it stands now, with what was typed and why nothing was decided."""
    fields: Mapping[str, list[str]] = error.fields if isinstance(error, InvalidOrder) else {"": [said(error)]}
    typed = {name: data.get(name, "") for name in ("do", "words", "number", "system")}
    messages = [(field, text) for field, found in fields.items() for text in found]
    return page(actor, order_for(actor, pk)) | {"errors": messages, "typed": typed | {"fields": data.getlist("fields")}}


def _whole(data: QueryDict, name: str) -> int:
    found = data.get(name, "")
    return int(found) if found.isdecimal() and len(found) < 10 else 0
