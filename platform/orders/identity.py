"""Who is this? A known number with another birth date, sex or name is a question for a person, never an answer."""

from dataclasses import dataclass
from uuid import UUID

from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from orders.machines import IDENTITY_CHECK
from orders.models import IdentityCheck, Order, Patient, PatientIdentifier
from orders.requests import OtherNumber, PatientDetails


@dataclass(frozen=True)
class Identified:
    """The record an order is placed on, and the known one that its statement contradicts."""

    patient: Patient
    contradicts: Patient | None = None  # the order waits until a person has decided


def identify(details: PatientDetails, *, organisation_id: UUID) -> Identified:
    """The patient behind the details.

    A known identifier with the same demographics is that patient, who gets the numbers that nobody has yet. With different ones,
    or where two numbers are of two records, nothing is overwritten or linked: a separate record without an identifier is made,
    and the order waits for an identity check.
    """
    numbers = stated_numbers(details, organisation_id)
    held = [(number, holder(organisation_id, number.system, number.value)) for number in numbers]
    known = [patient for _, patient in held if patient is not None]
    contradicts = next((one for one in known if one.pk != known[0].pk or not same(one, details)), None)
    patient = known[0] if known and contradicts is None else _record(details, organisation_id)
    if contradicts is None:
        _number(patient, [number for number, holds in held if holds is None])
    return Identified(patient, contradicts)


def stated_numbers(details: PatientDetails, organisation_id: UUID) -> list[OtherNumber]:
    """Every number that is stated, the first one first; each once."""
    first = OtherNumber(system_of(organisation_id, details.mrn_system), details.mrn.strip(), "MRN")
    others = [OtherNumber(system_of(organisation_id, one.system), one.value.strip(), one.type) for one in details.others]
    return list({(one.system, one.value): one for one in [*others, first]}.values())[::-1]


def _number(patient: Patient, numbers: list[OtherNumber]) -> None:
    """Give a patient numbers that nobody has; they came with an order."""
    for one in numbers:
        kind = {"type": one.type} if one.type else {}
        PatientIdentifier.objects.create(
            organisation_id=patient.organisation_id, patient=patient, system=one.system, value=one.value, **kind
        )


def _record(details: PatientDetails, organisation_id: UUID) -> Patient:
    made: Patient = Patient.objects.create(
        organisation_id=organisation_id,
        family_name=details.family_name.strip(),
        given_name=details.given_name.strip(),
        birth_date=details.birth_date,
        sex=details.sex,
        created_at=clock.now(),
    )
    return made


def system_of(organisation_id: UUID, stated: str) -> str:
    """The system of a number: blank means the organisation's own, whose name is its id."""
    return stated.strip() or str(organisation_id)


def holder(organisation_id: UUID, system: str, number: str) -> Patient | None:
    """Who has this number, or had it before it was retired; he cannot be merged or moved until the transaction ends."""
    named = PatientIdentifier.objects.filter(
        organisation_id=organisation_id, system=system_of(organisation_id, system), value=number.strip()
    )
    while True:
        found = named.order_by("-retired_at", "-pk").first()  # NULL, not retired, comes first when the newest does
        if found is None:
            return None
        patient = share(found.patient_id)
        if PatientIdentifier.objects.filter(pk=found.pk, patient_id=patient.pk).exists():
            return patient  # else a merge moved the number while this waited for it


def share(pk: UUID) -> Patient:
    """The patient, locked against being merged or corrected, but not against other orders."""
    return Patient.objects.raw("SELECT * FROM orders_patient WHERE id = %s FOR SHARE", [pk])[0]


def same(patient: Patient, details: PatientDetails) -> bool:
    """Whether a record and a statement speak of the same person, as far as can be told."""
    return not differences(patient, details)


def differences(patient: Patient, details: PatientDetails) -> list[str]:
    """The fields in which they differ; upper case and white space make no difference."""
    return [field for field in FIELDS if _folded(getattr(patient, field)) != _folded(getattr(details, field))]


FIELDS = ("family_name", "given_name", "birth_date", "sex")


def _folded(value: object) -> object:
    return " ".join(value.split()).casefold() if isinstance(value, str) else value


def asked(order: Order, contradicts: Patient | None) -> IdentityCheck | None:
    """The question that an order is placed with, where its statement contradicts a known record."""
    return ask(order, contradicts) if contradicts is not None else None


def ask(order: Order, known: Patient) -> IdentityCheck:
    """Open the question whether the patient of a submitted order is this known one."""
    return IdentityCheck.objects.create(
        ordering_organisation_id=order.ordering_organisation_id,
        performing_laboratory_id=order.performing_laboratory_id,
        order=order,
        known=known,
        opened_at=clock.now(),
    )


def void(locked: Order, actor: Actor) -> None:
    """End the open question of an order that ended before it was answered."""
    for check in IdentityCheck.objects.select_for_update().filter(order=locked, state="open"):
        audit.transition(IDENTITY_CHECK, check, to="void", actor=actor, decided_at=clock.now())
