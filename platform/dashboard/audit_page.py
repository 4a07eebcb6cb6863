"""The audit tab of an order: events in words, by part, and as CSV."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from accounts.roles import Verb
from audit.models import Event
from casefile import trail
from dashboard.wording import flag, in_full
from foundation.actor import Actor
from orders.models import Order
from reports.spreadsheet import disarmed

HEAD = ("time (UTC)", "time", "who", "from", "what", "object", "object id", "reason", "facts")
_OBJECTS = {
    "orders.order": "order", "orders.intake": "input", "orders.patient": "patient", "orders.patientidentifier": "identifier",
    "orders.specimen": "specimen", "orders.holdrequest": "request to hold", "orders.demotion": "demotion",
    "engine_queue.run": "run", "engine_queue.job": "job", "casefile.draft": "draft", "casefile.comment": "comment",
    "casefile.attachment": "file", "reports.reportversion": "report version",
}  # fmt: skip
_WORDS = {
    "order.viewed": "Looked at the order", "report.viewed": "Looked at the report", "report.downloaded": "Took the report as PDF",
    "results.viewed": "Read the results",
    "results.exported": "Took the results as CSV", "attachment.downloaded": "Opened a file", "intake.viewed": "Looked at the input",
    "audit.viewed": "Looked at the audit trail", "audit.exported": "Took the audit trail as CSV",
    "intake.received": "Input received",
}  # fmt: skip


@dataclass(frozen=True)
class Line:
    """One event in words."""

    event: Event
    what: str
    about: str
    origin: str
    reason: str
    facts: str


def page(actor: Actor, order: Order, asked: Mapping[str, str]) -> dict[str, object]:
    """One page of the trail, its filters, and who looked at the patient."""
    number = int(asked["page"]) if asked.get("page", "").isdecimal() and len(asked["page"]) < 7 else 1
    found = trail.trail(actor, order, part=asked.get("part", ""), page=number)
    parts = [("", "Everything"), *((key, words) for key, (words, _) in trail.PARTS.items()), ("reads", "Who looked")]
    return {
        "order": order,
        "trail": found,
        "lines": [line(event) for event in found.events],
        "parts": [(key, words, f"?{urlencode({'part': key})}" if key else "?", key == found.part) for key, words in parts],
        "looks": trail.looks(actor, order),
        "may_see": actor.may(Verb.VIEW_ORDER, order.performing_laboratory_id),
        "may_export": actor.may(Verb.EXPORT, order.performing_laboratory_id),
    }


def line(event: Event) -> Line:
    """What an event says."""
    words = _WORDS.get(event.action) or event.action.replace("state.", "became ").replace(".", " ").replace("_", " ")
    about = _OBJECTS.get(event.object_type, event.object_type)
    said = ", ".join(f"{name} {_plain(value)}" for name, value in event.facts.items() if value not in ("", None))
    origin = event.origin or ("" if event.actor_id else "a process of the platform")
    return Line(event, words[:1].upper() + words[1:], about, origin, flag(event.reason) if event.reason else "", said)


def as_csv(events: Iterable[Event], zone: ZoneInfo) -> Iterator[str]:
    """The trail for a spreadsheet, oldest first; cells that a spreadsheet would compute are made text."""
    yield _row(HEAD)
    for event in events:
        told = line(event)
        moment = (event.at.isoformat(), in_full(event.at, zone))
        what = (told.what, told.about, event.object_id, event.reason, json.dumps(event.facts, ensure_ascii=False, sort_keys=True))
        yield _row((*moment, event.actor_name, told.origin, *what))


def _row(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out).writerow([disarmed(cell) for cell in cells])
    return out.getvalue()


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
