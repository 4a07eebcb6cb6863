"""FHIR data types as far as an order carries them. What is not named here is refused, never dropped without a word."""

import re
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from interop.api.shapes import Line80, Line120, Line300
from interop.moments import keepable

_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")
_ID = re.compile(r"[A-Za-z0-9.-]{1,64}")
_PLAIN = r"^[^\x00-\x1f\x7f]+$"
_URI = r"^[^\x00-\x20\x7f]+$"


def _moment(value: Any) -> Any:
    if not isinstance(value, str) or not _INSTANT.fullmatch(value):
        raise ValueError("has to be a date and time with seconds and its offset from UTC, such as 2026-01-15T08:30:00+01:00")
    return value


def _id(value: Any) -> Any:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise ValueError("has to be a FHIR id: letters, digits, “-” and “.”, at most 64")
    return value


Moment = Annotated[datetime, BeforeValidator(_moment), AfterValidator(keepable)]
Id = Annotated[str, BeforeValidator(_id)]
Name80 = Annotated[Line80, StringConstraints(min_length=1)]
Name120 = Annotated[Line120, StringConstraints(min_length=1)]
Name300 = Annotated[Line300, StringConstraints(min_length=1)]
Name255 = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=_PLAIN)]
Uri = Annotated[str, StringConstraints(min_length=1, max_length=120, pattern=_URI)]
LongUri = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=_URI)]
Base64 = Annotated[str, StringConstraints(min_length=4)]
ELEMENT = frozenset({"id", "extension"})
RESOURCE = frozenset({"implicitRules", "language", "text", "contained", "extension"})


class Element(BaseModel):
    """A part of a resource. `left` names what R4 has there and an order does not carry: left out where the sender allows it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    left: ClassVar[frozenset[str]] = ELEMENT


class Extension(Element):
    """One of ours: a text under a name."""

    url: LongUri
    valueString: Name300


class LatePart(Element):
    """One thing that was true when an order was taken on paper: a text, or a moment."""

    url: Literal["downtime", "reason", "words", "takenBy", "received", "condition"]
    valueString: Name300 | None = None
    valueDateTime: Moment | None = None


class OrderExtension(Element):
    """One of ours at an order: a text under a name, or the parts of a late entry."""

    left = ELEMENT - {"extension"}
    url: LongUri
    valueString: Name300 | None = None
    extension: list[LatePart] = Field(default=[], max_length=6)


class Coding(Element):
    """A code of a system."""

    left = ELEMENT | {"userSelected"}
    system: LongUri | None = None
    version: Name80 | None = None
    code: Name80 | None = None
    display: Name300 | None = None


class CodeableConcept(Element):
    """Codes, or words, or both."""

    coding: list[Coding] = Field(default=[], max_length=10)
    text: Name300 | None = None

    def words(self) -> str:
        """What people read: the text, else what a code is called, else the code."""
        named = [said for coding in self.coding for said in (coding.display, coding.code) if said]
        return self.text or (named[0] if named else "")


class Identifier(Element):
    """A number under a system; one that is not in use any more is no number to order under."""

    left = ELEMENT | {"period", "assigner"}
    use: Literal["usual", "official"] | None = None
    type: CodeableConcept | None = None
    system: Uri
    value: Name80


class HumanName(Element):
    """A name a laboratory can print."""

    left = ELEMENT | {"text", "prefix", "suffix", "period"}
    use: Literal["usual", "official"] | None = None
    family: Name120
    given: list[Name120] = Field(min_length=1, max_length=10)


class LogicalIdentifier(Element):
    """A number in the place of an address."""

    left = Identifier.left | {"use", "type"}
    system: Uri
    value: Name120


class Reference(Element):
    """Another resource: by its address, or by a number of it."""

    left = ELEMENT | {"type", "display"}
    reference: LongUri | None = None
    identifier: LogicalIdentifier | None = None


class File(Reference):
    """What stands in `supportingInfo`: the file, and the sample of it that is this specimen."""

    left = Reference.left - {"extension"}
    extension: list[Extension] = Field(default=[], max_length=1)


class Requester(Reference):
    """Who asks."""

    left = ELEMENT | {"type"}
    display: Name300 | None = None


class Meta(Element):
    """Of the sender's own copy: a server sets its own, as FHIR says."""

    left = ELEMENT | {"security", "tag"}
    versionId: Id | None = None
    lastUpdated: Moment | None = None
    source: LongUri | None = None
    profile: list[LongUri] = []


class Narrative(Element):
    """Text that was generated from what is said anyway."""

    status: Literal["generated"]
    div: Annotated[str, StringConstraints(min_length=1, max_length=100_000)]


class Resource(Element):
    """What resources have in common."""

    left = RESOURCE
    id: Id | None = None
    meta: Meta | None = None
    text: Narrative | None = None
