"""A patient's page: numbers, specimens, orders and history; and what somebody may change of it."""

from collections.abc import Mapping
from typing import Any

from accounts.roles import Verb
from dashboard.urgency import said
from foundation.actor import Actor
from foundation.errors import HelicaseError, Refused, Stale
from orders import merging, patient_selectors, patients
from orders.errors import InvalidOrder
from orders.models import Merge, Patient, PatientIdentifier

MERGED = "The two records are one now. Everything of the other is listed here, and it leads here too."
UNDONE = "The merge is undone: each of the two records has again what it had."


def page(actor: Actor, patient: Patient) -> dict[str, object]:
    """Everything the page shows, and what it offers."""
    found, joined = patient_selectors.numbers(patient), patient_selectors.merges(patient)
    into = patient_selectors.survivor(patient)
    return {
        "patient": patient,
        "numbers": found,
        "survivor": into,
        "specimens": patient_selectors.specimens_of(patient),
        "orders": patient_selectors.orders_of(actor, patient),
        "history": patient_selectors.history(patient, found, joined),
        "merges": [one for one in joined if one.state == "standing" and one.survivor_id == patient.pk],
        "may_edit": into is None and may_edit(actor, patient),
        "types": patients.TYPES,
        "own": str(patient.organisation_id),
        "systems": patient_selectors.systems([patient.organisation_id]),
    }


def may_edit(actor: Actor, patient: Patient) -> bool:
    """Whether this person may change anything of the record."""
    return actor.may(Verb.EDIT_IDENTITY, patient.organisation_id)


def change(actor: Actor, patient: Patient, data: Mapping[str, str]) -> str:
    """Add or retire a number; the words that say it is done."""
    seen = whole(data, "edits")
    if data.get("do") == "add":
        given = {name: data.get(name, "") for name in ("system", "value", "type")}
        added = patients.add_identifier(patient=patient, actor=actor, expected_edits=seen, **given)
        return f"{added.type} {added.value} is a number of this patient."
    if data.get("do") == "retire":
        one = _number(patient, whole(data, "number"))
        patients.retire_identifier(identifier=one, words=data.get("words", ""), actor=actor, expected_edits=seen)
        return f"{one.type} {one.value} is retired. It stays in the history."
    raise Refused("The page asked for nothing that can be done.", code="patient.unknown-deed")


def _number(patient: Patient, pk: int) -> PatientIdentifier:
    one: PatientIdentifier | None = patient.identifiers.filter(pk=pk).select_related("patient").first()
    if one is None:
        raise Stale(code="state.stale")
    return one


def refused(actor: Actor, patient: Patient, data: Mapping[str, str], error: HelicaseError) -> dict[str, object]:
    """The page again, as things stand now, with what was typed and why nothing was done."""
    typed = {name: data.get(name, "") for name in ("do", "system", "value", "type", "words", "number")}
    return page(actor, patient_selectors.patient_for(actor, patient.pk)) | {"errors": complaints(error), "typed": typed}


def complaints(error: HelicaseError) -> list[tuple[str, str]]:
    """(field, message) of what was refused; no field where it is not about one."""
    fields = error.fields if isinstance(error, InvalidOrder) else {"": [said(error)]}
    return [(field, text) for field, found in fields.items() for text in found]


def proposal(actor: Actor, patient: Patient, data: Mapping[str, str]) -> dict[str, object]:
    """What a merge would do: which record is found under the number, and what of it would move here."""
    asked = {"system": data.get("system", ""), "number": data.get("number", "").strip()}
    shown: dict[str, Any] = {
        "patient": patient, "may_edit": may_edit(actor, patient), "asked": asked,
        "numbers": patient_selectors.numbers(patient), "systems": patient_selectors.systems([patient.organisation_id]),
    }  # fmt: skip
    if not asked["number"] or not shown["may_edit"]:
        return shown
    other = patient_selectors.by_number(patient, asked["system"], asked["number"])
    if other is None:
        return shown | {"errors": [("number", "No patient of this organisation has this number in use.")]}
    return shown | _compared(patient, other)


def compared(actor: Actor, patient: Patient, data: Mapping[str, str]) -> tuple[Patient, Patient | None]:
    """The records that a proposal shows: the other one only to who may merge it."""
    number = data.get("number", "").strip()
    known = patient_selectors.by_number(patient, data.get("system", ""), number) if number and may_edit(actor, patient) else None
    return patient, known


def _compared(patient: Patient, other: Patient) -> dict[str, Any]:
    try:
        merging.check(patient, other)
    except merging.NotMergeable as error:
        return {"errors": [("number", str(error))]}
    return {"other": other, "moves": merging.belongings(other)}


def merge(actor: Actor, patient: Patient, data: Mapping[str, str]) -> None:
    """Merge the record that was shown into this one. Raises `Refused` or `Stale`."""
    other = patient_selectors.by_number(patient, data.get("system", ""), data.get("number", ""))
    if other is None or str(other.pk) != data.get("other"):
        raise Stale(code="state.stale")
    expected = whole(data, "edits"), whole(data, "other_edits")
    merging.merge(survivor=patient, merged=other, words=data.get("words", ""), actor=actor, expected=expected)


def undoing(actor: Actor, merge: Merge) -> dict[str, object]:
    """What undoing a merge would move back, or why it cannot be undone."""
    rows = merging.moved(merge)
    against = merging.what_stands_against_undoing(merge, rows) if merge.state == "standing" else "This merge is undone already."
    going: dict[str, list[Any]] = {
        "orders": patient_selectors.orders_of(actor, merge.survivor),
        "numbers": patient_selectors.numbers(merge.survivor),
        "specimens": patient_selectors.specimens_of(merge.survivor),
    }
    kinds = {"orders": "order", "numbers": "identifier", "specimens": "specimen"}
    back = {name: [one for one in found if str(one.pk) in rows[kinds[name]]] for name, found in going.items()}
    return {"merge": merge, "may_edit": actor.may(Verb.EDIT_IDENTITY, merge.organisation_id), "against": against, **back}


def undo(actor: Actor, merge: Merge, data: Mapping[str, str]) -> None:
    """Undo the merge that was shown. Raises `Refused` or `Stale`."""
    merging.unmerge(merge=merge, words=data.get("words", ""), actor=actor, expected_version=whole(data, "version"))


def whole(data: Mapping[str, str], name: str) -> int:
    """A version or an id that a form sent; 0, which none is, for anything else."""
    found = data.get(name, "")
    return int(found) if found.isdecimal() and len(found) < 19 else 0
