"""What a requester is told when another person made his order less urgent, until he says that he has read it."""

from dataclasses import dataclass
from itertools import groupby

from foundation.actor import Actor
from orders import selectors
from orders.models import Demotion, Order
from registry.priority import PRIORITY_RANK


@dataclass(frozen=True)
class News:
    """One order that is less urgent than it was."""

    order: Order
    demotions: list[Demotion]  # unread, the oldest first

    @property
    def before(self) -> str:
        """The most urgent priority that was taken from it."""
        return min((str(one.before) for one in self.demotions), key=PRIORITY_RANK.__getitem__)

    @property
    def last(self) -> int:
        """The newest that is shown: who has read it has read all of these."""
        return int(self.demotions[-1].pk)


def of_person(actor: Actor) -> list[News]:
    """Of all open orders that this person placed."""
    unread = sorted(selectors.demotions_to_read(actor), key=lambda one: one.order.accession)
    return [News(one, list(some)) for one, some in groupby(unread, key=lambda one: one.order)]


def of_order(actor: Actor, order: Order, unread: list[Demotion]) -> News | None:
    """Of this order; None for everybody but its requester."""
    return News(order, unread) if unread and order.placed_by_id == actor.id else None
