"""Downtimes on pages: those of a laboratory, and the reconciliation list of one, with what can be done about it."""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from accounts.models import Organisation
from accounts.roles import Verb
from dashboard import local_time, stages
from dashboard.wording import counted
from foundation.actor import Actor
from foundation.errors import HelicaseError, NotPermitted, Refused
from orders.downtimes import lines, records, selectors
from orders.downtimes.rows import What
from orders.errors import InvalidOrder
from orders.models import Downtime, DowntimeLine, Order
from reports.spreadsheet import disarmed

SHOWN = 500  # lines of a page; the file has all
FIELDS = {
    "laboratory": "Laboratory", "what": "What was down", "words": "Why", "began_at": "From", "ended_at": "To", "entry_days": "Days",
    "note": "How it was settled", "line": "Lines", "kind": "What it is", "accession": "Order",
}  # fmt: skip
HEAD = (
    "kind", "order", "state now", "patient", "mrn", "specimen", "requested at", "entered at", "taken by", "other order", "words",
    "ticked by", "ticked at", "note",
)  # fmt: skip


@dataclass(frozen=True)
class Line:
    """One matter as the list shows it."""

    line: DowntimeLine
    now: str  # where its order stands
    other: str  # where the other one with its number stands


def page(actor: Actor, error: HelicaseError | None = None, typed: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Every downtime of one's laboratories, and the form for another one. Raises `NotPermitted`."""
    if not any(actor.organisations(verb) for verb in selectors.VERBS):
        raise NotPermitted("Your role does not include downtimes.", code="access.not-permitted")
    mine = Organisation.objects.filter(pk__in=actor.organisations(Verb.DOWNTIME), is_laboratory=True).order_by("name")
    return {
        "downtimes": selectors.downtimes(actor)[:100], "laboratories": list(mine), "whats": What.choices,
        "usual": records.USUAL.days, **_refused(error, typed),
    }  # fmt: skip


def one(
    actor: Actor, downtime: Downtime, error: HelicaseError | None = None, typed: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """One downtime with its lines, for who may see orders of its laboratory; for others, how many there are."""
    shown = selectors.lines(actor, downtime)
    sees = actor.may(Verb.VIEW_ORDER, downtime.organisation_id)
    is_open = downtime.state == "open"
    total = downtime.lines.count()
    return {
        "downtime": downtime, "zone": downtime.organisation.zone, "lines": [_line(one) for one in shown[:SHOWN]] if sees else [],
        "sees": sees, "total": total, "left": downtime.lines.filter(ticked_at=None).count(), "more": max(0, total - SHOWN),
        "may_tick": is_open and actor.may(Verb.LATE_ENTRY, downtime.organisation_id),
        "may_close": is_open and actor.may(Verb.DOWNTIME, downtime.organisation_id),
        "may_export": sees and actor.may(Verb.EXPORT, downtime.organisation_id), "usual": records.USUAL.days,
        "by_hand": [("told", "Result or delay told by telephone"), ("noted", "Something else")], **_refused(error, typed),
    }  # fmt: skip


def begin(actor: Actor, data: Mapping[str, str]) -> Downtime:
    """Write a downtime down. Raises what the service raises."""
    laboratories = {str(pk): pk for pk in actor.organisations(Verb.DOWNTIME)}
    only = next(iter(laboratories.values())) if len(laboratories) == 1 else None
    laboratory = laboratories.get(data.get("laboratory", "")) or only
    if laboratory is None:
        raise InvalidOrder({"laboratory": ["Choose the laboratory."]})
    zone = Organisation.objects.get(pk=laboratory).zone
    return records.open_downtime(
        actor=actor, laboratory_id=laboratory, what=data.get("what", ""), words=data.get("words", ""),
        began_at=_moment(data, "began_at", zone), ended_at=_moment(data, "ended_at", zone) if data.get("ended_at") else None,
        entry_days=_days(data),
    )  # fmt: skip


def change(actor: Actor, downtime: Downtime, data: Mapping[str, str], chosen: Iterable[str]) -> str:
    """Do what the form asks; the words that say it is done. Raises what the services raise."""
    match data.get("do", ""):
        case "tick":
            numbers = [int(pk) for pk in chosen if pk.isascii() and pk.isdecimal() and len(pk) < 18]
            ticked = lines.tick(actor=actor, downtime=downtime, chosen=numbers, note=data.get("note", ""))
            return f"{counted(ticked, 'line is', 'lines are')} ticked."
        case "add":
            said = {name: data.get(name, "") for name in ("kind", "accession", "words")}
            lines.add(actor=actor, downtime=downtime, **said)
            return "The line is added."
        case "look":
            return f"{counted(lines.look_again(actor=actor, downtime=downtime), 'new line was', 'new lines were')} found."
        case "end":
            ended_at = _moment(data, "ended_at", downtime.organisation.zone)
            records.end(actor=actor, downtime=downtime, ended_at=ended_at, entry_days=_days(data))
            return "It is written down when the downtime ended."
        case "close":
            records.close(actor=actor, downtime=downtime, words=data.get("words", ""))
            return f"Downtime {downtime.code} is closed."
        case "withdraw":
            records.withdraw(actor=actor, downtime=downtime, words=data.get("words", ""))
            return f"Downtime {downtime.code} is withdrawn."
    raise Refused("The page asked for nothing that can be done.", code="state.stale")


def as_csv(actor: Actor, downtime: Downtime) -> str:
    """The reconciliation list. Raises `NotPermitted` to who may not take it away."""
    if not (actor.may(Verb.EXPORT, downtime.organisation_id) and actor.may(Verb.VIEW_ORDER, downtime.organisation_id)):
        raise NotPermitted("Your role does not allow this (export).", code="access.not-permitted")
    out, zone = io.StringIO(), downtime.organisation.zone
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(HEAD)
    for row in map(_line, selectors.lines(actor, downtime)):
        writer.writerow([disarmed(cell) for cell in _cells(row, zone)])
    return out.getvalue()


def _cells(row: Line, zone: ZoneInfo) -> list[str]:
    line, order, late = row.line, row.line.order, _late(row.line.order)
    who = [order.accession, row.now, str(order.patient), order.stated_mrn, order.specimen.identifier] if order else [""] * 5
    times = [_said(late.requested_at, zone), _said(late.entered_at, zone), late.taken_by_words] if late else [""] * 3
    other = f"{line.other.accession}, {row.other}" if line.other else ""
    return [
        line.get_kind_display(), *who, *times, other, line.words, str(line.ticked_by or ""), _said(line.ticked_at, zone), line.note,
    ]  # fmt: skip


def _said(moment: datetime | None, zone: ZoneInfo) -> str:
    return moment.astimezone(zone).isoformat(timespec="seconds") if moment else ""


def _late(order: Order | None) -> Any:
    return getattr(order, "late_entry", None)


def _line(line: DowntimeLine) -> Line:
    return Line(line, stages.stage(line.order).words if line.order else "", stages.stage(line.other).words if line.other else "")


def _moment(data: Mapping[str, str], name: str, zone: ZoneInfo) -> datetime:
    try:
        return local_time.read(data.get(name, ""), data.get(f"{name}_fold", ""), zone)
    except local_time.Unclear as error:
        raise InvalidOrder({f"{name}_fold" if "came twice" in str(error) else name: [str(error)]}) from error


def _days(data: Mapping[str, str]) -> int:
    text = data.get("entry_days", "") or str(records.USUAL.days)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 5 else 0


def _refused(error: HelicaseError | None, typed: Mapping[str, str] | None) -> dict[str, Any]:
    """What was typed, and what is wrong at each field and in a list above."""
    wrong = {} if error is None else error.fields if isinstance(error, InvalidOrder) else {"": [str(error)]}
    summary = [(name, FIELDS.get(name.removesuffix("_fold"), ""), words) for name, said in wrong.items() for words in said]
    return {"typed": typed or {}, "wrong": wrong, "errors": summary, "did": (typed or {}).get("do", "")}
