"""Addresses below /fhir/: a table of method, address, right and view. What is none of them is an OperationOutcome, never a page."""

from collections import defaultdict
from dataclasses import dataclass

from django.urls import path, re_path

from accounts.roles import Verb
from interop.fhir import views
from interop.fhir.gate import View, served

_PLACE = (Verb.PLACE, Verb.VIEW_ORDER)  # who places an order reads it in the answer
_SEE = (Verb.VIEW_ORDER,)


@dataclass(frozen=True)
class Route:
    """One thing that can be asked."""

    method: str
    address: str
    verbs: tuple[Verb, ...]  # all of them are needed
    view: View


ROUTES = [
    Route("GET", "/metadata", (), views.metadata),
    Route("POST", "", _PLACE, views.take_bundle),
    Route("POST", "/ServiceRequest", _PLACE, views.take_request),
    Route("GET", "/ServiceRequest", _SEE, views.search("ServiceRequest")),
    Route("GET", "/ServiceRequest/<uuid:pk>", _SEE, views.one("ServiceRequest")),
    Route("GET", "/Task", _SEE, views.search("Task")),
    Route("GET", "/Task/<uuid:pk>", _SEE, views.one("Task")),
    Route("GET", "/DiagnosticReport", _SEE, views.search("DiagnosticReport")),
    Route("GET", "/DiagnosticReport/<uuid:pk>", _SEE, views.one("DiagnosticReport")),
    Route("GET", "/Patient/<uuid:pk>", _SEE, views.patient),
    Route("GET", "/Specimen/<uuid:pk>", _SEE, views.specimen),
]
NAMES = {"": "transaction", "/": "transaction-slash", "/ServiceRequest": "service-requests", "/metadata": "metadata"}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
TAKING = ("fhir:transaction", "fhir:transaction-slash", "fhir:service-requests")  # addresses that take a file


def _patterns() -> list[object]:
    by_address: dict[str, dict[str, Route]] = defaultdict(dict)
    for route in ROUTES:
        by_address[route.address][route.method] = route
    by_address["/"] = by_address[""]  # many clients write a base address with its slash
    found: list[object] = []
    for address, routes in by_address.items():
        view = served({m: r.view for m, r in routes.items()}, {m: r.verbs for m, r in routes.items()})
        found.append(path(f"fhir{address}", view, name=NAMES.get(address)))
    nowhere = served(dict.fromkeys(METHODS, views.nothing), dict.fromkeys(METHODS, ()))
    return [*found, re_path(r"^fhir/", nowhere, name="nothing")]


urlpatterns = _patterns()
app_name = "fhir"
