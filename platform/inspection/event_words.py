"""An event in words: what was done, to what, why, and its facts; ids apart, since they say nothing to a reader."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from audit.models import Event
from reports.wording import words as words_of_code

OBJECTS = {
    "orders.order": "order", "orders.intake": "input", "orders.patient": "patient", "orders.patientidentifier": "identifier",
    "orders.specimen": "specimen", "orders.holdrequest": "request to hold", "orders.demotion": "demotion",
    "engine_queue.run": "run", "engine_queue.job": "job", "casefile.draft": "draft", "casefile.comment": "comment",
    "casefile.attachment": "file", "reports.reportversion": "report version", "inspection.auditreport": "audit report",
    "interop.fhirorder": "request by FHIR", "accounts.breakglass": "break-glass",
    "questions.question": "question", "reports.reportdelivery": "delivery", "reports.critical": "critical result",
}  # fmt: skip
_FACTS = {"from": "before", "to": "now", "items": "records", "nevertheless": "placed nevertheless"}
_NAMING = frozenset({"version", "token", "check", "request", "identifier"})
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d[\d:.]*(Z|[+-]\d\d:\d\d)")
_CODE = re.compile(r"[a-z-]+\.[a-z-]+")  # of a reason
_NAME = re.compile(r"[a-z_]+")  # of a state, a field
_WORDS = {
    "order.viewed": "Looked at the order", "report.viewed": "Looked at the report",
    "report.downloaded": "Took the report as a file",
    "results.viewed": "Read the results",
    "results.exported": "Took the results as CSV", "attachment.downloaded": "Opened a file", "intake.viewed": "Looked at the input",
    "audit.viewed": "Looked at the audit trail", "audit.exported": "Took the audit trail as CSV",
    "audit_report.asked": "Asked for an audit report", "audit_report.viewed": "Looked at an audit report",
    "audit_report.taken": "Took an audit report",
    "patient.viewed": "Looked at the record of the patient", "fhir.viewed": "Looked at the request by FHIR",
    "break_glass.opened": "Opened by break-glass", "break_glass.order_seen": "Saw the order by break-glass",
    "break_glass.ended": "Break-glass ended", "break_glass.reviewed": "Reviewed a break-glass",
    "break_glass.missed": "Found nobody to open by break-glass",
    "delivery.made": "Report is to be delivered", "critical.marked": "Marked as critical",
    "critical.called": "Called with the critical result", "critical.escalated": "Told that nobody has read it back",
    "recipient.named": "Named a recipient of the reports", "recipient.ended": "Took a recipient off",
    "question.viewed": "Looked at the question", "question.downloaded": "Took the answer as a file",
    "question.named_somebody": "Asked a question that named the patient", "intake.received": "Input received",
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


def line(event: Event, zone: ZoneInfo, flag: Callable[[str], str] = words_of_code) -> Line:
    """What an event says, times in `zone`; `flag` gives the words of a reason code."""
    words = _WORDS.get(event.action) or event.action.replace("state.", "became ").replace(".", " ").replace("_", " ")
    about = OBJECTS.get(event.object_type, event.object_type.rpartition(".")[2])
    said: list[str] = []
    ids: list[str] = []
    for name, value in sorted(event.facts.items(), key=lambda fact: fact[0] != "from"):  # what was, before what is
        if value not in ("", None, [], {}):
            label = _FACTS.get(name, name.replace("_", " "))
            (ids if _only_names(name, value) else said).append(f"{label} {_plain(value, zone, flag)}")
    origin = event.origin or ("" if event.actor_id else "a process of the platform")
    reason = flag(event.reason) if event.reason else ""
    return Line(event, words[:1].upper() + words[1:], about, origin, reason, ", ".join(said), ", ".join(ids))


def in_full(moment: datetime, zone: ZoneInfo) -> str:
    """Date, time and zone: "29 Nov 2026 14:07:12 CET"."""
    local = moment.astimezone(zone)
    return f"{local.day} {local:%b %Y %H:%M:%S} {local.tzname()}"


def _only_names(name: str, value: object) -> bool:
    """Whether a fact is an id, a digest or a version, which says nothing to a reader; a dictionary is named by its ids."""
    return name in _NAMING or isinstance(value, dict) or (isinstance(value, str) and bool(_ID.fullmatch(value)))


def _plain(value: object, zone: ZoneInfo, flag: Callable[[str], str]) -> str:
    """A value in words: a state or a code as people say it, a time with its zone."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " and ".join(_plain(one, zone, flag) for one in value)
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if _TIME.fullmatch(value):
        return in_full(datetime.fromisoformat(value), zone)
    if _CODE.fullmatch(value):
        return flag(value).rstrip(".")
    return value.replace("_", " ") if _NAME.fullmatch(value) else value
