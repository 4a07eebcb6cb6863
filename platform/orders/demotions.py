"""What others than its requester took from the urgency of an order: what of that stands, and that the requester has read it."""

from typing import cast
from uuid import UUID

from django.db import transaction

from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotPermitted, Refused
from orders import hints
from orders.models import Demotion, Order
from outbox import services as outbox
from registry.priority import PRIORITY_RANK, Priority

TOPIC = "notice.demoted"


def follow(locked: Order, *, before: str, words: str, actor: Actor) -> None:
    """Write down a change of priority of a locked order, which has the new one: what it takes, or what it gives back.

    All is settled when the requester himself changes the priority, whichever he chooses.
    """
    standing = Demotion.objects.filter(order=locked, undone_at=None)
    now = clock.now()
    if actor.id == locked.placed_by_id:
        standing.update(undone_at=now)
        return
    standing.filter(before__in=[priority for priority, rank in PRIORITY_RANK.items() if rank >= locked.rank]).update(undone_at=now)
    if locked.rank > PRIORITY_RANK[before]:
        made = Demotion.objects.create(
            organisation_id=locked.performing_laboratory_id, order=locked, requester_id=locked.placed_by_id,
            by_id=cast(UUID, actor.id), before=before, after=locked.priority, words=words, at=now,
        )  # fmt: skip
        outbox.post(topic=TOPIC, payload={"demotion": made.pk}, organisation_id=locked.performing_laboratory_id)


def from_stat(order: Order) -> Demotion | None:
    """The demotion that took STAT from this order and stands; None where none does."""
    found: Demotion | None = (
        Demotion.objects.filter(order=order, before=Priority.STAT, undone_at=None).select_related("by").order_by("-id").first()
    )
    return found


def read(*, order: Order, last: int, actor: Actor) -> None:
    """Keep, with one event, that the requester has read of the demotions of his order up to that of id `last`.

    Who says so again has said it once. Raises `NotPermitted` or `Refused`.
    """
    with transaction.atomic():
        locked = Order.objects.select_for_update(of=("self",)).get(pk=order.pk)
        if actor.id is None or actor.id != locked.placed_by_id:
            raise NotPermitted("Only who placed the order says that he has read this.", code="access.not-permitted")
        shown = Demotion.objects.filter(order=locked, pk__lte=last)
        if not shown.exists():
            raise Refused("There is nothing to read about this order.", code="demotion.none")
        unread = list(shown.filter(read_at=None).order_by("pk").values_list("pk", flat=True))
        if unread:
            Demotion.objects.filter(pk__in=unread).update(read_at=clock.now())
            _tell(locked, {"demotions": unread}, actor)


def _tell(locked: Order, facts: dict[str, list[int]], actor: Actor) -> None:
    """Write the event of the order, and tell its pages: nothing that a person typed on another page is outdated by it."""
    locked.version += 1
    locked.save(update_fields=["version"])
    audit.record(
        actor=actor, action="order.demotion_read", obj=locked, organisation_id=locked.performing_laboratory_id, facts=facts
    )
    hints.changed(locked)
