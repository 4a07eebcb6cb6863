"""What a list of orders is narrowed by, as conditions over columns that lie in the indexes of the worklist."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.db.models import Case, F, Q, QuerySet, When
from django.db.models.functions import Upper

from accounts.roles import Verb
from foundation import clock
from foundation.actor import Actor
from orders.models import Order, Patient, PatientIdentifier
from registry.priority import PRIORITY_RANK, Priority

SEARCH_MINIMUM = 2  # characters
SEARCH_WITHIN = 3  # characters from which a text is looked for within a value: shorter ones have no trigram to look up
FEW = 2_000  # finds up to which they are looked up one by one; of more, the lists themselves are read
REVIEW = ("awaiting_review", "awaiting_second_review")
DUE_NOW = Case(When(scored_at=None, then=F("result_due")), default=F("report_due"))  # results until they are there, then the report
SORTS = {"urgency": "by urgency", "due": "by due time", "placed": "newest first"}
LABELS = {
    "open": "All open",
    "mine": "Mine",
    "unassigned": "Unassigned",
    "running": "Running",
    "review": "Awaiting review",
    "risk": "At risk",
    "late": "Late",
    "unsigned": "Report overdue",
    "attention": "Needs attention",
    "hold": "On hold",
    "done": "Closed",
}

Search = Callable[[QuerySet[Order]], QuerySet[Order]]


@dataclass(frozen=True)
class Filters:
    """What a person asked for. Everything here narrows; nothing widens what he may see."""

    chip: str = "open"
    search: str = ""
    priority: str = ""
    state: str = ""
    test: UUID | None = None  # a test definition
    organisation: UUID | None = None  # that ordered
    site: UUID | None = None  # from where it was ordered, or at which it is performed
    assignee: UUID | None = None
    nobody: bool = False  # nobody works on it
    placed_from: datetime | None = None
    placed_until: datetime | None = None  # the first moment that is not in it
    due_from: datetime | None = None
    due_until: datetime | None = None
    sort: str = "urgency"

    @property
    def closed(self) -> bool:
        """Whether closed orders are listed."""
        return self.chip == "done"


def narrowed(rows: QuerySet[Order], filters: Filters, versions: list[UUID], found: Search) -> QuerySet[Order]:
    """The rows that all filters but the chip let through; `versions` are those of the test asked for, `found` is its `search`."""
    if filters.priority:
        rows = rows.filter(rank=PRIORITY_RANK[Priority(filters.priority)])
    if filters.state:
        rows = rows.filter(state=filters.state)
    if filters.test:
        rows = rows.filter(test_version__in=versions)
    if filters.organisation:
        rows = rows.filter(ordering_organisation=filters.organisation)
    if filters.site:
        rows = rows.filter(Q(performing_site=filters.site) | Q(ordering_site=filters.site))
    if filters.assignee or filters.nobody:
        rows = rows.filter(assignee=filters.assignee)
    return found(_within(rows, filters))


def _within(rows: QuerySet[Order], filters: Filters) -> QuerySet[Order]:
    """Placed, and due, in the periods asked for."""
    bounds = {
        "placed_at__gte": filters.placed_from, "placed_at__lt": filters.placed_until,
        "due_now__gte": filters.due_from, "due_now__lt": filters.due_until,
    }  # fmt: skip
    asked = {lookup: moment for lookup, moment in bounds.items() if moment is not None}
    return rows.alias(due_now=DUE_NOW).filter(**asked) if asked else rows


def condition(chip: str, actor: Actor) -> Q:
    """What an open order has to be for a chip."""
    conditions = {
        "mine": Q(assignee_id=actor.id) if works(actor) else Q(placed_by_id=actor.id),
        "unassigned": Q(assignee_id=None),
        "running": Q(state="in_analysis"),
        "review": Q(state__in=REVIEW),
        "risk": Q(risk="at_risk"),
        "late": Q(scored_at=None) & (_past("result_due") | _past("report_due")),  # the laboratory can still hurry
        "unsigned": Q(scored_at__isnull=False) & _past("report_due"),  # done, but nobody has put a name to it
        "attention": ~Q(attention=""),
        "hold": ~Q(hold_reason=""),
        "done": Q(pk__in=[]),
    }
    return conditions.get(chip, Q())


def works(actor: Actor) -> bool:
    """Whether this person works on orders: his are those he is to work on. Of anybody else, they are those he placed."""
    return bool(actor.organisations(Verb.ASSIGN))


def _past(column: str) -> Q:
    """A due time has passed; the clocks of an order on hold stand where they were stopped."""
    stopped = Q(clock_stopped_at__isnull=False, **{f"{column}__lt": F("clock_stopped_at")})
    return stopped | Q(clock_stopped_at=None, **{f"{column}__lt": clock.now()})


def search(text: str) -> Search:
    """What keeps, of any rows, those that a text is found in: accession, record number, name.

    Few finds are looked up in the trigram indexes, one look-up per column, which an OR over joined tables cannot use. Where a text
    is found everywhere ("A26"), that would read every order there is: then the numbers are compared in the index of the list.
    """
    text = text.strip()
    if len(text) < SEARCH_MINIMUM:
        return lambda rows: rows
    how = "contains" if len(text) >= SEARCH_WITHIN else "startswith"
    patients, numbers = _of_patients(how, text), _of_numbers(how, text)
    if _few([*patients, *numbers]):
        of_patients = [Order.objects.filter(patient__in=ids).values("pk") for ids in patients]
        few = numbers[0].union(numbers[1], *of_patients)
        return lambda rows: rows.filter(pk__in=few)
    said = [Q(**{f"upper_{column}__{how}": text.upper()}) for column in ("accession", "mrn")]
    everywhere = reduce(or_, [*said, *(Q(patient__in=ids) for ids in patients)])
    return lambda rows: rows.alias(upper_accession=Upper("accession"), upper_mrn=Upper("stated_mrn")).filter(everywhere)


def _of_patients(how: str, text: str) -> list[QuerySet[Any]]:
    return [
        Patient.objects.filter(**{f"family_name__i{how}": text}).values("pk"),
        Patient.objects.filter(**{f"given_name__i{how}": text}).values("pk"),
        PatientIdentifier.objects.filter(**{f"value__i{how}": text}).values("patient_id"),
    ]


def _of_numbers(how: str, text: str) -> list[QuerySet[Any]]:
    return [Order.objects.filter(**{f"{column}__i{how}": text}).values("pk") for column in ("accession", "stated_mrn")]


def _few(lookups: list[QuerySet[Any]]) -> bool:
    """Whether all of them together find few."""
    first, *others = (ids[: FEW + 1] for ids in lookups)
    return first.union(*others, all=True).count() <= FEW
