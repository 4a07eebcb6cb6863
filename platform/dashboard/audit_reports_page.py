"""Audit reports on pages: what can be asked, what was, how far it is, and its first rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from accounts.models import Organisation
from accounts.roles import Verb
from foundation.actor import Actor
from foundation.errors import Refused
from inspection import asking, selectors, services
from inspection.errors import InvalidAsked
from inspection.kinds import BY_CODE, KINDS
from inspection.models import AuditReport

STATES = {"queued": "Waiting", "running": "Being made", "made": "Made", "failed": "Not made", "withdrawn": "Withdrawn"}
MARKS = {"queued": "", "running": "urgent", "made": "ok", "failed": "stat", "withdrawn": ""}
WHY = {
    "audit.report-failed": "Three workers stopped while making it. Ask for a shorter period, and tell the operator.",
    "audit.report-too-long": "It took longer than half an hour. Ask for a shorter period.",
}


@dataclass(frozen=True)
class Field:
    """One field of the form."""

    name: str
    label: str
    value: str
    errors: list[str]
    type: str  # of the input
    choices: Sequence[str] = ()  # offered as one types


def listed(actor: Actor) -> dict[str, object]:
    """The kinds that can be asked for, and the last reports."""
    return {"kinds": KINDS, "rows": [row(report) for report in selectors.newest(actor)]}


def row(report: AuditReport) -> dict[str, object]:
    """One report in words."""
    return {
        "report": report, "kind": BY_CODE[report.kind].title, "state": STATES[report.state], "mark": MARKS[report.state],
        "open": report.state in AuditReport.WORKING, "part": _part(report),
    }  # fmt: skip


def form(actor: Actor, code: str, typed: Mapping[str, str], wrong: Mapping[str, list[str]] | None = None) -> dict[str, object]:
    """The form of one kind, with what was typed, for somebody who audits a laboratory."""
    mine = selectors.laboratories(actor)
    kind = BY_CODE.get(code, KINDS[0])
    here = _laboratory(mine, typed.get("laboratory", ""))
    fields = [_field(here, name, typed, wrong or {}) for name in kind.needs]
    return {
        "kind": kind, "fields": fields, "laboratories": mine, "here": here,
        "errors": [(field.name, field.label, error) for field in fields for error in field.errors],
        "refused": (wrong or {}).get("", []),
    }  # fmt: skip


def sent(actor: Actor, code: str, typed: Mapping[str, str]) -> tuple[AuditReport | None, dict[str, object]]:
    """The report that was asked for; or None, and the form again with what has to be corrected."""
    mine = selectors.laboratories(actor)
    try:
        laboratory = _laboratory(mine, typed.get("laboratory", ""))
        return services.ask(actor=actor, laboratory_id=laboratory.pk, kind=code, typed=typed), {}
    except InvalidAsked as error:
        return None, form(actor, code, typed, error.fields)
    except services.TooMany as error:
        return None, form(actor, code, typed, {"": [str(error)]})


def shown(actor: Actor, pk: UUID) -> dict[str, object]:
    """One report: how far it is, or its facts and first rows."""
    report = selectors.report_for(actor, pk)
    return {
        **row(report), "shown": report.shown, "tables": [_table(one) for one in report.shown.get("tables", [])],
        "may_export": actor.may(Verb.EXPORT, report.organisation_id),
        "why": _why(report), "again": urlencode({name: _typed(value) for name, value in report.asked.items()}),
    }  # fmt: skip


def _table(kept: Mapping[str, Any]) -> dict[str, Any]:
    """A table as it was kept, each cell with the name of its column: on a telephone a row is a block."""
    return {**kept, "first": [list(zip(kept["columns"], cells, strict=True)) for cells in kept["first"]]}


def withdraw(actor: Actor, pk: UUID) -> str:
    """What is said of it afterwards."""
    report = selectors.report_for(actor, pk)
    try:
        services.withdraw(actor=actor, report=report)
    except Refused as error:
        return str(error)
    return f"{report.short} is withdrawn."


def _part(report: AuditReport) -> str:
    if report.state != "running" or not report.rows_done:
        return ""
    of = f" of about {report.rows_total:,}" if report.rows_total else ""
    return f"{report.rows_done:,}{of} rows"


def _why(report: AuditReport) -> str:
    if report.state != "failed":
        return ""
    return WHY["audit.report-failed" if report.tries >= 3 else "audit.report-too-long"]


def _laboratory(mine: Sequence[Organisation], code: str) -> Organisation:
    return next((one for one in mine if one.code == code), mine[0])


def _field(here: Organisation, name: str, typed: Mapping[str, str], wrong: Mapping[str, list[str]]) -> Field:
    day = name in ("since", "until")
    value = typed.get(name, "") or (asking.today_in(here.zone).isoformat() if name == "until" else "")
    choices = [str(one) for one in asking.models_of(here)] if name == "model" else ()
    return Field(name, asking.LABELS[name], value, list(wrong.get(name, [])), "date" if day else "text", choices)


def _typed(value: Any) -> str:
    """What somebody types to mean the same."""
    if not isinstance(value, dict):
        return str(value)
    words = str(value["words"])
    return words.rpartition("(")[2].rstrip(")") if "@" in words else words.rpartition(", ")[2]
