"""One deed on several orders: each by the service that does it to one, in a transaction of its own, and each outcome told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from foundation.actor import Actor
from foundation.errors import HelicaseError
from orders import assignment, services, urgency
from orders.errors import InvalidOrder
from orders.models import Order
from orders.remarks import LONG, remark
from orders.selectors import orders_for
from registry.priority import PRIORITY_RANK

MOST = 500  # orders at once


@dataclass(frozen=True)
class Wanted:
    """What is to be done, said once for all of them."""

    deed: str  # a key of DEEDS
    to: UUID | None = None  # assign: to whom
    hold: str = ""  # hold: reason code
    priority: str = ""  # priority: the new one
    reason: str = ""  # priority, cancel: in words


@dataclass(frozen=True)
class Outcome:
    """What became of one order; None in its place: there is no such order for this person."""

    order: Order | None
    done: bool
    words: str = ""  # why not


def act(*, actor: Actor, rows: Sequence[tuple[UUID, int]], wanted: Wanted) -> list[Outcome]:
    """Do it to each of the orders, as this person has seen it (id and edits), in the order given.

    Raises `InvalidOrder` before anything is done where what has to be said is missing. What is refused of one order, and an order
    that somebody changed meanwhile, is told in its outcome and stops nothing.
    """
    check(wanted, len(rows))
    found = orders_for(actor, [pk for pk, _ in rows])
    return [_one(actor, found.get(pk), edits, wanted) for pk, edits in dict(rows).items()]


def check(wanted: Wanted, number: int) -> None:
    """Raise `InvalidOrder` where the deed is none, or what it needs is not said."""
    problems: dict[str, list[str]] = {}
    if wanted.deed not in DEEDS:
        problems["do"] = ["Choose what is to be done."]
    if not 0 < number <= MOST:
        problems["order"] = ["Choose at least one order." if not number else f"At most {MOST} orders are changed at once."]
    if wanted.deed == "assign" and wanted.to is None:
        problems["to"] = ["Choose to whom."]
    if wanted.deed == "hold" and wanted.hold not in urgency.HOLD_REASONS:
        problems["hold"] = ["Choose why the orders wait."]
    if wanted.deed == "priority" and wanted.priority not in PRIORITY_RANK:
        problems["priority"] = ["Choose STAT, ASAP, urgent or routine."]
    if wanted.deed in NEEDS_WORDS:
        problems |= _words(wanted)
    if problems:
        raise InvalidOrder(problems)


def _words(wanted: Wanted) -> dict[str, list[str]]:
    try:
        remark(wanted.reason, field="reason", missing="Say why.", **NEEDS_WORDS[wanted.deed])
    except InvalidOrder as error:
        return error.fields
    return {}


def _one(actor: Actor, order: Order | None, edits: int, wanted: Wanted) -> Outcome:
    if order is None:
        return Outcome(None, False, "There is no such order.")
    try:
        DEEDS[wanted.deed](order, actor, edits, wanted)
    except InvalidOrder as error:
        return Outcome(order, False, " ".join(message for field in error.fields.values() for message in field))
    except HelicaseError as error:
        return Outcome(order, False, str(error))
    return Outcome(order, True)


Deed = Callable[[Order, Actor, int, Wanted], Any]
NEEDS_WORDS: dict[str, dict[str, int]] = {"priority": {}, "cancel": {"most": LONG}}  # and how many letters of them there may be
DEEDS: dict[str, Deed] = {
    "take": lambda order, actor, edits, _: assignment.take(order=order, actor=actor, expected_edits=edits),
    "assign": lambda order, actor, edits, said: assignment.assign(order=order, to=said.to, actor=actor, expected_edits=edits),
    "back": lambda order, actor, edits, _: assignment.assign(order=order, to=None, actor=actor, expected_edits=edits),
    "hold": lambda order, actor, edits, said: urgency.hold(order=order, reason=said.hold, actor=actor, expected_edits=edits),
    "release": lambda order, actor, edits, _: urgency.release(order=order, actor=actor, expected_edits=edits),
    "priority": lambda order, actor, edits, said: urgency.change_priority(
        order=order, priority=said.priority, reason=said.reason, actor=actor, expected_edits=edits
    ),
    "cancel": lambda order, actor, edits, said: services.cancel(order=order, reason=said.reason, actor=actor, expected_edits=edits),
}
