"""Who is this? A known number with another birth date, sex or name is a question for a person, never an answer."""

from uuid import UUID

from foundation import clock
from orders.models import Patient, PatientIdentifier
from orders.requests import PatientDetails


def identify(details: PatientDetails, *, organisation_id: UUID) -> tuple[Patient, bool]:
    """The patient behind the details, and whether the identity is settled.

    A known identifier with the same demographics is that patient. With different ones, nothing is overwritten or
    linked: a separate record without the identifier is made, and the order waits for an identity check.
    """
    system = details.mrn_system.strip() or str(organisation_id)
    value = details.mrn.strip()
    known = (
        PatientIdentifier.objects.select_related("patient")
        .filter(organisation_id=organisation_id, system=system, value=value)
        .first()
    )
    if known is not None and _same(known.patient, details):
        return known.patient, True
    patient = Patient.objects.create(
        organisation_id=organisation_id,
        family_name=details.family_name.strip(),
        given_name=details.given_name.strip(),
        birth_date=details.birth_date,
        sex=details.sex,
        created_at=clock.now(),
    )
    if known is not None:
        return patient, False
    PatientIdentifier.objects.create(organisation_id=organisation_id, patient=patient, system=system, value=value)
    return patient, True


def _same(patient: Patient, details: PatientDetails) -> bool:
    def fold(name: str) -> str:
        return " ".join(name.split()).casefold()

    return (fold(patient.family_name), fold(patient.given_name), patient.birth_date, patient.sex) == (
        fold(details.family_name),
        fold(details.given_name),
        details.birth_date,
        details.sex,
    )
