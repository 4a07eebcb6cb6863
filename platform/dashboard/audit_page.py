"""The audit tab of an order: events in words, by part, and as CSV."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
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
_FACTS = {"from": "before", "to": "now", "items": "records", "nevertheless": "placed nevertheless"}
_NAMING = frozenset({"version", "token", "check", "request", "identifier"})
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d[\d:.]*(Z|[+-]\d\d:\d\d)")
_CODE = re.compile(r"[a-z-]+\.[a-z-]+")  # of a reason
_NAME = re.compile(r"[a-z_]+")  # of a state, a field
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
    facts: str  # in words
    ids: str  # what only names rows, digests and versions: for a closer look


def page(actor: Actor, order: Order, asked: Mapping[str, str], zone: ZoneInfo) -> dict[str, object]:
    """One page of the trail, its filters, and who looked at the patient."""
    number = int(asked["page"]) if asked.get("page", "").isdecimal() and len(asked["page"]) < 7 else 1
    found = trail.trail(actor, order, part=asked.get("part", ""), page=number)
    parts = [("", "Everything"), *((key, words) for key, (words, _) in trail.PARTS.items()), ("reads", "Who looked")]
    return {
        "order": order,
        "trail": found,
        "lines": [line(event, zone) for event in found.events],
        "parts": [(key, words, f"?{urlencode({'part': key})}" if key else "?", key == found.part) for key, words in parts],
        "looks": trail.looks(actor, order),
        "may_see": actor.may(Verb.VIEW_ORDER, order.performing_laboratory_id),
        "may_export": actor.may(Verb.EXPORT, order.performing_laboratory_id),
    }


def line(event: Event, zone: ZoneInfo) -> Line:
    """What an event says."""
    words = _WORDS.get(event.action) or event.action.replace("state.", "became ").replace(".", " ").replace("_", " ")
    about = _OBJECTS.get(event.object_type, event.object_type)
    said: list[str] = []
    ids: list[str] = []
    for name, value in sorted(event.facts.items(), key=lambda fact: fact[0] != "from"):  # what was, before what is
        if value not in ("", None, [], {}):
            label = _FACTS.get(name, name.replace("_", " "))
            (ids if _only_names(name, value) else said).append(f"{label} {_plain(value, zone)}")
    origin = event.origin or ("" if event.actor_id else "a process of the platform")
    reason = flag(event.reason) if event.reason else ""
    return Line(event, words[:1].upper() + words[1:], about, origin, reason, ", ".join(said), ", ".join(ids))


def _only_names(name: str, value: object) -> bool:
    """Whether a fact is an id, a digest or a version, which says nothing to a reader; a dictionary is named by its ids."""
    return name in _NAMING or isinstance(value, dict) or (isinstance(value, str) and bool(_ID.fullmatch(value)))


def as_csv(events: Iterable[Event], zone: ZoneInfo) -> Iterator[str]:
    """The trail for a spreadsheet, oldest first; cells that a spreadsheet would compute are made text."""
    yield _row(HEAD)
    for event in events:
        told = line(event, zone)
        moment = (event.at.isoformat(), in_full(event.at, zone))
        what = (told.what, told.about, event.object_id, event.reason, json.dumps(event.facts, ensure_ascii=False, sort_keys=True))
        yield _row((*moment, event.actor_name, told.origin, *what))


def _row(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out).writerow([disarmed(cell) for cell in cells])
    return out.getvalue()


def _plain(value: object, zone: ZoneInfo) -> str:
    """A value in words: a state or a code as people say it, a time with its zone."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " and ".join(_plain(one, zone) for one in value)
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if _TIME.fullmatch(value):
        return in_full(datetime.fromisoformat(value), zone)
    if _CODE.fullmatch(value):
        return flag(value).rstrip(".")
    return value.replace("_", " ") if _NAME.fullmatch(value) else value
