"""Validation records: what stands, what waits for a director, what was suspended and why; proposed, approved, suspended here."""

from collections.abc import Callable, Mapping
from uuid import UUID

from accounts import step_up
from accounts.roles import Verb
from dashboard.patients_page import complaints
from foundation.actor import Actor
from foundation.errors import HelicaseError, Refused
from registry import validation
from registry.models import ValidationRecord


def page(actor: Actor) -> dict[str, object]:
    """The records of his laboratories, and what he may do."""
    return {
        "records": [(record, _deeds(actor, record)) for record in validation.standing(actor)],
        "candidates": validation.candidates(actor),
    }


def decide(actor: Actor, data: Mapping[str, str]) -> str:
    """Do what was asked for; returns what to say."""
    deed = _DEEDS.get(data.get("do", ""))
    if deed is None:
        raise Refused("Choose what to do.", code="validation.no-deed")
    return deed(actor, data)


def refused(actor: Actor, data: Mapping[str, str], error: HelicaseError) -> dict[str, object]:
    """The page as things stand now, with what was typed and why nothing was done."""
    return page(actor) | {"errors": complaints(error), "statement": data.get("statement", ""), "chosen": data.get("test", "")}


def _deeds(actor: Actor, record: ValidationRecord) -> frozenset[str]:
    laboratory, found = record.laboratory_id, set()
    if record.state == "proposed" and actor.may(Verb.APPROVE_VALIDATION, laboratory):
        found |= {"decline"} | ({"approve"} if record.proposed_by_id != actor.id else set())
    if record.state == "approved" and actor.may(Verb.PROPOSE_VALIDATION, laboratory):
        found.add("suspend")
    return frozenset(found)


def _propose(actor: Actor, data: Mapping[str, str]) -> str:
    chosen = next((test for test in validation.candidates(actor) if str(test.pk) == data.get("test")), None)
    if chosen is None:
        raise validation.NotPossible(code="validation.not-possible")
    validation.propose(actor=actor, test_version=chosen, statement=data.get("statement", ""))
    return f"The validation of {chosen} waits for a director."


def _approve(actor: Actor, data: Mapping[str, str]) -> str:
    record = _record(actor, data)
    if record.proposed_by_id == actor.id:
        raise validation.SamePerson(code="validation.same-person")
    proof = step_up.prove(actor=actor, about=validation.about(record), given=data.get("password", ""))
    validation.approve(actor=actor, record=record, proof=proof)
    return f"{record.test_version} is validated for clinical use, as long as nothing of it changes."


def _decline(actor: Actor, data: Mapping[str, str]) -> str:
    record = _record(actor, data)
    validation.decline(actor=actor, record=record, words=data.get("words", ""))
    return f"The validation of {record.test_version} is declined."


def _suspend(actor: Actor, data: Mapping[str, str]) -> str:
    record = _record(actor, data)
    validation.suspend(actor=actor, record=record, words=data.get("words", ""))
    return f"The validation of {record.test_version} is suspended: nothing of it can be final from now on."


def _record(actor: Actor, data: Mapping[str, str]) -> ValidationRecord:
    try:
        return validation.one(actor, UUID(data.get("record", "")))
    except ValueError:
        raise Refused("Choose a validation record.", code="validation.no-deed") from None


_DEEDS: dict[str, Callable[[Actor, Mapping[str, str]], str]] = {
    "propose": _propose, "approve": _approve, "decline": _decline, "suspend": _suspend,
}  # fmt: skip
