"""Search parameters: what each resource is found by; what is not among them is refused, or left out where the sender allows it."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest

from foundation.errors import NotFound
from foundation.reasons import Reason
from interop.fhir.finding import Number, Wanted
from interop.fhir.outcomes import FhirError, Issue, refused
from interop.moments import in_utc

SEARCHED = {  # resource → search parameter → (type, what it means)
    "ServiceRequest": {
        "_id": ("token", "the id"),
        "identifier": ("token", "the sender's number of the order, or our accession"),
        "patient.identifier": ("token", "a number of the patient"),
    },
    "Task": {
        "_id": ("token", "the id"),
        "identifier": ("token", "the sender's number of the order, or our accession"),
        "focus": ("reference", "the ServiceRequest"),
    },
    "DiagnosticReport": {
        "_id": ("token", "the id"),
        "identifier": ("token", "our accession, or the sender's number of the order"),
        "based-on": ("reference", "the ServiceRequest"),
    },
}
_REFERENCES = {"focus": "ServiceRequest", "based-on": "ServiceRequest"}
_COUNT, _MOST, _CURSOR = 50, 200, "_cursor"
_OF_THE_ANSWER = {"_count", "_format", _CURSOR}


@dataclass(frozen=True)
class Asked:
    """What an address asks for."""

    wanted: Wanted
    limit: int
    after: tuple[datetime, UUID] | None
    said: dict[str, str]  # the parameters that were used, for the link to itself
    ignored: list[Issue]

    def link(self, base: str, after: tuple[datetime, UUID] | None = None) -> str:
        """The address of this page, or of the one behind a row."""
        behind = {_CURSOR: _written(after)} if after else {}
        return f"{base}?{urlencode({**self.said, **behind})}"


def read(request: HttpRequest, kind: str) -> Asked:
    """The parameters of a search. Raises `FhirError`: 400 for what cannot be understood."""
    given = {name: request.GET.getlist(name) for name in request.GET}
    unknown = [name for name in given if name not in SEARCHED[kind] and name not in _OF_THE_ANSWER]
    strict = not handled(request, "lenient")
    issues = [_unknown(name, kind, "error" if strict else "warning") for name in unknown]
    if unknown and strict:
        raise FhirError(400, issues)
    values = {name: _one(name, said) for name, said in given.items() if name not in unknown}
    criteria = {name: text for name, text in values.items() if name in SEARCHED[kind]}
    if not criteria:
        raise refused(Reason.FHIR_SEARCH_NOTHING, "", type="required", status=400, names=", ".join(SEARCHED[kind]))
    limit = _count(values.get("_count"))
    after = _read(values[_CURSOR]) if _CURSOR in values else None
    said = {name: text for name, text in values.items() if name != _CURSOR}
    return Asked(_wanted(criteria), limit, after, said, issues)


def handled(request: HttpRequest, how: str) -> bool:
    """Whether the Prefer header asks for `handling=…`."""
    return preferred(request, "handling") == how


def preferred(request: HttpRequest, name: str) -> str:
    """What the Prefer header says of a preference; blank: nothing."""
    said = (part.strip().partition("=") for part in request.headers.get("Prefer", "").replace(";", ",").split(","))
    return next((value.strip('"') for key, _, value in said if key.strip() == name), "")


def number(text: str, name: str) -> Number:
    """A token search: `system|value`, `|value` or `value`. Raises `FhirError`."""
    system, bar, value = text.rpartition("|")
    if not value or "\0" in text or len(text) > 300:
        raise _bad(name)
    return Number(value, system if bar else None)


def _wanted(criteria: Mapping[str, str]) -> Wanted:
    found: list[UUID] = []
    for name, text in criteria.items():
        if name == "_id" or name in _REFERENCES:
            found.append(_id(text, name))
    if len(set(found)) > 1:
        raise NotFound
    return Wanted(
        pk=found[0] if found else None,
        identifier=number(criteria["identifier"], "identifier") if "identifier" in criteria else None,
        patient=number(criteria["patient.identifier"], "patient.identifier") if "patient.identifier" in criteria else None,
    )


def _id(text: str, name: str) -> UUID:
    kind, slash, rest = text.rpartition("/")
    if slash and kind.rpartition("/")[2] != _REFERENCES.get(name):
        raise _bad(name)
    try:
        return UUID(rest)
    except ValueError as error:
        raise _bad(name) from error


def _one(name: str, said: list[str]) -> str:
    if len(said) != 1:
        raise _bad(name)
    return said[0]


def _count(text: str | None) -> int:
    if text is None:
        return _COUNT
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise _bad("_count")
    return min(int(text), _MOST)


def _written(after: tuple[datetime, UUID]) -> str:
    return base64.urlsafe_b64encode(f"{after[0].isoformat()}|{after[1]}".encode()).decode().rstrip("=")


def _read(text: str) -> tuple[datetime, UUID]:
    try:
        at, _, pk = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().partition("|")
        return in_utc(datetime.fromisoformat(at)), UUID(pk)
    except (binascii.Error, UnicodeDecodeError, ValueError) as error:
        raise _bad(_CURSOR) from error


def _bad(name: str) -> FhirError:
    return refused(Reason.FHIR_SEARCH_VALUE, "", type="value", status=400, name=name)


def _unknown(name: str, kind: str, severity: str) -> Issue:
    words = Reason.FHIR_SEARCH_UNKNOWN.say(name=name[:80], kind=kind, names=", ".join(SEARCHED[kind]))
    return Issue("not-supported", str(Reason.FHIR_SEARCH_UNKNOWN), words, severity=severity)
