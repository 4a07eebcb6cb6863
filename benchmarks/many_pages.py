"""What is asked of pages and interfaces over many orders: by people of a large and of a small laboratory, and by a requester."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

PEOPLE = {
    "large": "p0.0@example.org", "small": "p7.0@example.org", "requester": "r3@example.org",
    "large, reception": "p0.1@example.org", "small, reception": "p7.1@example.org", "large, director": "p0.3@example.org",
}  # fmt: skip
REPORTED = 50_000  # orders of a turnaround report
_LISTS: dict[str, dict[str, str]] = {
    "all open": {}, "mine": {"chip": "mine"}, "unassigned": {"chip": "unassigned"}, "running": {"chip": "running"},
    "review": {"chip": "review"}, "at risk": {"chip": "risk"}, "late": {"chip": "late"}, "report overdue": {"chip": "unsigned"},
    "attention": {"chip": "attention"}, "hold": {"chip": "hold"}, "closed": {"chip": "done"},
    "priority": {"priority": "asap"}, "stage": {"state": "in_analysis"}, "nobody": {"assignee": "nobody"},
    "period": {"placed_from": "2026-01-01", "due_to": "2030-01-01"}, "by due time": {"sort": "due"}, "newest": {"sort": "placed"},
    "late of a day, newest": {"chip": "late", "placed_from": "2026-11-20", "sort": "placed"},
}  # fmt: skip
_SEARCHES = {  # found by nearly all, by some, by one, by none
    "accession": "A26", "one accession": "-100123", "record numbers": "77-0001", "name": "aei",
    "two letters": "ae", "nothing": "zzzz",
}  # fmt: skip
_API: dict[str, dict[str, str]] = {
    "newest": {}, "of a state": {"state": "in_analysis"}, "STAT": {"priority": "stat"}, "open": {"open": "true"},
    "closed": {"open": "false"}, "held": {"held": "true"}, "attention": {"attention": "true"}, "200 a page": {"limit": "200"},
    "rejected": {"state": "rejected"}, "no accession": {"accession": "A26-999999"}, "no placer number": {"placer_number": "none"},
}  # fmt: skip


@dataclass(frozen=True)
class Ask:
    """One address that somebody opens."""

    part: str  # of the table of results
    who: str
    name: str
    address: str

    @property
    def key(self) -> str:
        """Of its plans."""
        return f"{self.part} · {self.who} · {self.name}"


@dataclass(frozen=True)
class Known:
    """What of the orders has to be named in an address."""

    order: Any  # of the large laboratory
    own: Any  # that it ordered itself, so that the record of the patient is its own
    deep: Any  # closed, in the middle of the list of its orders
    routine: Any  # open, in the middle of the list of those
    since: datetime  # from then on `REPORTED` orders were placed there, or all of them


def known() -> Known:
    """Read it."""
    from orders.models import Order

    newest = Order.objects.filter(performing_laboratory__code="lab-0").order_by("-placed_at")
    count, closed, waiting = newest.count(), newest.exclude(ended_at=None), newest.filter(ended_at=None, rank=3)
    order = newest.select_related("patient", "specimen")[count // 10]
    own = newest.filter(ordering_organisation__code="lab-0")[count // 100]
    routine = waiting.order_by("report_due")[waiting.count() // 2]
    return Known(order, own, closed[closed.count() // 2], routine, newest[min(count, REPORTED) - 1].placed_at)


def pages(found: Known) -> list[Ask]:
    """All of them, in the order in which a round opens them."""
    parts = (_deep, _reception, _patients, _audit, _turnaround, _interfaces)
    return [*_worklist(), *(ask for part in parts for ask in part(found))]


def _worklist() -> Iterator[Ask]:
    for who in ("large", "small", "requester"):
        for name, query in _LISTS.items():
            yield Ask("worklist", who, name, "/?" + urlencode(query))
        for name, text in _SEARCHES.items():
            yield Ask("search", who, name, "/?" + urlencode({"q": text}))
            yield Ask("search", who, f"closed, {name}", "/?" + urlencode({"q": text, "chip": "done"}))


def _deep(found: Known) -> Iterator[Ask]:
    """A page in the middle of a list, by the place that the link of the page before names."""
    from orders.keys import Cursor

    waiting, closed = found.routine, found.deep
    urgency = Cursor((3, waiting.report_due, waiting.placed_at, waiting.pk), forward=True, number=9001)
    ended = Cursor((closed.ended_at, closed.pk), forward=True, number=9001)
    for who in ("large", "small"):
        yield Ask("worklist", who, "deep page", "/?" + urlencode({"at": str(urgency)}))
        yield Ask("worklist", who, "closed, deep page", "/?" + urlencode({"chip": "done", "at": str(ended)}))


def _reception(found: Known) -> Iterator[Ask]:
    for who in ("large, reception", "small, reception"):
        yield Ask("reception", who, "expected and received", "/specimens/")
        scans = {"label": found.order.specimen.identifier, "no label": "S-none", "accession": found.order.accession}
        for name, text in scans.items():
            yield Ask("reception", who, f"scanned {name}", "/specimens/?" + urlencode({"scan": text}))
        yield Ask("reception", who, "identity checks", "/identity/")


def _patients(found: Known) -> Iterator[Ask]:
    patient = found.order.patient
    for who in ("large, reception", "small, reception", "requester"):
        for name, text in {**_SEARCHES, "whole name": patient.family_name}.items():
            yield Ask("patients", who, name, "/patients/?" + urlencode({"q": text}))
    yield Ask("patient page", "large, reception", "patient", f"/patients/{found.own.patient_id}/")


def _audit(found: Known) -> Iterator[Ask]:
    yield Ask("audit", "large, director", "by accession", "/audit/?" + urlencode({"order": found.order.accession}))
    yield Ask("audit", "large, director", "no accession", "/audit/?order=A26-999999")
    for part in ("", "order", "reads"):
        yield Ask("audit", "large, director", f"trail, {part or 'whole'}", f"/orders/{found.order.pk}/audit?part={part}")
    yield Ask("order page", "large", "order", f"/orders/{found.order.pk}/")


def _turnaround(found: Known) -> Iterator[Ask]:
    days = {"from": f"{found.since:%Y-%m-%d}", "to": f"{found.since + timedelta(days=380):%Y-%m-%d}"}
    for who in ("large", "small"):
        yield Ask("turnaround", who, "usual", "/turnaround/")
        yield Ask("turnaround", who, "long period", "/turnaround/?" + urlencode(days))


def _interfaces(found: Known) -> Iterator[Ask]:
    from interop.api import cursors

    behind = {"after": cursors.cursor(found.deep.placed_at.isoformat(), found.deep.pk)}
    one = {"accession": found.order.accession}, {"placer_number": found.order.placer_number}
    for who in ("large", "small", "requester"):
        for name, query in {**_API, "deep": behind, "one accession": one[0], "one placer number": one[1]}.items():
            yield Ask("API", who, name, "/api/v1/orders?" + urlencode(query))
    for name, value in (("number", found.order.placer_number), ("accession", found.order.accession), ("no number", "none")):
        yield Ask("FHIR", "large", f"orders by {name}", "/fhir/ServiceRequest?" + urlencode({"identifier": value}))
