"""What people may read of orders. Every function takes the actor and returns nothing he may not see."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet

from accounts.models import Organisation, User
from accounts.roles import Verb
from audit.models import Event
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotFound
from orders.models import Demotion, HoldRequest, Intake, IntakeRecord, Order, Patient, PatientIdentifier
from registry.models import TestVersion
from registry.priority import PRIORITY_RANK, Priority

PAGE = 50
CLOSED = 1000  # closed orders counted and listed, the newest; older ones are found by searching
SEARCH_MINIMUM = 2  # characters
SEARCH_WITHIN = 3  # characters from which a text is looked for within a value: shorter ones have no trigram to look up


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


def last_provider(actor: Actor) -> UUID | None:
    """Whom this person named as the provider of the last order he placed with one."""
    mine = Order.objects.for_actor(actor).filter(placed_by_id=actor.id, provider__isnull=False)
    found: UUID | None = mine.order_by("-placed_at").values_list("provider_id", flat=True).first()
    return found


def intake_for(actor: Actor, pk: UUID) -> Intake:
    """An upload this actor may see. Raises `NotFound`: to a stranger it does not exist."""
    rows = Intake.objects.for_actor(actor).select_related(
        "test_version__definition", "test_version__reference", "test_version__deployment", "file"
    )
    found: Intake | None = rows.filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def intake_preview(intake: Intake, *, limit: int = 20) -> list[IntakeRecord]:
    """The first accepted records, with their normalised form."""
    return list(intake.rows.filter(outcome="accepted").order_by("line", "alt_index")[:limit])


def intake_records(intake: Intake, *, outcome: str, after: tuple[int, int] | None, limit: int) -> list[IntakeRecord]:
    """Records behind a line and ALT, in the order of the file."""
    rows = intake.rows.filter(outcome=outcome) if outcome else intake.rows.all()
    if after is not None:
        line, alt = after
        rows = rows.filter(line__gte=line).filter(Q(line__gt=line) | Q(alt_index__gt=alt))
    return list(rows.order_by("line", "alt_index")[:limit])


def order_for(actor: Actor, pk: UUID) -> Order:
    """An order this actor may see, with all that its page shows. Raises `NotFound`: to a stranger it does not exist."""
    rows = _in_reach(actor).select_related(
        "patient__organisation",
        "specimen",
        "test_version__definition",
        "test_version__reference",
        "test_version__deployment__model_version",
        "ordering_organisation",
        "performing_laboratory",
        "ordering_site",
        "performing_site",
        "intake__file",
        "placed_by",
        "repeats__specimen",
        "provider",
        "specimen__received_by",
        "specimen__rejected_by",
    )
    found: Order | None = rows.prefetch_related("patient__identifiers", "repeated_by").filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def may_follow(actor: Actor, pk: UUID) -> bool:
    """Whether this actor may see the order, without reading it."""
    return _in_reach(actor).filter(pk=pk).exists()


def timeline(order: Order) -> list[Event]:
    """What happened to an order, oldest first."""
    about = Q(object_type="orders.order", object_id=str(order.pk)) | Q(object_type="orders.intake", object_id=str(order.intake_id))
    return list(Event.objects.filter(about).exclude(action="order.viewed").order_by("id"))  # who looked is for auditors


def hold_requests(orders: Iterable[Order]) -> dict[UUID, HoldRequest]:
    """The requests to hold these orders that wait for a second person, by order."""
    return _asked(HoldRequest.objects.filter(order__in=[order.pk for order in orders]))


def _asked(requests: QuerySet[HoldRequest]) -> dict[UUID, HoldRequest]:
    waiting = requests.filter(state="open", expires_at__gt=clock.now()).select_related("order", "asked_by")
    return {request.order_id: request for request in waiting.order_by("expires_at")}


def demotions_to_read(actor: Actor) -> list[Demotion]:
    """What others took from the urgency of open orders that this person placed, and he has not read: the oldest first."""
    return list(_unread(Demotion.objects.filter(requester_id=actor.id, order__ended_at=None, order__in=_in_reach(actor))))


def unread_demotions(order: Order) -> list[Demotion]:
    """What others took from the urgency of an open order, and its requester has not read: the oldest first."""
    if order.ended_at is not None or not order.priority_reason:  # closed, or nobody has changed its priority
        return []
    return list(_unread(Demotion.objects.filter(order=order)))


def _unread(demotions: QuerySet[Demotion]) -> QuerySet[Demotion]:
    return demotions.filter(read_at=None, undone_at=None).select_related("order", "by").order_by("id")


def names(people: Iterable[str]) -> dict[str, str]:
    """Who these people of a timeline are, by their ids."""
    return {str(pk): name for pk, name in User.objects.filter(pk__in=set(people)).values_list("pk", "name")}


@dataclass(frozen=True)
class Chip:
    """One filter of the worklist."""

    key: str
    label: str
    count: int
    more: bool = False  # there are more than were counted


@dataclass(frozen=True)
class Worklist:
    """One page of the worklist. Open STAT orders stand apart: all of them, whatever is filtered, searched or paged."""

    stat: list[Order]
    rows: list[Order]
    chips: list[Chip]
    chip: str
    search: str
    page: int
    pages: int
    asked: dict[UUID, HoldRequest]  # holds that wait for a second person, by order, the one that ends first before the others
    matching: int  # orders on all pages
    stat_matching: int  # STAT orders that the filter and the search would find too


LABELS = {
    "open": "All open",
    "mine": "Mine",
    "running": "Running",
    "review": "Awaiting review",
    "risk": "At risk",
    "late": "Late",
    "unsigned": "Report overdue",
    "attention": "Needs attention",
    "hold": "On hold",
    "done": "Closed",
}


def worklist(actor: Actor, *, chip: str = "open", search: str = "", page: int = 1) -> Worklist:
    """The orders in reach: STAT first and whole, the others paged, by priority and due time."""
    chip = chip if chip in LABELS else "open"
    reach = _in_reach(actor)
    found = _search(reach, search)
    counts = _counts(found.filter(ended_at=None), chip, actor)
    closed = found.filter(ended_at__isnull=False)
    counts["done"] = closed[: CLOSED + 1].count()
    matching = min(counts[chip], CLOSED) if chip == "done" else counts[chip] - counts["stat"]
    pages = max(1, -(-matching // PAGE))
    page = min(max(1, page), pages)
    listed = closed.order_by("-ended_at") if chip == "done" else _listed(found, chip, actor)
    return Worklist(
        stat=list(_shown(reach.filter(ended_at=None, rank=PRIORITY_RANK[Priority.STAT]).order_by("report_due", "placed_at"))),
        rows=list(_shown(listed)[(page - 1) * PAGE : page * PAGE]),
        chips=[Chip(key, label, *_capped(key, counts[key])) for key, label in LABELS.items()],
        chip=chip,
        search=search,
        page=page,
        pages=pages,
        asked=_asked(HoldRequest.objects.filter(order__in=reach)),
        matching=matching,
        stat_matching=counts["stat"],
    )


def _in_reach(actor: Actor) -> QuerySet[Order]:
    rows: QuerySet[Order] = Order.objects.for_actor(actor)
    return rows


def _shown(rows: QuerySet[Order]) -> QuerySet[Order]:
    """What a row of the worklist says; the intake's long columns stay where they are."""
    related = rows.select_related("patient", "test_version__definition", "intake").prefetch_related("patient__identifiers")
    return related.defer("intake__problems", "intake__facts", "intake__samples")


