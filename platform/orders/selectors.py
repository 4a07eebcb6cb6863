"""What people may read of orders. Every function takes the actor and returns nothing he may not see."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Case, Count, Q, QuerySet, SmallIntegerField, Value, When
from django.http import Http404

from accounts.models import Organisation
from accounts.roles import Verb
from audit.models import Event
from foundation import clock
from foundation.actor import Actor
from orders.estimates import Estimate, estimate, remaining
from orders.models import Intake, IntakeRecord, Order
from registry.models import TestVersion
from registry.priority import PRIORITY_RANK, Priority

PAGE = 50
SEARCH_MINIMUM = 2  # characters


def offered_tests(actor: Actor) -> list[TestVersion]:
    """Test versions an order can be placed for, newest first; empty for someone who places none."""
    if not actor.organisations(Verb.PLACE):
        return []
    offered = TestVersion.objects.filter(offered=True).select_related(
        "definition__laboratory", "reference", "deployment__model_version"
    )
    return list(offered.order_by("definition__name", "-number"))


def ordering_organisations(actor: Actor) -> list[Organisation]:
    """The organisations this actor may order for."""
    return list(Organisation.objects.filter(pk__in=actor.organisations(Verb.PLACE)).order_by("name"))


def intake_for(actor: Actor, pk: UUID) -> Intake:
    """An upload this actor may see, or 404."""
    rows = Intake.objects.for_actor(actor).select_related(
        "test_version__definition", "test_version__reference", "test_version__deployment"
    )
    found: Intake | None = rows.filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


def intake_preview(intake: Intake, *, limit: int = 20) -> list[IntakeRecord]:
    """The first accepted records, with their normalised form."""
    return list(intake.rows.filter(outcome="accepted").order_by("line", "alt_index")[:limit])


def order_for(actor: Actor, pk: UUID) -> Order:
    """An order this actor may see, or 404 (to a stranger it does not exist)."""
    found: Order | None = _orders(actor).filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


def timeline(order: Order) -> list[Event]:
    """What happened to an order, oldest first."""
    about = Q(object_type="orders.order", object_id=str(order.pk)) | Q(object_type="orders.intake", object_id=str(order.intake_id))
    return list(Event.objects.filter(about).order_by("id"))


@dataclass(frozen=True)
class Chip:
    """One filter of the worklist."""

    key: str
    label: str
    count: int


@dataclass(frozen=True)
class Worklist:
    """One page of the worklist. STAT orders stand apart and are never paged away."""

    stat: list[Order]
    rows: list[Order]
    chips: list[Chip]
    chip: str
    search: str
    page: int
    pages: int
    matching: int


LABELS = {
    "open": "All open",
    "mine": "Mine",
    "unassigned": "Unassigned",
    "running": "Running",
    "review": "Awaiting review",
    "late": "Late",
    "hold": "On hold",
    "attention": "Needs attention",
    "done": "Closed",
}


def worklist(actor: Actor, *, chip: str = "open", search: str = "", page: int = 1) -> Worklist:
    """The orders in reach: STAT first and whole, the others paged, by priority and due time."""
    chip = chip if chip in LABELS else "open"
    everything = _search(_orders(actor), search)
    counts = everything.aggregate(**{key: Count("pk", filter=_condition(key, actor), distinct=True) for key in LABELS})
    matching = everything.filter(_condition(chip, actor))
    stat = matching.filter(priority=Priority.STAT, ended_at=None).order_by("report_due", "placed_at")
    rest = matching.exclude(priority=Priority.STAT, ended_at=None).alias(rank=_rank())
    rest = rest.order_by("-ended_at") if chip == "done" else rest.order_by("rank", "report_due", "placed_at")
    total = rest.count()
    pages = max(1, -(-total // PAGE))
    page = min(max(1, page), pages)
    chips = [Chip(key, label, counts[key]) for key, label in LABELS.items()]
    return Worklist(list(stat), list(rest[(page - 1) * PAGE : page * PAGE]), chips, chip, search, page, pages, total)


def _orders(actor: Actor) -> QuerySet[Order]:
    rows: QuerySet[Order] = Order.objects.for_actor(actor)
    return rows.select_related(
        "patient",
        "specimen",
        "test_version__definition",
        "test_version__reference",
        "test_version__deployment__model_version",
        "ordering_organisation",
        "performing_laboratory",
        "intake",
        "assignee",
        "placed_by",
    ).prefetch_related("patient__identifiers")


def _search(rows: QuerySet[Order], text: str) -> QuerySet[Order]:
    text = text.strip()
    if len(text) < SEARCH_MINIMUM:
        return rows
    hits = Q(accession__icontains=text) | Q(patient__family_name__icontains=text) | Q(patient__given_name__icontains=text)
    return rows.filter(hits | Q(patient__identifiers__value__icontains=text)).distinct()


def _condition(chip: str, actor: Actor) -> Q:
    if chip == "done":
        return Q(ended_at__isnull=False)
    late = Q(report_due__lt=clock.now()) | Q(scored_at=None, result_due__lt=clock.now())
    conditions = {
        "mine": Q(assignee_id=actor.id) | Q(placed_by_id=actor.id),
        "unassigned": Q(assignee=None),
        "running": Q(state="in_analysis"),
        "review": Q(state__in=["awaiting_review", "awaiting_second_review"]),
        "late": late,
        "hold": ~Q(hold_reason=""),
        "attention": ~Q(attention=""),
    }
    return conditions.get(chip, Q()) & Q(ended_at=None)


def _rank() -> Case:
    whens = [When(priority=priority, then=Value(rank)) for priority, rank in PRIORITY_RANK.items()]
    return Case(*whens, default=Value(9), output_field=SmallIntegerField())


__all__ = ["Estimate", "estimate", "remaining"]
