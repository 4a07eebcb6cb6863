"""From resources to what `orders.services.place` takes: who, what, how urgently, on which file."""

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass, field, replace
from datetime import UTC
from functools import cached_property
from typing import Any, cast
from uuid import UUID

from accounts.providers import providers_for
from accounts.roles import Verb
from foundation.actor import NOBODY, Actor
from foundation.errors import NotFound
from foundation.reasons import Reason
from interop.fhir import late, received, references, systems
from interop.fhir.elements import CodeableConcept, Identifier
from interop.fhir.outcomes import FhirError, Issue, refused
from interop.fhir.reading import Read, dumped
from orders import selectors
from orders.models import Intake
from orders.requests import OrderRequest, OtherNumber, PatientDetails, SpecimenDetails, as_said
from registry.models import TestVersion

_RECORD, _PLACER = "MR", "PLAC"  # of HL7 table 0203
LATE = ("late", "downtime", "taken_by", "late_reason", "late_words", "received_at", "condition")
# where the fields of `InvalidOrder` stand: the resource, and the path in it
FIELDS = {
    "mrn": ("patient", "identifier[0].value"),
    "mrn_system": ("patient", "identifier[0].system"),
    "others": ("patient", "identifier"),
    "family_name": ("patient", "name[0].family"),
    "given_name": ("patient", "name[0].given"),
    "birth_date": ("patient", "birthDate"),
    "sex": ("patient", "gender"),
    "specimen_identifier": ("specimen", "identifier[0].value"),
    "specimen_type": ("specimen", "type"),
    "specimen_source": ("specimen", "collection.bodySite"),
    "collected_at": ("specimen", "collection.collectedDateTime"),
    "priority": ("order", "priority"),
    "stat_reason": ("order", "extension[0].valueString"),
    "indication": ("order", "reasonCode[0]"),
    "intake": ("order", "supportingInfo[0]"),
    "sample": ("order", "supportingInfo[0].extension"),
    "placer_number": ("order", "identifier[0].value"),
    "placer_system": ("order", "identifier[0].system"),
    "provider": ("order", "requester"),
    "requested_at": ("order", "authoredOn"),
    **dict.fromkeys(LATE, ("order", "extension")),
}


@dataclass(frozen=True)
class Asked:
    """An order as it was asked for. `file` is what came with it, `intake` what it leads to: one of the two."""

    request: OrderRequest
    test: TestVersion
    file: bytes | None
    filename: str
    intake: Intake | None
    said: dict[str, Any]
    places: dict[str, str]  # order, patient, specimen → where each stands in the body
    warnings: list[Issue] = field(default_factory=list)

    @cached_property
    def sha256(self) -> str:
        """Of the file."""
        return hashlib.sha256(self.file).hexdigest() if self.file is not None else cast(Intake, self.intake).file.sha256

    @property
    def digest(self) -> str:
        """SHA-256 of everything that was said, file included: the same digest is the same order."""
        at = self.request.specimen.collected_at.astimezone(UTC)  # one moment, in whatever zone it is written
        request = replace(self.request, specimen=replace(self.request.specimen, collected_at=at))
        said = {**as_said(request), "file": self.sha256, "test": str(self.test.definition_id)}
        return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()

    @property
    def without_reason(self) -> "Asked":
        """The same before anybody had said why it is STAT."""
        return replace(self, request=replace(self.request, stat_reason=""))

    def on(self, intake: Intake) -> OrderRequest:
        """The request for a file that is kept."""
        return replace(self.request, intake_id=intake.pk)

    def expression(self, name: str) -> str:
        """Where a field of `InvalidOrder` stands."""
        resource, path = FIELDS.get(name, ("order", ""))
        place = self.places.get(resource)
        return f"{place}.{path}".rstrip(".") if place else f"{self.places['order']}.{_POINTERS[resource]}"


_POINTERS = {"patient": "subject", "specimen": "specimen[0]"}


def asked(read: Read, actor: Actor) -> Asked:
    """Raises `FhirError` with what cannot be understood; what services refuse comes later."""
    everything = references.sent(read)
    order, place = everything.order, everything.place
    organisation_id = ordering(actor, place)
    places, said = {"order": place}, {"ServiceRequest": _kept(order)}
    patient = _patient(actor, organisation_id, everything, places, said)
    specimen = _specimen(actor, organisation_id, everything, places, said)
    test = _test(actor, order, place)
    file, filename, intake = _file(actor, everything, test)
    references.require_all_used(everything)
    placer = _numbered(order.identifier[0], f"{place}.identifier[0]")
    request = OrderRequest(
        intake_id=NOBODY,
        ordering_organisation_id=organisation_id,
        patient=patient,
        specimen=specimen,
        priority=order.priority,
        stat_reason=late.stat_reason(order, place),
        indication=_words(order.reasonCode[0], f"{place}.reasonCode[0]") if order.reasonCode else "",
        sample_confirmed=_extension(
            order.supportingInfo[0].extension, systems.VCF_SAMPLE, f"{place}.supportingInfo[0].extension[0].url"
        ),
        placer_system=placer.system,
        placer_number=placer.value,
        provider_id=_provider(actor, organisation_id, order, f"{place}.requester"),
        late=late.details(order, place),
    )
    return Asked(request, test, file, filename, intake, said, places, read.left_out)


