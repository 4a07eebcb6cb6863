"""What must be true of a request before an order can come of it. Collects every objection, field by field."""

from collections import defaultdict
from datetime import date, timedelta
from uuid import UUID

from accounts.roles import Verb
from foundation import clock
from foundation.actor import Actor
from foundation.printable import is_printable
from orders.downtimes import late
from orders.errors import InvalidOrder
from orders.models import Intake, Sex
from orders.parties import Parties, objections
from orders.requests import OrderRequest, PatientDetails, SpecimenDetails
from registry.priority import Priority

OLDEST = date(1900, 1, 1)
CLOCK_SKEW = timedelta(minutes=5)
Objections = defaultdict[str, list[str]]


def validate(request: OrderRequest, *, actor: Actor, intake: Intake | None, who: Parties | None) -> None:
    """Raise `InvalidOrder` with every objection, or return. Without an intake there is one objection more, and no `who`."""
    fields: Objections = defaultdict(list)
    _patient(request.patient, fields)
    _specimen(request.specimen, request.patient, fields)
    _priority(request, actor, fields)
    _intake(request, intake, fields)
    for name, message in (who.objections if who else {}).items():
        fields[name].append(message)
    _late(request, actor, intake.performing_laboratory_id if intake else None, fields)
    if fields:
        raise InvalidOrder(dict(fields))


def validate_said(request: OrderRequest, *, actor: Actor, laboratory_id: UUID) -> None:
    """The part of `validate` that needs no file: what is wrong is told before anything is kept."""
    fields: Objections = defaultdict(list)
    _patient(request.patient, fields)
    _specimen(request.specimen, request.patient, fields)
    _priority(request, actor, fields)
    for name, message in objections(request).items():
        fields[name].append(message)
    _late(request, actor, laboratory_id, fields)
    if fields:
        raise InvalidOrder(dict(fields))


def _text(value: str, name: str, label: str, limit: int, fields: Objections, *, required: bool = True) -> None:
    if required and not value.strip():
        fields[name].append(f"{label} is missing.")
    if len(value) > limit:
        fields[name].append(f"{label} is longer than {limit} characters.")
    if not is_printable(value):
        fields[name].append(f"{label} holds control characters.")


def _patient(patient: PatientDetails, fields: Objections) -> None:
    _text(patient.mrn, "mrn", "The MRN", 80, fields)
    _text(patient.family_name, "family_name", "The family name", 120, fields)
    _text(patient.given_name, "given_name", "The given name", 120, fields)
    for one in patient.others:
        _text(one.value, "others", "A further number of the patient", 80, fields)
        _text(one.system, "others", "The system of a further number", 120, fields)
        _text(one.type, "others", "The type of a further number", 20, fields, required=False)
    if not OLDEST <= patient.birth_date <= clock.now().date() + timedelta(days=1):
        fields["birth_date"].append("The birth date must lie between 1900 and today.")
    if patient.sex not in Sex.values:
        fields["sex"].append("Choose one of the listed values.")


def _specimen(specimen: SpecimenDetails, patient: PatientDetails, fields: Objections) -> None:
    _text(specimen.identifier, "specimen_identifier", "The specimen label", 80, fields)
    _text(specimen.type, "specimen_type", "The specimen type", 80, fields)
    _text(specimen.source, "specimen_source", "The source", 120, fields, required=False)
    if specimen.collected_at > clock.now() + CLOCK_SKEW:
        fields["collected_at"].append("The collection time lies in the future.")
    elif specimen.collected_at.date() + timedelta(days=1) < patient.birth_date:
        fields["collected_at"].append("The collection time lies before the patient's birth.")


def _priority(request: OrderRequest, actor: Actor, fields: Objections) -> None:
    if request.priority not in Priority.values:
        fields["priority"].append("Choose STAT, ASAP, urgent or routine.")
    if request.priority == Priority.STAT and not actor.may(Verb.STAT, request.ordering_organisation_id):
        fields["priority"].append("Your role does not allow STAT orders.")
    _text(request.stat_reason, "stat_reason", "The STAT reason", 300, fields, required=False)
    _text(request.indication, "indication", "The indication", 300, fields, required=False)
    _text(request.placer_number, "placer_number", "The placer number", 80, fields, required=False)
    _text(request.placer_system, "placer_system", "The system of the placer number", 120, fields, required=False)


def _late(request: OrderRequest, actor: Actor, laboratory_id: UUID | None, fields: Objections) -> None:
    for name, messages in late.objections(request, actor, laboratory_id).items():
        fields[name] += messages


def _intake(request: OrderRequest, intake: Intake | None, fields: Objections) -> None:
    if intake is None:
        fields["intake"].append("There is no file to score.")
        return
    if intake.state != "ready":
        fields["intake"].append("The file has not been checked and found usable.")
    elif not intake.counts.get("accepted"):
        fields["intake"].append("Nothing in the file can be scored.")
    takes = intake.test_version.accepts
    if intake.kind not in ("", *takes):
        fields["intake"].append(f"The file is {intake.kind.upper()}; this test takes {', '.join(takes).upper()}.")
    if intake.ordering_organisation_id != request.ordering_organisation_id:
        fields["intake"].append("The file was uploaded for another organisation.")
    if intake.reference_digest != intake.test_version.reference.digest or not intake.test_version.offered:
        fields["intake"].append("The test has changed since the file was checked. Upload it again.")
    if len(intake.samples) > 1 and request.sample_confirmed != intake.sample:
        fields["sample"].append("Confirm the sample of the file that belongs to this specimen.")
