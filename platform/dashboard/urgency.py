"""Priority and hold of an order, from its page: what this person may change, and what he asked for."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.http import QueryDict
from django.urls import reverse

from accounts.roles import Verb
from foundation.actor import Actor
from foundation.errors import HelicaseError, Refused, Stale
from orders import demotions, holding, urgency
from orders.errors import InvalidOrder
from orders.holding import Answered
from orders.models import HoldRequest, Order
from orders.selectors import hold_requests, order_for
from registry.priority import Priority

DONE = {
    "priority": "Order {} has another priority now.",
    "why": "It is said why order {} is STAT.",
    "hold": "Order {} is on hold.",
    "release": "Order {} goes on.",
    "ask": "You have asked that order {} waits. It goes on until a second person agrees.",
    "confirm": "Order {} is on hold.",
    "decline": "You have declined: order {} goes on.",
    "withdraw": "You have taken your request back: order {} goes on.",
    "read": "You have read that order {} is less urgent.",
}
CHANGED = "The order has changed since you opened this page, perhaps by a click of your own. It is shown here as it stands now."


def change(*, actor: Actor, order: Order, data: Mapping[str, str]) -> str:
    """Do what the form asks; the words that say it is done."""
    deed = data.get("do", "")
    if deed not in DONE:
        raise Refused("The page asked for nothing that can be done.", code="order.unknown-deed")
    if deed in _ANSWERS:
        _answer(actor, order, data)
    elif deed == "read":
        demotions.read(order=order, last=_number(data.get("last", "")), actor=actor)
    elif deed == "ask":
        holding.ask(order=order, reason=data.get("hold", ""), words=data.get("words", ""), actor=actor)
    else:
        _steer(actor, order, data)
    return DONE[deed].format(order.accession)


def form(actor: Actor, order: Order) -> dict[str, object]:
    """What the page offers."""
    asked_for = hold_requests([order]).get(order.pk)
    return _offered(actor, order, asked_for) | {
        "needs_two": order.placed_by_id != actor.id and urgency.held_by_two(order),
        "was_stat": demotions.from_stat(order),
    }


def _offered(actor: Actor, order: Order, request: HoldRequest | None) -> dict[str, object]:
    parties = (order.ordering_organisation_id, order.performing_laboratory_id)
    is_open, stat, waits = order.state in Order.OPEN, actor.may(Verb.STAT, *parties), urgency.stat_must_wait(order, actor)
    offered = [priority for priority in Priority if priority != Priority.STAT or (stat and not waits)]
    request = request if is_open and not order.hold_reason else None
    may_hold = is_open and actor.may(Verb.HOLD, *parties)
    return {
        "order": order,
        "may_promote": is_open and actor.may(Verb.PROMOTE, *parties),
        "may_say_why": may_say_why(actor, order),
        "may_hold": may_hold,
        "request_to_hold": request,
        "asked_by_me": request is not None and request.asked_by_id == actor.id,
        "may_answer": request is not None and holding.may_answer(actor, order, request),
        "open_minutes": int(holding.OPEN_FOR.total_seconds() // 60),
        "priorities": [priority.value for priority in offered if priority != order.priority],
        "stat_must_wait": stat and waits,
        "holds": [(str(reason), reason.words) for reason in urgency.HOLD_REASONS],
    }


def may_say_why(actor: Actor, order: Order) -> bool:
    """Whether the order lacks its reason for STAT and this person may give it."""
    parties = (order.ordering_organisation_id, order.performing_laboratory_id)
    return order.state in Order.OPEN and urgency.lacks_reason(order) and actor.may(Verb.STAT, *parties)


def may_change(actor: Actor, order: Order, request: HoldRequest | None) -> bool:
    """Whether there is anything on that page for this person, `request` being what somebody has asked for."""
    offered = _offered(actor, order, request)
    return any(offered[deed] for deed in ("may_promote", "may_hold", "may_answer"))


def refused(actor: Actor, pk: UUID, data: Mapping[str, str], error: HelicaseError) -> dict[str, object]:
    """The page again, on the order as it stands now, with what was typed and why it was not done."""
    fields = error.fields if isinstance(error, InvalidOrder) else {"": [said(error)]}
    messages = [message for field in fields.values() for message in field]
    typed = {"reason": data.get("reason", ""), "why": data.get("why", ""), "words": data.get("words", "")}
    chosen = {"chosen": data.get("priority", ""), "chosen_hold": data.get("hold", "")}
    return form(actor, order_for(actor, pk)) | typed | chosen | {"errors": messages}


def said(error: HelicaseError) -> str:
    """Why nothing was done, to somebody who cannot know whose change was first."""
    return CHANGED if isinstance(error, Stale) else str(error)


def back(order: Order, data: Mapping[str, str]) -> str:
    """Where the answer leads: to the worklist as it was, for what was sent from there; else to the order."""
    if "list" not in data:
        return reverse("order", args=[order.pk])
    return f"{reverse('worklist')}?{QueryDict(data['list']).urlencode()}".rstrip("?")


def _number(said: str) -> int:
    """A version or an id that a form sent; 0, which none is, for anything else."""
    return int(said) if said.isdecimal() and len(said) < 10 else 0


def _steer(actor: Actor, order: Order, data: Mapping[str, str]) -> None:
    """What one person does alone, on the order as he has seen it."""
    on: dict[str, Any] = {"order": order, "actor": actor, "expected_edits": _number(data.get("edits", ""))}
    match data["do"]:
        case "priority":
            urgency.change_priority(priority=data.get("priority", ""), reason=data.get("reason", ""), **on)
        case "why":
            urgency.give_stat_reason(reason=data.get("why", ""), **on)
        case "hold":
            urgency.hold(reason=data.get("hold", ""), **on)
        case _:
            urgency.release(**on)


def _answer(actor: Actor, order: Order, data: Mapping[str, str]) -> None:
    """Answer the request that the person has seen, and no other."""
    request: HoldRequest | None = hold_requests([order]).get(order.pk)
    if request is None or str(request.pk) != data.get("request"):
        raise Answered(code="hold.answered")
    _ANSWERS[data["do"]](actor, request, data.get("words", ""))


_ANSWERS: dict[str, Callable[[Actor, HoldRequest, str], None]] = {
    "confirm": lambda actor, request, words: holding.confirm(request=request, words=words, actor=actor),
    "decline": lambda actor, request, words: holding.decline(request=request, words=words, actor=actor),
    "withdraw": lambda actor, request, words: holding.withdraw(request=request, actor=actor),
}