def ordering(actor: Actor, place: str) -> UUID:
    """For whom this token orders. Raises `FhirError` where that is not one organisation."""
    mine = actor.organisations(Verb.PLACE)
    if len(mine) != 1:
        raise refused(Reason.FHIR_ONE_ORGANISATION, place, type="business-rule")
    return next(iter(mine))


def _kept(resource: Any) -> dict[str, Any]:
    return {name: part for name, part in dumped(resource).items() if name not in ("contained", "text", "meta", "id")}


def _patient(
    actor: Actor, organisation_id: UUID, everything: references.Sent, places: dict[str, str], said: dict[str, Any]
) -> PatientDetails:
    found = everything.get(everything.order.subject, received.Patient, "subject")
    if found is None:
        return references.known_patient(actor, organisation_id, everything.order.subject, f"{everything.place}.subject")
    patient, places["patient"] = found
    said["Patient"] = _kept(patient)
    first, *others = _numbers(patient, organisation_id, places["patient"])
    return PatientDetails(
        mrn=first.value,
        mrn_system=first.system,
        others=tuple(others),
        family_name=patient.name[0].family,
        given_name=" ".join(patient.name[0].given),
        birth_date=patient.birthDate,
        sex=patient.gender,
    )


def _numbers(patient: received.Patient, organisation_id: UUID, place: str) -> list[OtherNumber]:
    """Every number of the patient, verbatim; the medical record number before the others, where one is said to be it."""
    found = []
    for index, one in enumerate(patient.identifier):
        coded = [code.code for code in one.type.coding if code.system == systems.IDENTIFIER_TYPE and code.code] if one.type else []
        if one.type and not coded:
            where, wanted = f"{place}.identifier[{index}].type", "only codes of HL7 table 0203 are taken here"
            raise refused(Reason.FHIR_CODE, where, type="code-invalid", detail=wanted)
        own = references.stored_system(one.system, organisation_id) == str(organisation_id)
        kind = "MRN" if coded == [_RECORD] else coded[0] if coded else ""
        found.append(OtherNumber("" if own else one.system, one.value, kind))
    first = next((number for number in found if number.type == "MRN"), found[0])
    return [first, *(number for number in found if number is not first)]


def _specimen(
    actor: Actor, organisation_id: UUID, everything: references.Sent, places: dict[str, str], said: dict[str, Any]
) -> SpecimenDetails:
    reference = everything.order.specimen[0]
    found = everything.get(reference, received.Specimen, "specimen[0]")
    if found is None:
        return references.known_specimen(actor, organisation_id, reference, f"{everything.place}.specimen[0]")
    specimen, places["specimen"] = found
    said["Specimen"] = _kept(specimen)
    _same_subject(specimen, everything, f"{places['specimen']}.subject")
    site = specimen.collection.bodySite
    return SpecimenDetails(
        identifier=specimen.identifier[0].value,
        type=_words(specimen.type, f"{places['specimen']}.type"),
        source=_words(site, f"{places['specimen']}.collection.bodySite") if site else "",
        collected_at=specimen.collection.collectedDateTime,
    )


def _same_subject(resource: received.Specimen | received.DocumentReference, everything: references.Sent, place: str) -> None:
    """A specimen or file of somebody else than the one the order is for is the error that must not pass."""
    if resource.subject is not None and resource.subject != everything.order.subject:
        raise refused(Reason.FHIR_ANOTHER_SUBJECT, place, type="invariant")


def _numbered(identifier: Identifier, place: str) -> Identifier:
    """Its type, where one is said, has to be what the number is taken for. Raises `FhirError`."""
    coded = identifier.type.coding if identifier.type else []
    if identifier.type and [(code.system, code.code) for code in coded] != [(systems.IDENTIFIER_TYPE, _PLACER)]:
        raise refused(Reason.FHIR_CODE, f"{place}.type", type="code-invalid", detail=f"only {_PLACER} is taken here")
    return identifier


def _words(concept: CodeableConcept, place: str) -> str:
    if not concept.words():
        raise refused(Reason.FHIR_REQUIRED, f"{place}.text", type="required")
    return concept.words()


def _extension(extensions: list[Any], url: str, place: str) -> str:
    if not extensions:
        return ""
    if extensions[0].url != url:
        raise refused(Reason.FHIR_NOT_CARRIED, place, type="extension")
    said: str = extensions[0].valueString
    return said


