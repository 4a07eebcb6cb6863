"""Every answer is held against the shapes of R4 by fhir.resources, and against our own value sets, which it does not enforce."""

import json
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from interop.fhir import valuesets
from interop.fhir.outcomes import MEDIA_TYPE

CODES = {
    ("ServiceRequest", "status"): valuesets.REQUEST_STATUS,
    ("ServiceRequest", "intent"): valuesets.REQUEST_INTENT,
    ("ServiceRequest", "priority"): valuesets.PRIORITY,
    ("Task", "status"): valuesets.TASK_STATUS,
    ("Task", "priority"): valuesets.PRIORITY,
    ("DiagnosticReport", "status"): valuesets.REPORT_STATUS,
    ("Observation", "status"): valuesets.OBSERVATION_STATUS,
    ("Patient", "gender"): valuesets.GENDER,
    ("Bundle", "type"): valuesets.BUNDLE_TYPE,
}


@cache
def model(kind: str) -> Any:
    """The class of R4B: fhir.resources has no R4, and what we send is the same in both."""
    return getattr(import_module(f"fhir.resources.R4B.{kind.lower()}"), kind)


def require_shape(answer: Any) -> Any:
    """The answer, which holds one valid resource."""
    if answer.content:
        assert answer["Content-Type"] == MEDIA_TYPE, answer["Content-Type"]
        assert "no-store" in answer["Cache-Control"] and not answer.cookies
        require_valid(json.loads(answer.content))
    return answer


def require_valid(resource: dict[str, Any]) -> None:
    """Raises where a resource, or one inside it, is not what R4 says it is."""
    model(resource["resourceType"]).model_validate(resource)
    for one in inside(resource):
        _require_codes(one)


def inside(part: Any) -> Iterator[dict[str, Any]]:
    """Every resource in a resource."""
    if isinstance(part, dict):
        if "resourceType" in part:
            yield part
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from inside(inner)


def _require_codes(resource: dict[str, Any]) -> None:
    kind = resource["resourceType"]
    for (of, name), codes in CODES.items():
        assert of != kind or resource.get(name, codes[0]) in codes, (kind, name, resource.get(name))
    for issue in resource.get("issue", []):
        assert issue["severity"] in valuesets.ISSUE_SEVERITY and issue["code"] in valuesets.ISSUE_TYPE, issue
    for identifier in resource.get("identifier", []) if isinstance(resource.get("identifier"), list) else []:
        assert identifier.get("use", "usual") in valuesets.IDENTIFIER_USE
    for name in resource.get("name", []) if kind == "Patient" else []:
        assert name["use"] in valuesets.NAME_USE