def _counts(rows: QuerySet[Order], chip: str, actor: Actor) -> dict[str, int]:
    """How many open orders each chip lists, and under "stat" how many of the chosen chip's are STAT. One pass."""
    numbers = {key: Count("pk", filter=_condition(key, actor)) for key in LABELS if key not in ("open", "done")}
    stat = Count("pk", filter=Q(rank=PRIORITY_RANK[Priority.STAT]) & _condition(chip, actor))
    counted: dict[str, int] = rows.aggregate(open=Count("pk"), stat=stat, **numbers)
    return counted


def _capped(key: str, number: int) -> tuple[int, bool]:
    return (CLOSED, True) if key == "done" and number > CLOSED else (number, False)


def _listed(rows: QuerySet[Order], chip: str, actor: Actor) -> QuerySet[Order]:
    """Open orders of a chip without the STAT ones, in the order of the index `order_worklist`."""
    after = Q(ended_at=None, rank__gt=PRIORITY_RANK[Priority.STAT]) & _condition(chip, actor)
    return rows.filter(after).order_by("rank", "report_due", "placed_at")


def _search(rows: QuerySet[Order], text: str) -> QuerySet[Order]:
    """One look-up per column and a union of ids: each has its own trigram index, which an OR over joined tables cannot use."""
    text = text.strip()
    if len(text) < SEARCH_MINIMUM:
        return rows
    how = "icontains" if len(text) >= SEARCH_WITHIN else "istartswith"
    patients = [
        Patient.objects.filter(**{f"family_name__{how}": text}).values("pk"),
        Patient.objects.filter(**{f"given_name__{how}": text}).values("pk"),
        PatientIdentifier.objects.filter(**{f"value__{how}": text}).values("patient_id"),
    ]
    numbers = [Order.objects.filter(**{f"{column}__{how}": text}).values("pk") for column in ("accession", "stated_mrn")]
    of_patients = [Order.objects.filter(patient__in=ids).values("pk") for ids in patients]
    return rows.filter(pk__in=numbers[0].union(numbers[1], *of_patients))


def _condition(chip: str, actor: Actor) -> Q:
    """What an open order has to be for a chip."""
    conditions = {
        "mine": Q(assignee_id=actor.id) | Q(placed_by_id=actor.id),
        "running": Q(state="in_analysis"),
        "review": Q(state__in=["awaiting_review", "awaiting_second_review"]),
        "risk": Q(risk="at_risk"),
        "late": Q(scored_at=None) & (_past("result_due") | _past("report_due")),  # the laboratory can still hurry
        "unsigned": Q(scored_at__isnull=False) & _past("report_due"),  # done, but nobody has put a name to it
        "attention": ~Q(attention=""),
        "hold": ~Q(hold_reason=""),
        "done": Q(pk__in=[]),
    }
    return conditions.get(chip, Q())


def _past(column: str) -> Q:
    """A due time has passed; the clocks of an order on hold stand where they were stopped."""
    stopped = Q(clock_stopped_at__isnull=False, **{f"{column}__lt": F("clock_stopped_at")})
    return stopped | Q(clock_stopped_at=None, **{f"{column}__lt": clock.now()})
