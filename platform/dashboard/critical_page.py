"""Critical results of an order: marked by a reviewer, called until somebody has read them back."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from accounts.roles import Verb
from dashboard import local_time
from dashboard.local_time import Unclear
from dashboard.patients_page import complaints
from dashboard.same_forms import forms
from foundation import clock
from foundation.actor import Actor
from foundation.errors import HelicaseError, NotFound, Refused
from orders.errors import InvalidOrder
from orders.machines import IN_ERROR
from orders.models import Order
from orders.selectors import order_for
from reports import critical
from reports.critical_notices import WITHIN
from reports.delivery_models import Outcome
from reports.release import may_see_scores

TYPED = ("result", "reason", "whom", "number", "outcome", "read_back", "called_at", "words", "critical")


def page(actor: Actor, order: Order, zone: ZoneInfo, typed: Mapping[str, str] | None = None) -> dict[str, object]:
    """What is critical, every call, and the forms for who may use them."""
    laboratory, found = order.performing_laboratory_id, critical.of_order(order)
    said, fresh = typed or {}, {"called_at": local_time.shown(clock.now(), zone)}
    to_call = [one for one in found if one.state == "open" and actor.may(Verb.CALL_CRITICAL, laboratory)]
    return {
        "order": order, "criticals": found, "contacts": critical.contacts(order), "values": said,
        "to_call": forms(to_call, sent=said.get("critical", ""), typed=said, fresh=fresh),
        "may_mark": actor.may(Verb.MARK_CRITICAL, laboratory) and order.items_done > 0 and order.state != IN_ERROR,
        "outcomes": Outcome.choices, "within": int(WITHIN.total_seconds() // 60),
    }  # fmt: skip


def may_know(actor: Actor, order: Order) -> bool:
    """Whether this person may know that a result is critical: who may see it, and who calls with it."""
    return may_see_scores(actor, order) or actor.may(Verb.CALL_CRITICAL, order.performing_laboratory_id)


def of_order(actor: Actor, order: Order) -> dict[str, object]:
    """What the order's page says of it."""
    laboratory = order.performing_laboratory_id
    return {
        "criticals": critical.of_order(order) if may_know(actor, order) else [],
        "may_mark": actor.may(Verb.MARK_CRITICAL, laboratory) and order.items_done > 0 and order.state != IN_ERROR,
        "may_call": actor.may(Verb.CALL_CRITICAL, laboratory),
    }


def change(actor: Actor, order: Order, data: Mapping[str, str], zone: ZoneInfo) -> str:
    """Mark, or keep a call; the words that say it is done."""
    match data.get("do", ""):
        case "mark":
            made = critical.mark(order=order, actor=actor, reason=data.get("reason", ""), ordinal=_ordinal(data))
            return f"{made.what.capitalize()} of {order.accession} is marked as critical. Call now."
        case "call":
            return _call(actor, order, data, zone)
    raise Refused("Choose what to do.", code="critical.no-deed")


def refused(actor: Actor, pk: UUID, data: Mapping[str, str], zone: ZoneInfo, error: HelicaseError) -> dict[str, object]:
    """The page again with what was typed and what is wrong."""
    typed = {name: data[name] for name in TYPED if name in data}
    shown = page(actor, order_for(actor, pk), zone, typed)
    return shown | {"errors": complaints(error), "ask_fold": local_time.asks_back(data.get("called_at", ""), zone)}


def _call(actor: Actor, order: Order, data: Mapping[str, str], zone: ZoneInfo) -> str:
    try:
        found = critical.one_of(order, UUID(data.get("critical", "")))
    except ValueError:
        raise NotFound from None
    said = {name: data.get(name, "") for name in ("whom", "number", "outcome", "read_back", "words")}
    made = critical.call(critical=found, actor=actor, called_at=_moment(data, zone), **said)
    if made.outcome == Outcome.READ_BACK:
        return "The call is kept, and it was read back: nothing is left to do."
    return "The call is kept. It stays open until somebody has read it back."


def _moment(data: Mapping[str, str], zone: ZoneInfo) -> datetime | None:
    if not data.get("called_at"):
        return None
    try:
        return local_time.read(data["called_at"], data.get("fold", ""), zone)
    except Unclear as error:
        raise InvalidOrder({"called_at": [str(error)]}) from error


def _ordinal(data: Mapping[str, str]) -> int | None:
    text = data.get("result", "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and int(text[:9]) > 0 and len(text) < 9):
        raise InvalidOrder({"result": ["Give the number that the result has in the report, or leave it empty."]})
    return int(text) - 1
