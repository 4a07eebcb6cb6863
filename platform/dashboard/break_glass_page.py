"""Break-glass on pages: the form, what is open and its banner, and for auditors every opening with what was read under it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from uuid import UUID
from zoneinfo import ZoneInfo

from django.core.paginator import Page, Paginator

from accounts import break_glass
from accounts.break_glass_models import BreakGlass, Kind
from accounts.roles import Verb
from dashboard.patients_page import complaints
from foundation import clock
from foundation.actor import Actor
from foundation.errors import HelicaseError, NotFound, Refused
from inspection import event_words
from orders import emergency
from orders.errors import InvalidOrder
from orders.remarks import LONG, remark
from reports import release

PER_PAGE = 50


@dataclass(frozen=True)
class Row:
    """One opening, as its list and its page say it."""

    grant: BreakGlass
    open: bool

    @property
    def standing(self) -> str:
        """What is to be done about it, in words."""
        if self.open:
            return "open now"
        if self.grant.reviewed_at is None:
            return "waits for a review"
        return "justified" if self.grant.justified else "not justified"


def page(actor: Actor, said: Mapping[str, str] | None = None, error: HelicaseError | None = None) -> dict[str, object]:
    """The form; where something is open, the orders of its patient in the place of it. Raises `NotFound` for who may not."""
    if not actor.organisations(Verb.BREAK_GLASS):
        raise NotFound
    shown: dict[str, object] = {"said": said or {}, "errors": complaints(error) if error else []}
    if actor.opened is None:
        offered = {"laboratories": emergency.laboratories(actor), "kinds": Kind.choices, "most": LONG}
        return shown | offered | {"misses": break_glass.MISSES}
    orders = emergency.opened_orders(actor)
    with_report = [(one, release.released_version(one)) for one in orders]
    return shown | {"orders": with_report, "patient": orders[0].patient if orders else None}


def do(actor: Actor, data: Mapping[str, str]) -> str:
    """Open or end, as the form asks; the words for it."""
    if data.get("do") == "end":
        break_glass.end(actor=actor)
        return "Ended. The laboratory's auditors see what was opened and read."
    emergency.open_for(actor=actor, asked=_asked(data), password=data.get("password", ""))
    return "Opened for an hour. The laboratory's directors and auditors were told."


def listed(actor: Actor, parameters: Mapping[str, str]) -> dict[str, object]:
    """Every opening at one's laboratories, or those that wait for a review. Raises `NotFound` for who audits nothing."""
    if not actor.organisations(Verb.VIEW_AUDIT):
        raise NotFound
    waiting = parameters.get("show") == "waiting"
    rows = emergency.grants(actor)
    unreviewed = rows.filter(reviewed_at=None)
    found: Page[BreakGlass] = Paginator(unreviewed if waiting else rows, PER_PAGE).get_page(parameters.get("page"))
    return {"rows": [_row(one) for one in found], "found": found, "waiting": waiting, "to_review": unreviewed.count()}


def one(actor: Actor, pk: UUID, zone: ZoneInfo, error: HelicaseError | None = None) -> dict[str, object]:
    """One opening: who, whom, why, what was read, how it ended, what was said of it."""
    grant = emergency.grant_for(actor, pk)
    row = _row(grant)
    return {
        "row": row, "grant": grant, "patient": emergency.patient_of(grant), "most": LONG,
        "reads": [event_words.line(event, zone) for event in emergency.reads(actor, grant)],
        "may_review": not row.open and grant.reviewed_at is None and grant.user_id != actor.id,
        "errors": complaints(error) if error else [],
    }  # fmt: skip


def review(actor: Actor, pk: UUID, data: Mapping[str, str]) -> None:
    """Keep what an auditor or director says of it."""
    grant = emergency.grant_for(actor, pk)
    judged = {"yes": True, "no": False}.get(data.get("justified", ""))
    if judged is None:
        raise Refused("Say whether it was justified.", code="breakglass.judgement")
    words = remark(data.get("words", ""), field="words", most=LONG, missing="Say in words why it was justified, or why not.")
    break_glass.review(actor=actor, grant=grant, justified=judged, words=words)


def _row(grant: BreakGlass) -> Row:
    return Row(grant, grant.is_open(clock.now()))


def _asked(data: Mapping[str, str]) -> emergency.Asked:
    wrong: dict[str, list[str]] = {}
    laboratory, born = _laboratory(data), _born(data)
    if laboratory is None:
        wrong["laboratory"] = ["Choose the laboratory that made the reports."]
    if born is None:
        wrong["born"] = ["Give the patient's birth date."]
    if data.get("kind") not in Kind.values:
        wrong["kind"] = ["Choose why you need these reports."]
    if not data.get("number", "").strip():
        wrong["number"] = ["Give the patient's number, exactly as it stands on his papers."]
    if not data.get("words", "").strip():
        wrong["words"] = ["Say in words why you need these reports."]
    if wrong or laboratory is None or born is None:
        raise InvalidOrder(wrong)
    number = data["number"].replace("\0", "").strip()
    return emergency.Asked(laboratory, number, born, Kind(data["kind"]), data["words"].replace("\0", ""))


def _laboratory(data: Mapping[str, str]) -> UUID | None:
    try:
        return UUID(data.get("laboratory", ""))
    except ValueError:
        return None


def _born(data: Mapping[str, str]) -> date | None:
    try:
        return date.fromisoformat(data.get("born", ""))
    except ValueError:
        return None
