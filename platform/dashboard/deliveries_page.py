"""Who gets the reports of an order, and what is done about a delivery that failed: the page, and its rows on the worklist."""

from collections.abc import Callable, Mapping
from uuid import UUID
from zoneinfo import ZoneInfo

from accounts.providers import providers_of
from accounts.roles import Verb
from dashboard import local_time
from dashboard.local_time import Unclear
from dashboard.patients_page import complaints
from dashboard.same_forms import forms
from foundation import clock
from foundation.actor import Actor
from foundation.errors import HelicaseError, NotFound, Refused
from orders.errors import InvalidOrder
from orders.models import Order
from orders.selectors import order_for
from reports import delivered, delivering, recipients
from reports.delivery_models import MEANS, ReportDelivery

FIELDS = ("person", "provider", "hospital", "address", "told", "means", "told_at", "words", "delivery")


def page(actor: Actor, order: Order, zone: ZoneInfo, typed: Mapping[str, str] | None = None) -> dict[str, object]:
    """Recipients, deliveries, and forms for who may use them."""
    may = actor.may(Verb.DELIVER, order.ordering_organisation_id, order.performing_laboratory_id)
    said, fresh = typed or {}, {"told_at": local_time.shown(clock.now(), zone)}
    shown = delivered.of_order(actor, order)
    sends = actor.may(Verb.DELIVER, order.performing_laboratory_id)
    failed = [line.delivery for line in shown.lines if line.delivery.state == "failed" and sends]
    return {
        "order": order, "deliveries": shown, "may_deliver": may, "means": MEANS, "values": said,
        "failed": forms(failed, sent=said.get("delivery", ""), typed=said, fresh=fresh),
        "providers": providers_of(order.ordering_organisation_id) if may else [],
    }  # fmt: skip


def change(actor: Actor, order: Order, data: Mapping[str, str], zone: ZoneInfo) -> str:
    """Do what was asked for; the words that say it is done."""
    deed = _DEEDS.get(data.get("do", ""))
    if deed is None:
        raise Refused("Choose what to do.", code="delivery.no-deed")
    return deed(actor, order, data, zone)


def refused(actor: Actor, pk: UUID, data: Mapping[str, str], zone: ZoneInfo, error: HelicaseError) -> dict[str, object]:
    """The page again with what was typed and what is wrong."""
    typed = {name: data[name] for name in FIELDS if name in data}
    shown = page(actor, order_for(actor, pk), zone, typed)
    return shown | {"errors": complaints(error), "ask_fold": local_time.asks_back(data.get("told_at", ""), zone)}


def _add(actor: Actor, order: Order, data: Mapping[str, str], zone: ZoneInfo) -> str:
    named = {name: data.get(name, "") for name in ("person", "hospital", "address")}
    made = recipients.add(order=order, actor=actor, provider=_uuid(data.get("provider", "")), **named)
    return f"{made.name} gets the reports of {order.accession} that are issued from now on."


def _end(actor: Actor, order: Order, data: Mapping[str, str], zone: ZoneInfo) -> str:
    number = data.get("recipient", "")
    found = recipients.one_of(order, int(number) if number.isdecimal() and len(number) < 16 else 0)
    recipients.end(recipient=found, actor=actor)
    return f"{found.name} gets no further report of {order.accession}; of a correction of what came before he is still told."


def _again(actor: Actor, order: Order, data: Mapping[str, str], zone: ZoneInfo) -> str:
    found = _delivery(order, data)
    delivering.send_again(delivery=found, actor=actor)
    return f"It is sent to {found.recipient.name} again; its line says what became of it."


def _told(actor: Actor, order: Order, data: Mapping[str, str], zone: ZoneInfo) -> str:
    found = _delivery(order, data)
    try:
        told_at = local_time.read(data["told_at"], data.get("fold", ""), zone) if data.get("told_at") else None
    except Unclear as error:
        raise InvalidOrder({"told_at": [str(error)]}) from error
    said = {name: data.get(name, "") for name in ("told", "means", "words")}
    delivering.told_otherwise(delivery=found, actor=actor, told_at=told_at, **said)
    return f"It is kept that {found.recipient.name} was told in another way."


def _delivery(order: Order, data: Mapping[str, str]) -> ReportDelivery:
    wanted = _uuid(data.get("delivery", ""))
    if wanted is None:
        raise NotFound
    return delivered.of_recipient_on(order, wanted)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


Deed = Callable[[Actor, Order, Mapping[str, str], ZoneInfo], str]
_DEEDS: dict[str, Deed] = {"add": _add, "end": _end, "again": _again, "told": _told}
