"""The CapabilityStatement: made from what is routed and read, so that it says no more than is served."""

from interop.fhir import valuesets
from interop.fhir.outcomes import MEDIA_TYPE
from interop.fhir.parameters import SEARCHED
from interop.fhir.shown import Resource, filled

DATE = "2026-12-01"
READ = ("ServiceRequest", "Task", "DiagnosticReport", "Patient", "Specimen")
CREATED = ("ServiceRequest",)
PRIORITY = f"Priorities are {', '.join(valuesets.PRIORITY)}; none is routine, any other is refused."


def statement(base: str) -> Resource:
    """What this server does."""
    return {
        "resourceType": "CapabilityStatement",
        "status": "active",
        "date": DATE,
        "kind": "instance",
        "implementation": {"description": "Helicase: orders of DNA language model tests", "url": base},
        "software": {"name": "Helicase"},
        "fhirVersion": "4.0.1",
        "format": [MEDIA_TYPE, "json"],
        "rest": [
            {
                "mode": "server",
                "documentation": "docs/fhir.md. A transaction holds one ServiceRequest with Patient, Specimen and a file.",
                "security": {"description": "A token in the header: Authorization: Bearer hct_…"},
                "resource": [_resource(kind) for kind in READ],
                "interaction": [{"code": "transaction"}],
            }
        ],
    }


def _resource(kind: str) -> Resource:
    codes = ["read", *(["search-type"] if kind in SEARCHED else []), *(["create"] if kind in CREATED else [])]
    found = [{"name": name, "type": type_, "documentation": words} for name, (type_, words) in SEARCHED.get(kind, {}).items()]
    return filled(
        type=kind,
        documentation=PRIORITY if kind == "ServiceRequest" else None,
        interaction=[{"code": code} for code in codes],
        versioning="versioned" if kind in SEARCHED else "no-version",
        conditionalCreate=True if kind in CREATED else None,
        searchParam=found,
    )
