"""The resources that we take, with exactly the elements that an order carries."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from interop.api.shapes import Day
from interop.fhir.elements import (
    ELEMENT,
    RESOURCE,
    Base64,
    CodeableConcept,
    Element,
    File,
    HumanName,
    Identifier,
    LongUri,
    Moment,
    Name255,
    OrderExtension,
    Reference,
    Requester,
    Resource,
)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Patient(Resource):
    """Who is tested."""

    left = RESOURCE | _names(
        "telecom deceasedBoolean deceasedDateTime address maritalStatus multipleBirthBoolean"
        " multipleBirthInteger photo contact communication generalPractitioner managingOrganization link"
    )
    resourceType: Literal["Patient"]
    identifier: list[Identifier] = Field(min_length=1, max_length=10)
    active: Literal[True] | None = None
    name: list[HumanName] = Field(min_length=1, max_length=1)
    gender: Literal["male", "female", "other", "unknown"]
    birthDate: Day


class Collection(Element):
    """When and from where it was taken."""

    left = ELEMENT | _names("collector collectedPeriod duration quantity method fastingStatusCodeableConcept fastingStatusDuration")
    collectedDateTime: Moment
    bodySite: CodeableConcept | None = None


class Specimen(Resource):
    """What was taken. `identifier` is the label on the tube."""

    left = RESOURCE | _names("accessionIdentifier receivedTime parent request processing container condition note")
    resourceType: Literal["Specimen"]
    identifier: list[Identifier] = Field(min_length=1, max_length=1)
    status: Literal["available"] | None = None
    type: CodeableConcept
    subject: Reference | None = None
    collection: Collection


class Attachment(Element):
    """The bytes of a file, and what proves them."""

    left = ELEMENT | {"language", "url", "creation"}
    contentType: LongUri | None = None
    data: Base64
    size: Annotated[int, Field(ge=0, strict=True)] | None = None
    hash: Annotated[str, StringConstraints(min_length=28, max_length=28)] | None = None
    title: Name255 | None = None


class DocumentContent(Element):
    """One file."""

    left = ELEMENT | {"format"}
    attachment: Attachment


class DocumentReference(Resource):
    """The variants as a file."""

    left = RESOURCE | _names(
        "masterIdentifier identifier docStatus type category date author authenticator custodian relatesTo"
        " description securityLabel context"
    )
    resourceType: Literal["DocumentReference"]
    status: Literal["current"]
    subject: Reference | None = None
    content: list[DocumentContent] = Field(min_length=1, max_length=1)


class Binary(Element):
    """The variants as a file, without anything about them."""

    left = frozenset({"implicitRules", "language", "securityContext"})
    resourceType: Literal["Binary"]
    id: str | None = None
    contentType: LongUri
    data: Base64


class ServiceRequest(Resource):
    """The order."""

    left = RESOURCE - {"contained", "extension"} | _names(
        "instantiatesCanonical instantiatesUri basedOn replaces requisition category orderDetail"
        " quantityQuantity quantityRatio quantityRange encounter occurrenceDateTime occurrencePeriod"
        " occurrenceTiming asNeededBoolean asNeededCodeableConcept performerType locationCode"
        " locationReference reasonReference insurance bodySite note patientInstruction relevantHistory"
    )
    resourceType: Literal["ServiceRequest"]
    extension: list[OrderExtension] = Field(default=[], max_length=2)
    contained: "list[Contained]" = Field(default=[], max_length=3)
    identifier: list[Identifier] = Field(min_length=1, max_length=1)
    status: Literal["active"]
    intent: Literal["order"]
    priority: Literal["routine", "urgent", "asap", "stat"] = "routine"  # as FHIR says of one that is absent
    doNotPerform: Literal[False] | None = None
    code: CodeableConcept
    subject: Reference
    authoredOn: Moment | None = None
    requester: Requester | None = None
    performer: list[Reference] = Field(default=[], max_length=1)
    reasonCode: list[CodeableConcept] = Field(default=[], max_length=1)
    supportingInfo: list[File] = Field(min_length=1, max_length=1)
    specimen: list[Reference] = Field(min_length=1, max_length=1)


Contained = Annotated[Patient | Specimen | DocumentReference | Binary, Field(discriminator="resourceType")]
Any_ = Annotated[Patient | Specimen | DocumentReference | Binary | ServiceRequest, Field(discriminator="resourceType")]


class EntryRequest(Element):
    """What is to be done with a resource: it is made."""

    left = ELEMENT | {"ifNoneMatch", "ifModifiedSince"}
    method: Literal["POST"]
    url: Literal["Patient", "Specimen", "DocumentReference", "Binary", "ServiceRequest"]
    ifNoneExist: LongUri | None = None


class Entry(Element):
    """One resource of a transaction."""

    left = ELEMENT | {"link"}
    fullUrl: LongUri
    resource: Any_
    request: EntryRequest


class Bundle(Element):
    """A transaction: an order and what it needs, all or nothing."""

    left = frozenset({"implicitRules", "language", "meta", "identifier", "timestamp", "total", "link", "signature"})
    resourceType: Literal["Bundle"]
    id: str | None = None
    type: Literal["transaction"]
    entry: list[Entry] = Field(min_length=1, max_length=10)


ServiceRequest.model_rebuild()
Bundle.model_rebuild()
