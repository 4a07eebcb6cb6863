"""What a reference in an order leads to: another entry, a contained resource, or what is known here already."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar, cast
from uuid import UUID

from foundation.actor import Actor
from foundation.reasons import Reason
from interop.fhir import received
from interop.fhir.elements import Element, Reference
from interop.fhir.outcomes import refused
from interop.fhir.reading import Read
from orders.models import Patient, PatientIdentifier, Specimen
from orders.requests import PatientDetails, SpecimenDetails

R = TypeVar("R", bound=Element)


@dataclass(frozen=True)
class Found:
    """A resource that was sent, and where it stands."""

    resource: Element
    place: str


@dataclass(frozen=True)
class Sent:
    """Everything that was sent, by the address that references use. Whoever is looked up is counted as used."""

    order: received.ServiceRequest
    place: str  # of the order
    by_address: Mapping[str, Found]
    used: set[str]

    def get(self, reference: Reference, kind: type[R], path: str) -> tuple[R, str] | None:
        """The resource and its place, or None where the reference does not lead into what was sent. Raises `FhirError`."""
        address = reference.reference or ""
        found = self.by_address.get(address)
        if found is None and (address.startswith(("#", "urn:")) or not (address or reference.identifier)):
            raise refused(Reason.FHIR_REFERENCE, f"{self.place}.{path}", type="not-found", reference=address or "nothing")
        if found is None:
            return None
        if not isinstance(found.resource, kind):
            raise refused(Reason.FHIR_REFERENCE_KIND, f"{self.place}.{path}", type="value", wanted=kind.__name__)
        self.used.add(address)
        return found.resource, found.place


def sent(read: Read) -> Sent:
    """The order of a body, with what came with it. Raises `FhirError` for addresses that stand twice."""
    if isinstance(read.resource, received.ServiceRequest):
        return Sent(read.resource, "ServiceRequest", _contained(read.resource, "ServiceRequest"), set())
    bundle = cast(received.Bundle, read.resource)
    orders = [number for number, entry in enumerate(bundle.entry) if isinstance(entry.resource, received.ServiceRequest)]
    if len(orders) != 1:
        raise refused(Reason.FHIR_ONE_ORDER, "Bundle.entry", type="business-rule", count=len(orders))
    found: dict[str, Found] = {}
    for number, entry in enumerate(bundle.entry):
        place = f"Bundle.entry[{number}]"
        if entry.fullUrl in found:
            raise refused(Reason.FHIR_ADDRESS_TWICE, f"{place}.fullUrl", type="duplicate", address=entry.fullUrl)
        if entry.request.url != entry.resource.resourceType:
            raise refused(Reason.FHIR_ENTRY_ADDRESS, f"{place}.request.url", type="value", wanted=entry.resource.resourceType)
        found[entry.fullUrl] = Found(entry.resource, f"{place}.resource")
    place = f"Bundle.entry[{orders[0]}].resource"
    order = cast(received.ServiceRequest, bundle.entry[orders[0]].resource)
    used = {bundle.entry[orders[0]].fullUrl}
    return Sent(order, place, {**found, **_contained(order, place)}, used)


def _contained(order: received.ServiceRequest, place: str) -> dict[str, Found]:
    found: dict[str, Found] = {}
    for number, resource in enumerate(order.contained):
        here = f"{place}.contained[{number}]"
        if resource.id is None:
            raise refused(Reason.FHIR_REQUIRED, f"{here}.id", type="required")
        if f"#{resource.id}" in found:
            raise refused(Reason.FHIR_ADDRESS_TWICE, f"{here}.id", type="duplicate", address=f"#{resource.id}")
        found[f"#{resource.id}"] = Found(resource, here)
    return found


def require_all_used(everything: Sent) -> None:
    """What the order does not lead to would be lost. Raises `FhirError`."""
    for address, found in everything.by_address.items():
        if address not in everything.used:
            raise refused(Reason.FHIR_NOT_USED, found.place, type="business-rule", address=address)


def known_patient(actor: Actor, organisation_id: UUID, reference: Reference, place: str) -> PatientDetails:
    """A patient of the ordering organisation, by address or by a number. Raises `FhirError`."""
    in_use = PatientIdentifier.objects.for_actor(actor).filter(organisation_id=organisation_id, retired_at=None)
    rows = in_use.select_related("patient")  # a retired number may be somebody else's by now
    if reference.identifier is not None:
        system = stored_system(reference.identifier.system, organisation_id)
        rows = rows.filter(system=system, value=reference.identifier.value)
    else:
        rows = rows.filter(patient_id=_id(reference, "Patient", place))
    found = rows.order_by("id").first()
    if found is None:
        raise refused(Reason.FHIR_REFERENCE, place, type="not-found", reference=_said(reference))
    patient: Patient = found.patient
    return PatientDetails(
        mrn=found.value,
        mrn_system="" if found.system == str(organisation_id) else found.system,
        family_name=patient.family_name,
        given_name=patient.given_name,
        birth_date=patient.birth_date,
        sex=patient.sex,
    )


def known_specimen(actor: Actor, organisation_id: UUID, reference: Reference, place: str) -> SpecimenDetails:
    """A specimen of an earlier order, by its address. Raises `FhirError`."""
    rows = Specimen.objects.for_actor(actor).filter(organisation_id=organisation_id)
    found: Specimen | None = rows.filter(pk=_id(reference, "Specimen", place)).first()
    if found is None:
        raise refused(Reason.FHIR_REFERENCE, place, type="not-found", reference=_said(reference))
    return SpecimenDetails(identifier=found.identifier, type=found.type, source=found.source, collected_at=found.collected_at)


def stored_system(system: str, organisation_id: UUID) -> str:
    """A patient's identifier system as our rows have it: an organisation's own numbers stand under its bare id."""
    return str(organisation_id) if system == f"urn:uuid:{organisation_id}" else system


def _id(reference: Reference, kind: str, place: str) -> UUID:
    named, _, text = (reference.reference or "").rpartition("/")
    try:
        if named == kind:
            return UUID(text)
    except ValueError:
        pass
    raise refused(Reason.FHIR_REFERENCE, place, type="not-found", reference=_said(reference))


def _said(reference: Reference) -> str:
    return reference.reference or "that number"
