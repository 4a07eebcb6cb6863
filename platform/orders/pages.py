"""Orders page by page, for programs: each page begins behind the last row of the one before, whatever came meanwhile."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from accounts.roles import Verb
from foundation.actor import Actor
from orders import filters as narrowing
from orders.filters import Filters
from orders.models import Order
from registry.models import TestVersion
from registry.priority import PRIORITY_RANK, Priority


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
        if self.priority is not None:
            condition &= Q(rank=PRIORITY_RANK[Priority(self.priority)])  # as the index has it
        for column in ("state", "accession", "placer_system", "placer_number"):
            if (value := getattr(self, column)) is not None:
                condition &= Q(**{column: value})
        if self.open is not None:
            condition &= Q(ended_at__isnull=self.open)
        for column, wanted in (("hold_reason", self.held), ("attention", self.attention)):
            if wanted is not None:
                condition &= ~Q(**{column: ""}) if wanted else Q(**{column: ""})
        return condition


def filtered(rows: QuerySet[Order], filters: Filters, actor: Actor) -> QuerySet[Order]:
    """The rows that the filters of the worklist let through; without a list among them (a blank chip), open and closed ones."""
    versions = TestVersion.objects.filter(definition=filters.test).values_list("pk", flat=True) if filters.test else []
    rows = narrowing.narrowed(rows, filters, list(versions), narrowing.search(filters.search))
    if not filters.chip:
        return rows
    rows = rows.filter(ended_at__isnull=not filters.closed)
    return rows if filters.closed else rows.filter(narrowing.condition(filters.chip, actor))


def newest(actor: Actor, wanted: Wanted, filters: Filters, *, after: tuple[datetime, UUID] | None, limit: int) -> list[Order]:
    """At most `limit` orders in this actor's reach, the newest first, behind the one that was placed at a time under an id.

    One look for each side on which he may stand: each has an index in this order, which an OR over both cannot use.
    """
    reach: QuerySet[Order] = Order.objects.for_actor(actor)
    rows = filtered(reach.filter(wanted.condition()), filters, actor)
    organisations = actor.organisations(Verb.VIEW_ORDER)
    if after is not None:
        placed, pk = after
        rows = rows.filter(placed_at__lte=placed).filter(Q(placed_at__lt=placed) | Q(pk__lt=pk))
    found = set()
    for column in Order.scope:
        on_this_side = rows.filter(**{f"{column}__in": organisations}).order_by("-placed_at", "-pk")
        found |= set(on_this_side.values_list("placed_at", "pk")[:limit])
    chosen = [pk for _, pk in sorted(found, reverse=True)[:limit]]
    related = ("patient", "ordering_organisation", "performing_laboratory", "test_version__definition")
    return list(reach.filter(pk__in=chosen).select_related(*related).order_by("-placed_at", "-pk"))
