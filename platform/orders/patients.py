"""What people change about patients: their numbers, and what a record says. Nothing is overwritten without a trace."""

from collections.abc import Mapping
from typing import cast
from uuid import UUID

from django.db import IntegrityError, transaction

from accounts.roles import Verb
from accounts.services import require
from audit import reads
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import Refused, Stale
from foundation.printable import is_printable
from orders.errors import InvalidOrder
from orders.identity import FIELDS, system_of
from orders.models import IdentityCheck, Merge, Order, Patient, PatientChange, PatientIdentifier
from orders.remarks import remark

TYPES = ("MRN", "National", "Insurance", "Other")
MISSING = "Say why: it is kept with the record, under your name."


class Taken(Refused):
    """This number is another patient's already."""


class MergedAway(Refused):
    """This record was merged into another one. Change that one."""


def looked(*, actor: Actor, patient: Patient) -> None:
    """Write that somebody has the record before him, for its organisation and for every laboratory that performs an order of it."""
    theirs = Order.objects.filter(patient=patient).order_by().values_list("performing_laboratory_id", flat=True).distinct()
    reads.seen(actor=actor, action="patient.viewed", obj=patient, organisation_id=patient.organisation_id, also=theirs)


def add_identifier(
    *, patient: Patient, system: str, value: str, type: str, actor: Actor, expected_edits: int | None = None
) -> PatientIdentifier:
    """One more number of a patient. Raises `NotPermitted`, `InvalidOrder`, `Taken`, `MergedAway` or `Stale`."""
    require(actor, Verb.EDIT_IDENTITY, patient.organisation_id)
    number, named = plain(value, "value", "The number", 80), plain(system, "system", "The system", 120, required=False)
    if type not in TYPES:
        raise InvalidOrder({"type": ["Choose one of the listed kinds of number."]})
    try:
        with transaction.atomic():
            locked = lock(patient, expected_edits)
            added = PatientIdentifier.objects.create(
                organisation_id=locked.organisation_id, patient=locked, system=system_of(locked.organisation_id, named),
                value=number, type=type, added_by_id=actor.id, added_at=clock.now(),
            )  # fmt: skip
            _tell(locked, "patient.identifier_added", actor, {"identifier": added.pk})
    except IntegrityError as error:
        raise Taken(code="identity.taken") from error
    return added


def retire_identifier(*, identifier: PatientIdentifier, words: str, actor: Actor, expected_edits: int | None = None) -> None:
    """A number that is the patient's no more: kept, and free for somebody else. Raises as `add_identifier` does, and `Refused`."""
    require(actor, Verb.EDIT_IDENTITY, identifier.organisation_id)
    said = remark(words, field="words", missing=MISSING)
    with transaction.atomic():
        locked = lock(identifier.patient, expected_edits)
        in_use = PatientIdentifier.objects.filter(patient=locked, retired_at=None)
        if not in_use.exclude(pk=identifier.pk).exists():
            raise Refused("This is the only number of the record. Add the right one first, then retire it.", code="identity.last")
        how = {"retired_at": clock.now(), "retired_by_id": actor.id, "retired_words": said}
        if in_use.filter(pk=identifier.pk).update(**how) != 1:
            raise Stale(code="state.stale")
        _tell(locked, "patient.identifier_retired", actor, {"identifier": identifier.pk})


def correct(locked: Patient, values: Mapping[str, object], *, words: str, actor: Actor, check: IdentityCheck) -> None:
    """Correct a locked record, what it said being kept beside who changed it and why."""
    before = said_of(locked)
    for name, value in values.items():
        setattr(locked, name, value)
    PatientChange.objects.create(
        organisation_id=locked.organisation_id, patient=locked, before=before, after=said_of(locked), check_of=check, words=words,
        by_id=cast(UUID, actor.id), at=clock.now(),
    )  # fmt: skip
    locked.save(update_fields=list(values))
    _tell(locked, "patient.corrected", actor, {"check": check.pk, "fields": sorted(values)})


def said_of(patient: Patient) -> dict[str, str]:
    """What a record says of a person, as its history keeps it."""
    return {name: str(getattr(patient, name)) for name in FIELDS}


def lock(patient: Patient, expected_edits: int | None = None) -> Patient:
    """The record, locked, as it stands now. Raises `Stale`, or `MergedAway` for one that has nothing of its own any more."""
    locked = Patient.objects.select_for_update().get(pk=patient.pk)
    if expected_edits is not None and locked.edits != expected_edits:
        raise Stale(code="state.stale")
    if Merge.objects.filter(merged=locked, state="standing").exists():
        raise MergedAway(code="identity.merged")
    return locked


def plain(text: str, field: str, label: str, most: int, *, required: bool = True) -> str:
    """A number or a system, verbatim but for outer white space. Raises `InvalidOrder`."""
    said = text.strip()
    if required and not said:
        raise InvalidOrder({field: [f"{label} is missing."]})
    if len(said) > most:
        raise InvalidOrder({field: [f"{label} is longer than {most} characters."]})
    if not is_printable(said):
        raise InvalidOrder({field: [f"{label} holds control characters."]})
    return said


def _tell(locked: Patient, action: str, actor: Actor, facts: Mapping[str, object]) -> None:
    """Count the person's edit and write the event."""
    locked.edits += 1
    locked.save(update_fields=["edits"])
    audit.record(actor=actor, action=action, obj=locked, organisation_id=locked.organisation_id, facts=facts)
