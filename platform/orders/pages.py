"""Orders page by page, for programs: each page begins behind the last row of the one before, whatever came meanwhile."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from foundation.actor import Actor
from orders.models import Order


@dataclass(frozen=True)
class Wanted:
    """Which orders; what is None lets everything through."""

    state: str | None = None
    priority: str | None = None
    open: bool | None = None
    held: bool | None = None
    attention: bool | None = None
    accession: str | None = None
    placer_system: str | None = None
    placer_number: str | None = None

    def condition(self) -> Q:
        """The same for the database."""
        condition = Q()
        for column in ("state", "priority", "accession", "placer_system", "placer_number"):
            if (value := getattr(self, column)) is not None:
                condition &= Q(**{column: value})
        if self.open is not None:
            condition &= Q(ended_at__isnull=self.open)
        for column, wanted in (("hold_reason", self.held), ("attention", self.attention)):
            if wanted is not None:
                condition &= ~Q(**{column: ""}) if wanted else Q(**{column: ""})
        return condition


def newest(actor: Actor, wanted: Wanted, *, after: tuple[datetime, UUID] | None, limit: int) -> list[Order]:
    """At most `limit` orders in this actor's reach, the newest first, behind the one that was placed at a time under an id."""
    rows: QuerySet[Order] = Order.objects.for_actor(actor)
    rows = rows.filter(wanted.condition())
    if after is not None:
        placed, pk = after
        rows = rows.filter(placed_at__lte=placed).filter(Q(placed_at__lt=placed) | Q(pk__lt=pk))
    related = ("patient", "ordering_organisation", "performing_laboratory", "test_version__definition")
    return list(rows.select_related(*related).order_by("-placed_at", "-pk")[:limit])