def _test(actor: Actor, order: received.ServiceRequest, place: str) -> TestVersion:
    codes = [code for code in order.code.coding if code.system == systems.TEST]
    if len(codes) != 1 or not codes[0].code:
        raise refused(Reason.FHIR_TEST_CODE, f"{place}.code", type="required", system=systems.TEST)
    laboratory = _performer(order, place)
    number = codes[0].version
    offered = [
        version
        for version in selectors.offered_tests(actor)
        if version.definition.code == codes[0].code
        and laboratory in ("", version.definition.laboratory.code)
        and number in (None, str(version.number))
    ]
    if len({version.definition_id for version in offered}) != 1:
        reason = Reason.FHIR_TEST_AMBIGUOUS if offered else Reason.FHIR_TEST_UNKNOWN
        raise refused(reason, f"{place}.code", type="not-found" if not offered else "multiple-matches", system=systems.ORGANISATION)
    return max(offered, key=lambda version: version.number)


def _performer(order: received.ServiceRequest, place: str) -> str:
    """The code of the laboratory that is named; blank: none is."""
    if not order.performer:
        return ""
    named = order.performer[0].identifier
    if named is None or named.system != systems.ORGANISATION or order.performer[0].reference:
        raise refused(Reason.FHIR_PERFORMER, f"{place}.performer[0]", type="value", system=systems.ORGANISATION)
    return named.value


def _provider(actor: Actor, organisation_id: UUID, order: received.ServiceRequest, place: str) -> UUID | None:
    """The provider with the number of who asks. Where an organisation keeps no providers, who asks is only told again."""
    who = order.requester
    if who is not None and who.reference is not None:
        raise refused(Reason.FHIR_REQUESTER, f"{place}.reference", type="not-supported")
    if who is None or who.identifier is None:
        return None
    here = [provider for provider in providers_for(actor) if provider.organisation_id == organisation_id]
    systems_of = {who.identifier.system, "NPI" if who.identifier.system == systems.NPI else ""} - {""}
    found = [one.pk for one in here if one.identifier == who.identifier.value and one.identifier_system in systems_of]
    if here and not found:
        raise refused(Reason.FHIR_REQUESTER, f"{place}.identifier", type="not-found")
    return found[0] if found else None


def _file(actor: Actor, everything: references.Sent, test: TestVersion) -> tuple[bytes | None, str, Intake | None]:
    """What came with the order, or the upload that it leads to."""
    reference = everything.order.supportingInfo[0]
    place = f"{everything.place}.supportingInfo[0]"
    named = reference.identifier
    if named is not None and named.system == systems.INTAKE and reference.reference is None:
        return None, "", _intake(actor, named.value, test, f"{place}.identifier.value")
    if everything.by_address.get(reference.reference or "", None) and isinstance(
        everything.by_address[reference.reference or ""].resource, received.Binary
    ):
        found = everything.get(reference, received.Binary, "supportingInfo[0]")
        if found is not None:
            return _decoded(found[0].data, f"{found[1]}.data"), "binary.vcf", None
    document = everything.get(reference, received.DocumentReference, "supportingInfo[0]")
    if document is None:
        raise refused(Reason.FHIR_REFERENCE, place, type="not-found", reference=reference.reference or "that number")
    _same_subject(document[0], everything, f"{document[1]}.subject")
    return *_attached(document[0].content[0].attachment, f"{document[1]}.content[0].attachment"), None


def _intake(actor: Actor, text: str, test: TestVersion, place: str) -> Intake:
    try:
        intake = selectors.intake_for(actor, UUID(text))
    except (ValueError, NotFound) as error:
        raise refused(Reason.FHIR_REFERENCE, place, type="not-found", reference="this upload") from error
    if intake.test_version.definition_id != test.definition_id:
        raise refused(Reason.FHIR_ANOTHER_TEST, place, type="invariant")
    return intake


def _attached(attachment: received.Attachment, place: str) -> tuple[bytes, str]:
    content = _decoded(attachment.data, f"{place}.data")
    issues = []
    if attachment.size is not None and attachment.size != len(content):
        issues.append(_differs(f"{place}.size", len(content)))
    if attachment.hash is not None:
        found = base64.b64encode(hashlib.sha1(content).digest()).decode()  # noqa: S324 -- what R4 says an Attachment.hash is
        issues += [] if attachment.hash == found else [_differs(f"{place}.hash", len(content))]
    if issues:
        raise FhirError(422, issues)
    return content, attachment.title or "attachment.vcf"


def _differs(place: str, size: int) -> Issue:
    return Issue("invariant", str(Reason.FHIR_FILE_DIFFERS), Reason.FHIR_FILE_DIFFERS.say(size=f"{size:,}"), place)


def _decoded(text: str, place: str) -> bytes:
    try:
        return base64.b64decode(text.translate({9: None, 10: None, 13: None, 32: None}), validate=True)
    except (binascii.Error, ValueError) as error:
        raise refused(Reason.FHIR_VALUE, place, type="value", detail="it is no base64") from error
