"""What people may read of downtimes."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet

from accounts.roles import Verb
from foundation.actor import Actor
from foundation.errors import NotFound
from orders.downtimes.rows import Downtime, DowntimeLine, LateEntry
from orders.models import Order

VERBS = (Verb.DOWNTIME, Verb.LATE_ENTRY)  # either opens the record


def downtimes(actor: Actor) -> QuerySet[Downtime]:
    """Those of the laboratories of this actor, the last one first."""
    mine = Downtime.objects.for_actor(actor, VERBS[0]) | Downtime.objects.for_actor(actor, VERBS[1])
    counted = mine.select_related("organisation", "opened_by", "closed_by", "stat_list__person").annotate(
        open_lines=Count("lines", filter=Q(lines__ticked_at=None))
    )
    return counted.order_by("-began_at", "-number")


def downtime_for(actor: Actor, pk: UUID) -> Downtime:
    """One of them. Raises `NotFound`."""
    found: Downtime | None = downtimes(actor).filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def enterable(actor: Actor, laboratories: Iterable[UUID]) -> list[Downtime]:
    """Open downtimes of these laboratories, for whoever may enter orders late somewhere."""
    if not actor.organisations(Verb.LATE_ENTRY):
        return []
    open_ = Downtime.objects.filter(organisation__in=set(laboratories), state="open")
    return list(open_.select_related("organisation").order_by("-began_at"))


def lines(actor: Actor, downtime: Downtime) -> QuerySet[DowntimeLine]:
    """What is to be reconciled, the open ones first; none for who sees no orders there."""
    rows = DowntimeLine.objects.for_actor(actor).filter(downtime=downtime)
    order = ("patient", "specimen", "late_entry__taken_by", "ordering_organisation")
    related = (*(f"order__{name}" for name in order), "other", "ticked_by", "added_by")
    return rows.select_related(*related).order_by(F("ticked_at").asc(nulls_first=True), "order__rank", "kind", "pk")


def late_entry(order: Order) -> LateEntry | None:
    """The true times of an order that its reader may see; None: it was entered when it was asked for."""
    found: LateEntry | None = LateEntry.objects.filter(order=order).select_related("downtime", "taken_by", "entered_by").first()
    return found
