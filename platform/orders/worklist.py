"""The worklist: open STAT orders whole, the others by chip, filter and search, page after page, whatever their number.

The orders in reach are read in sides that do not overlap: what an organisation performs, and what it ordered elsewhere. Each side
has an index that holds whatever is counted, filtered and sorted by, so that no order is read but those that are shown.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Prefetch, Q, QuerySet, prefetch_related_objects

from accounts.models import Organisation, User
from accounts.roles import Verb
from foundation import clock
from foundation.actor import Actor
from orders import filters as narrowing
from orders.filters import LABELS, Filters
from orders.keys import KEYS, Cursor, Key, after, key_of
from orders.models import HoldRequest, Order
from orders.selectors import asked_for
from registry.models import TestVersion
from registry.priority import PRIORITY_RANK, Priority

PAGE = 50
LATELY = timedelta(days=30)  # placed within them, an order counts for the last STAT one
CLOSED = 1000  # closed orders counted; all of them can be listed
STAT = PRIORITY_RANK[Priority.STAT]
UNSAID = (  # columns that no row of a list says
    "stated", "intake__problems", "intake__facts", "intake__samples", "test_version__accepts", "test_version__protocol",
    "test_version__sla_minutes", "test_version__signatures", "test_version__limitations",
)  # fmt: skip
TOLD = (  # columns of an order that goes into a file
    "accession", "priority", "state", "stated_mrn", "patient__family_name", "patient__given_name", "patient__birth_date",
    "test_version", "items_total", "ordering_organisation", "assignee", "placed_at", "result_due", "report_due", "scored_at",
    "ended_at", "clock_stopped_at", "hold_reason", "attention", "attention_also",
    "late_entry__requested_at",
)  # fmt: skip
_NAMED = (
    Prefetch("test_version", TestVersion.objects.select_related("definition").only("definition__name")),
    Prefetch("ordering_organisation", Organisation.objects.only("name")),
    Prefetch("assignee", User.objects.only("name")),
)


@dataclass(frozen=True)
class Chip:
    """One filter of the worklist."""

    key: str
    label: str
    count: int
    more: bool = False  # there are more than were counted


@dataclass(frozen=True)
class Finished:
    """The STAT order whose results came last."""

    at: datetime
    seconds: float  # since it was accepted


@dataclass(frozen=True)
class Worklist:
    """One page of the worklist. Open STAT orders stand apart: all of them, whatever is filtered, searched or paged."""

    filters: Filters
    stat: list[Order]
    rows: list[Order]
    chips: list[Chip]
    asked: dict[UUID, HoldRequest]  # holds that wait for a second person, by order, the one that ends first before the others
    matching: int  # orders on all pages
    more: bool  # there are more than were counted
    stat_matching: int  # STAT orders that the filters and the search would find too
    first: int  # number of the first row on this page
    before: Cursor | None  # of the page before; None: this is the first
    after: Cursor | None  # of the next page; None: this is the last


class Reach:
    """The orders one person may see, narrowed by what he asked for."""

    def __init__(self, actor: Actor, filters: Filters, verb: Verb = Verb.VIEW_ORDER) -> None:
        self.actor, self.filters = actor, filters
        self._organisations = sorted(actor.organisations(verb) & actor.organisations(Verb.VIEW_ORDER))
        self._verb = verb
        asked = TestVersion.objects.filter(definition=filters.test) if filters.test else TestVersion.objects.none()
        self._found = narrowing.search(filters.search)
        self._versions = list(asked.values_list("pk", flat=True))

    def sides(self, *, closed: bool, whole: bool = False) -> list[QuerySet[Order]]:
        """The sides, open or closed; `whole`: whatever is filtered."""
        rows = Order.objects.for_actor(self.actor, self._verb).filter(ended_at__isnull=not closed)
        found: list[QuerySet[Order]] = []
        for organisation in self._organisations:
            found.append(rows.filter(performing_laboratory=organisation))
            elsewhere = rows.exclude(performing_laboratory__in=self._organisations)
            found.append(elsewhere.filter(~Q(ordering_organisation=F("performing_laboratory")), ordering_organisation=organisation))
        return list(found) if whole else [narrowing.narrowed(side, self.filters, self._versions, self._found) for side in found]

    def listed(self) -> list[QuerySet[Order]]:
        """What is on the pages: of the chip, without the open STAT orders, which stand above them."""
        if self.filters.closed:
            return self.sides(closed=True)
        listed = Q(rank__gt=STAT) & narrowing.condition(self.filters.chip, self.actor)
        return [side.filter(listed) for side in self.sides(closed=False)]

    def matching(self) -> list[QuerySet[Order]]:
        """Everything that the filters find, STAT orders too."""
        if self.filters.closed:
            return self.sides(closed=True)
        return [side.filter(narrowing.condition(self.filters.chip, self.actor)) for side in self.sides(closed=False)]


def worklist(actor: Actor, filters: Filters = Filters(), *, cursor: Cursor | None = None) -> Worklist:  # noqa: B008 -- frozen
    """The orders in reach: STAT first and whole, the others paged."""
    reach = Reach(actor, filters)
    counts = _counts(reach)
    keys, before, following = _page(reach.listed(), KEYS[sorted_by(filters)], cursor)
    stat, page = _stat(reach), [pk for *_, pk in keys]
    shown = {order.pk: order for order in _shown([*stat, *page])}
    matching = min(counts["done"], CLOSED) if filters.closed else counts[filters.chip] - counts["stat"]
    first = cursor.number if cursor and before else 1
    return Worklist(
        filters=filters,
        stat=sorted((shown[pk] for pk in stat if pk in shown), key=_soonest),
        rows=[shown[pk] for pk in page if pk in shown],
        chips=[Chip(name, label, *_capped(name, counts[name])) for name, label in _offered(actor).items()],
        asked=_asked(reach),
        matching=matching,
        more=filters.closed and counts["done"] > CLOSED,
        stat_matching=counts["stat"],
        first=first,
        before=Cursor(keys[0], forward=False, number=max(1, first - PAGE)) if before and keys else None,
        after=Cursor(keys[-1], forward=True, number=first + len(keys)) if following and keys else None,
    )


def open_stat(actor: Actor) -> list[Order]:
    """Every open STAT order in reach, the least time left first: the list that a laboratory works from when nothing else does."""
    found = _shown(_stat(Reach(actor, Filters())))
    prefetch_related_objects(found, "specimen")
    return sorted(found, key=_soonest)


def last_stat(actor: Actor) -> Finished | None:
    """When results of a STAT order in reach came last, and how long they took. None: none was placed and scored lately."""
    rows = Order.objects.for_actor(actor).filter(rank=STAT, placed_at__gt=clock.now() - LATELY, scored_at__isnull=False)
    scored, accepted = rows.order_by("-scored_at").values_list("scored_at", "accepted_at").first() or (None, None)
    return Finished(scored, (scored - accepted).total_seconds()) if scored and accepted else None


def sorted_by(filters: Filters) -> str:
    """The name of the key that the pages of this list are sorted by: closed orders have no urgency, the newest come first."""
    return "closed" if filters.closed and filters.sort != "placed" else filters.sort


def count(actor: Actor, filters: Filters) -> int:
    """How many orders a filter finds, STAT orders with them; of closed ones no more than `CLOSED` are counted."""
    sides = Reach(actor, filters).matching()
    return min(CLOSED, sum(side[: CLOSED + 1].count() for side in sides)) if filters.closed else sum(side.count() for side in sides)


def selected(actor: Actor, filters: Filters, *, most: int) -> list[Order]:
    """The first `most` orders that a filter finds, STAT before the others, as the list has them."""
    sides = Reach(actor, filters).matching()
    keys, _, _ = _page(sides, KEYS[sorted_by(filters)], None, most)
    return _shown([pk for *_, pk in keys])


def exported(actor: Actor, filters: Filters, *, batch: int) -> Iterator[list[Order]]:
    """Every order that a filter finds and this person may export, by the time of placing, in lists of at most `batch`.

    When an order was placed never changes: none is left out or told twice, however long the reading takes.
    """
    sides, cursor = Reach(actor, filters, Verb.EXPORT).matching(), None
    while True:
        keys, _, following = _page(sides, KEYS["oldest"], cursor, batch)
        if keys:
            yield _told([pk for *_, pk in keys])
        if not following:
            return
        cursor = Cursor(keys[-1], forward=True, number=1)


def _page(sides: list[QuerySet[Order]], key: Key, cursor: Cursor | None, size: int = 0) -> tuple[list[tuple[Any, ...]], bool, bool]:
    """The keys of one page, and whether there are pages before and behind it."""
    size, forward = size or PAGE, cursor is None or cursor.forward
    found: list[tuple[Any, ...]] = []
    for side in sides:
        found += key_of(after(side, key, cursor), key, forward=forward)[: size + 1]
    found.sort(reverse=key.descending == forward)
    page, more = found[:size], len(found) > size
    if forward:
        return page, cursor is not None, more
    return page[::-1], more, True


def _shown(ids: list[UUID]) -> list[Order]:
    """What a row of the worklist says, in the order of the ids; long columns stay where they are."""
    related = ("patient", "test_version__definition", "intake", "assignee", "left_by", "ordering_organisation", "late_entry")
    rows = Order.objects.filter(pk__in=ids).select_related(*related).prefetch_related("patient__identifiers")
    found = {order.pk: order for order in rows.defer(*UNSAID)}
    return [found[pk] for pk in ids if pk in found]


def _told(ids: list[UUID]) -> list[Order]:
    """What a line of a file says, in the order of the ids: no other column is read, and of what many orders name, each once."""
    rows = Order.objects.filter(pk__in=ids).select_related("patient", "late_entry").only(*TOLD)
    found = rows.prefetch_related(*_NAMED).in_bulk()
    return [found[pk] for pk in ids if pk in found]


def _stat(reach: Reach) -> list[UUID]:
    sides = [side.filter(rank=STAT) for side in reach.sides(closed=False, whole=True)]
    return [pk for side in sides for pk in side.values_list("pk", flat=True)]


def _soonest(order: Order) -> tuple[bool, datetime, datetime]:
    return order.report_due is None, order.report_due or order.placed_at, order.placed_at


def _asked(reach: Reach) -> dict[UUID, HoldRequest]:
    """Few orders wait for a second person: each of those is looked at, and no list."""
    return asked_for(HoldRequest.objects.filter(order__in=Order.objects.for_actor(reach.actor)))


def _counts(reach: Reach) -> dict[str, int]:
    """How many orders each chip lists, and under "stat" how many of the chosen chip's are STAT. One pass over each side."""
    numbers = {key: Count("pk", filter=narrowing.condition(key, reach.actor)) for key in LABELS if key not in ("open", "done")}
    stat = Count("pk", filter=Q(rank=STAT) & narrowing.condition(reach.filters.chip, reach.actor))
    counted = dict.fromkeys([*numbers, "open", "stat", "done"], 0)
    for side in reach.sides(closed=False):
        for key, number in side.aggregate(open=Count("pk"), stat=stat, **numbers).items():
            counted[key] += number
    counted["done"] = sum(side[: CLOSED + 1].count() for side in reach.sides(closed=True))
    return counted


def _offered(actor: Actor) -> dict[str, str]:
    """The chips that have a meaning for this person: who works on no order takes none."""
    return LABELS if actor.organisations(Verb.ASSIGN) else {key: label for key, label in LABELS.items() if key != "unassigned"}


def _capped(key: str, number: int) -> tuple[int, bool]:
    return (CLOSED, True) if key == "done" and number > CLOSED else (number, False)
