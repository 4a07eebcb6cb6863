"""That somebody was told of a delay: the form, and what worklist and order page say of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from accounts.roles import Verb
from dashboard import local_time
from dashboard.local_time import Unclear
from foundation import clock
from foundation.actor import Actor
from foundation.errors import HelicaseError
from orders import delays
from orders.errors import InvalidOrder
from orders.models import DelayNotice, Order
from orders.selectors import order_for

FIELDS = {"told": "Who was told", "told_at": "When", "means": "How", "words": "In your words"}


@dataclass(frozen=True)
class Delay:
    """What an order's page says of its delay."""

    told: list[DelayNotice]  # the last one first
    may_tell: bool

    @property
    def last(self) -> DelayNotice | None:
        """The last one who was told."""
        return self.told[0] if self.told else None


def of_order(actor: Actor, order: Order) -> Delay | None:
    """Of an order that is late; None while it is not."""
    if order.ended_at is not None:
        return None
    told = delays.told_of(order)
    return Delay(told, may_tell(actor, order)) if delays.is_late(order) else None


def may_tell(actor: Actor, order: Order) -> bool:
    """Whether this person may write that somebody was told."""
    return order.ended_at is None and actor.may(Verb.TELL_DELAY, order.performing_laboratory_id)


def of_rows(orders: Iterable[Order]) -> dict[UUID, datetime | None]:
    """Of the late ones of a list: when somebody was last told; None: nobody yet."""
    listed = list(orders)
    told = delays.last_told(listed)
    return {order.pk: told.get(order.pk) for order in listed if delays.is_late(order)}


def form(actor: Actor, order: Order, zone: ZoneInfo) -> dict[str, object]:
    """An empty form: told just now."""
    return {
        "order": order, "may": may_tell(actor, order), "late": delays.is_late(order), "notices": delays.told_of(order),
        "means": DelayNotice.MEANS, "values": {"told_at": local_time.shown(clock.now(), zone)},
    }  # fmt: skip


def record(actor: Actor, order: Order, data: Mapping[str, str], zone: ZoneInfo) -> None:
    """Keep what the form says. Raises `HelicaseError`, field by field where fields are wrong."""
    told_at = None
    if data.get("told_at", "").strip():
        try:
            told_at = local_time.read(data["told_at"], data.get("fold", ""), zone)
        except Unclear as error:
            wrong = delays.problems(order, told=data.get("told", ""), means=data.get("means", ""), told_at=clock.now())
            raise InvalidOrder(wrong | {"told_at": [str(error)]}) from error
    delays.tell(
        order=order,
        told=data.get("told", ""),
        means=data.get("means", ""),
        words=data.get("words", ""),
        told_at=told_at,
        actor=actor,
    )


def refused(actor: Actor, pk: UUID, data: Mapping[str, str], zone: ZoneInfo, error: HelicaseError) -> dict[str, object]:
    """The form again with what was typed, and what is wrong at each field and in a list above."""
    fields = error.fields if isinstance(error, InvalidOrder) else {"": [str(error)]}
    typed = {name: data.get(name, "") for name in (*FIELDS, "fold")}
    summary = [(name, FIELDS.get(name, ""), message) for name, messages in fields.items() for message in messages]
    return form(actor, order_for(actor, pk), zone) | {
        "values": typed, "errors": summary, "wrong": fields, "ask_fold": local_time.asks_back(typed["told_at"], zone),
    }  # fmt: skip
