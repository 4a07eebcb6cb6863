"""Priority and hold of an order, from its page: what this person may change, and what he asked for."""

from collections.abc import Mapping
from uuid import UUID

from accounts.roles import Verb
from foundation.actor import Actor
from foundation.errors import HelicaseError, Refused
from orders import urgency
from orders.errors import InvalidOrder
from orders.models import Order
from orders.selectors import order_for
from registry.priority import Priority

DONE = {"priority": "Order {} has another priority now.", "hold": "Order {} is on hold.", "release": "Order {} goes on."}


def change(*, actor: Actor, order: Order, data: Mapping[str, str]) -> str:
    """Do what the form asks; the words that say it is done."""
    seen, deed = data.get("edits", ""), data.get("do", "")
    edits = int(seen) if seen.isdecimal() and len(seen) < 10 else 0
    match deed:
        case "priority":
            reason, priority = data.get("reason", "")[:300], data.get("priority", "")
            urgency.change_priority(order=order, priority=priority, reason=reason, actor=actor, expected_edits=edits)
        case "hold":
            urgency.hold(order=order, reason=data.get("hold", ""), actor=actor, expected_edits=edits)
        case "release":
            urgency.release(order=order, actor=actor, expected_edits=edits)
        case _:
            raise Refused("The page asked for nothing that can be done.", code="order.unknown-deed")
    return DONE[deed].format(order.accession)


def form(actor: Actor, order: Order) -> dict[str, object]:
    """What the page offers."""
    parties = (order.ordering_organisation_id, order.performing_laboratory_id)
    is_open, stat = order.state in Order.OPEN, actor.may(Verb.STAT, *parties)
    others = [priority for priority in Priority if priority != order.priority and (stat or priority != Priority.STAT)]
    return {
        "order": order,
        "may_promote": is_open and actor.may(Verb.PROMOTE, *parties),
        "may_hold": is_open and actor.may(Verb.HOLD, *parties),
        "priorities": [priority.value for priority in others],
        "holds": [(str(reason), reason.words) for reason in urgency.HOLD_REASONS],
    }


def may_change(actor: Actor, order: Order) -> bool:
    """Whether there is anything on that page for this person."""
    offered = form(actor, order)
    return bool(offered["may_promote"] or offered["may_hold"])


def refused(actor: Actor, pk: UUID, data: Mapping[str, str], error: HelicaseError) -> dict[str, object]:
    """The page again, on the order as it stands now, with what was typed and why it was not done."""
    messages = [said for fields in error.fields.values() for said in fields] if isinstance(error, InvalidOrder) else [str(error)]
    return form(actor, order_for(actor, pk)) | {"errors": messages, "reason": data.get("reason", "")}
