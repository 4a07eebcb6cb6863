"""What the reception of a laboratory reads: specimens that are expected, that came lately, and the one whose label was scanned."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.roles import Verb
from foundation import clock
from foundation.actor import Actor
from orders.models import Order, Specimen
from orders.order_indexes import REPORT_DUE

LISTED = 50
COUNTED = 1000  # more are not counted one by one
LATELY = timedelta(hours=24)


@dataclass(frozen=True)
class Some:
    """The first rows of a list, and how long it is."""

    rows: list[Order]
    count: int
    more: bool = False  # than were counted

    @property
    def unlisted(self) -> int:
        """Counted, but not among the rows."""
        return self.count - len(self.rows)


def expected(actor: Actor) -> Some:
    """Open orders whose specimen has not come: STAT first, then as the worklist has them."""
    # Order after order as the index has them, each with a look for its specimen: a join would read every order to count a few.
    tube = Specimen.objects.filter(pk=OuterRef("specimen"), state="expected").values("pk")[:1]
    waiting = _reach(actor).filter(ended_at=None).alias(tube=Subquery(tube)).filter(tube__isnull=False)
    rows = waiting.order_by("rank", REPORT_DUE, "placed_at", "pk")
    count = rows[: COUNTED + 1].count()
    return Some(list(_shown(rows)[:LISTED]), min(count, COUNTED), count > COUNTED)


def received(actor: Actor) -> Some:
    """Orders whose specimen came, or was rejected, within a day: the newest first."""
    since, rows = clock.now() - LATELY, _reach(actor)
    came = rows.filter(specimen__received_at__gte=since)  # each by its own index, which an OR over both cannot use
    before = Q(specimen__received_at=None) | Q(specimen__received_at__lt=since)
    useless = rows.filter(before, specimen__rejected_at__gte=since)
    count = _counted(came) + _counted(useless)
    newest = Coalesce("specimen__received_at", "specimen__rejected_at").desc()
    listed = [
        *_shown(came.order_by("-specimen__received_at", "pk"))[:LISTED],
        *_shown(useless.order_by(newest, "pk"))[:LISTED],
    ]
    listed.sort(key=_moment, reverse=True)
    return Some(listed[:LISTED], min(count, COUNTED), count > COUNTED)


def scanned(actor: Actor, text: str) -> list[Order]:
    """The orders that a scanned label or a typed number can mean: by accession in any case, else by the label exactly."""
    wanted = text.strip()
    if not wanted:
        return []
    rows = _reach(actor)
    by_number = list(_shown(rows.filter(accession=wanted.upper())))
    labelled = Specimen.objects.filter(identifier=wanted).values("pk")
    return by_number or list(_shown(rows.filter(specimen__in=labelled).order_by(F("ended_at").desc(nulls_first=True)))[:LISTED])


def rejections_to_read(actor: Actor) -> list[Order]:
    """Orders of the organisations this actor orders for whose specimen was rejected, and nobody has read it there."""
    organisations = actor.organisations(Verb.PLACE)
    unread = Specimen.objects.filter(organisation__in=organisations, state="rejected", rejection_read_at=None).values("pk")
    mine: QuerySet[Order] = Order.objects.for_actor(actor).filter(ordering_organisation__in=organisations, specimen__in=unread)
    rows = mine.filter(repeated_by=None)  # who has ordered again has read it
    return list(rows.select_related("specimen", "patient").prefetch_related("patient__identifiers").order_by("rank", "placed_at"))


def _reach(actor: Actor) -> QuerySet[Order]:
    rows: QuerySet[Order] = Order.objects.for_actor(actor)
    return rows.filter(performing_laboratory__in=actor.organisations(Verb.RECEIVE_SPECIMEN))


def _shown(rows: QuerySet[Order]) -> QuerySet[Order]:
    related = rows.select_related(
        "patient", "specimen", "specimen__received_by", "ordering_organisation", "test_version__definition"
    )
    return related.prefetch_related("patient__identifiers")


def _moment(order: Order) -> datetime:
    """When the specimen came, or was rejected without having come."""
    return cast(datetime, order.specimen.received_at or order.specimen.rejected_at)


def _counted(rows: QuerySet[Order]) -> int:
    return rows.order_by()[: COUNTED + 1].count()
