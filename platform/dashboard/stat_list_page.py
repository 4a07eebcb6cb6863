"""The STAT list for a downtime: every open STAT order on paper, or in a window that stays when the server goes."""

from dataclasses import dataclass

from accounts.roles import Verb
from dashboard.stages import stage
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotPermitted
from orders import worklist
from orders.downtimes import stat_lists
from orders.downtimes.selectors import VERBS
from orders.models import Order

SECONDS = 30  # between two readings: what is printed is never older than a minute


@dataclass(frozen=True)
class Line:
    """One order, in the words of the list."""

    order: Order
    stands: str  # where it stands, and whether it waits


def page(actor: Actor) -> dict[str, object]:
    """The list now, and when that is. What a laboratory reads is kept. Raises `NotPermitted` for who sees no order anywhere."""
    if not actor.organisations(Verb.VIEW_ORDER):
        raise NotPermitted("Your role does not include orders.", code="access.not-permitted")
    orders = worklist.open_stat(actor)
    lines = [Line(order, stage(order).words) for order in orders]
    kept = stat_lists.keep(actor, orders)
    return {
        "lines": lines, "as_of": clock.now(), "seconds": SECONDS, "numbers": [one.number for one in kept],
        "keeps_downtimes": any(actor.organisations(verb) for verb in VERBS),
    }  # fmt: skip
