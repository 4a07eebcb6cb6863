"""Bundles that are answered, and what is said beside a resource."""

from datetime import datetime
from typing import cast
from urllib.parse import unquote

from django.utils.http import http_date as _http_date

from foundation.reasons import WORDS, Reason
from interop.fhir import outcomes, received
from interop.fhir.asking import Asked
from interop.fhir.elements import Element
from interop.fhir.finding import Page, moment
from interop.fhir.ordering import Taken
from interop.fhir.outcomes import Issue
from interop.fhir.parameters import Asked as Search
from interop.fhir.shown import Resource, filled

_SHOWN = {"Patient": "patient_id", "Specimen": "specimen_id"}


def transaction(bundle: Element, taken: Taken, wanted: Asked, *, told: Resource) -> Resource:
    """One entry for each that was sent, in their order."""
    entries = [_entry(entry, taken, wanted, told) for entry in cast(received.Bundle, bundle).entry]
    return {"resourceType": "Bundle", "type": "transaction-response", "entry": entries}


def searchset(base: str, wanted: Search, page: Page, found: list[Resource]) -> Resource:
    """A page of what was found."""
    links = [{"relation": "self", "url": wanted.link(base, wanted.after)}]
    if page.more:
        links.append({"relation": "next", "url": wanted.link(base, moment(page.rows[-1]))})
    entries = [{"fullUrl": f"{base}/{one['id']}", "resource": one, "search": {"mode": "match"}} for one in found]
    if wanted.ignored:
        entries.append({"resource": outcomes.resource(wanted.ignored), "search": {"mode": "outcome"}})
    return filled(resourceType="Bundle", type="searchset", total=page.total, link=links, entry=entries)


def issues(taken: Taken, wanted: Asked) -> list[Issue]:
    """What has to be known of an order that was taken in: what was left out, and where it waits for a person."""
    found = list(wanted.warnings)
    if taken.order is not None and taken.order.attention:
        found.append(_said(taken.order.attention))
    elif taken.asked is not None and taken.asked.state == "parked":
        found.append(Issue("business-rule", taken.asked.code, taken.asked.words, severity="warning"))
    elif taken.order is None:
        found.append(Issue("informational", str(Reason.FHIR_WAITING), Reason.FHIR_WAITING.words, severity="information"))
    return found or [Issue("informational", str(Reason.FHIR_PLACED), Reason.FHIR_PLACED.words, severity="information")]


def http_date(at: datetime) -> str:
    """As a header writes it."""
    return _http_date(at.timestamp())


def unquoted(text: str) -> str:
    """A value of an address."""
    return unquote(text)


def _said(code: str) -> Issue:
    return Issue("business-rule", code, WORDS[code], severity="warning")


def _entry(entry: received.Entry, taken: Taken, wanted: Asked, told: Resource) -> Resource:
    kind = entry.resource.resourceType
    status = "201 Created" if taken.created else "200 OK"
    if kind == "ServiceRequest":
        etag = f'W/"{told["meta"]["versionId"]}"'
        response: Resource = {"status": status, "location": f"ServiceRequest/{told['id']}", "etag": etag}
        response |= {"lastModified": told["meta"]["lastUpdated"], "outcome": outcomes.resource(issues(taken, wanted))}
        return {"resource": told, "response": response}
    if kind in _SHOWN and taken.order is not None:
        return {"response": {"status": status, "location": f"{kind}/{getattr(taken.order, _SHOWN[kind])}"}}
    return {"response": {"status": "202 Accepted"}}  # it is carried by the order, and is no resource by itself here (yet)
