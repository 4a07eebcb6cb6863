"""What people may read of patients and of open questions about them. Every function takes the actor, or a row handed out to him."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery

from accounts.models import User
from accounts.roles import Verb
from foundation.actor import Actor
from foundation.errors import NotFound
from orders.filters import SEARCH_MINIMUM, SEARCH_WITHIN
from orders.identity import system_of
from orders.models import IdentityCheck, Merge, Order, Patient, PatientIdentifier, Specimen
from registry.priority import PRIORITY_RANK, Priority

FOUND = 50  # patients a search shows
LISTED = 200  # orders and specimens on a page


@dataclass(frozen=True)
class Search:
    """What a search found. Nothing is listed before somebody asks for it."""

    text: str
    patients: list[Patient]
    more: bool = False
    too_short: bool = False


@dataclass(frozen=True)
class Entry:
    """One thing that happened to a record."""

    at: datetime
    title: str
    by: User | None
    words: str = ""
    changes: tuple[tuple[str, str, str], ...] = ()  # field, before, after


def open_checks(actor: Actor) -> list[IdentityCheck]:
    """The identity checks this actor may settle: STAT on top, then the longest waiting of each priority."""
    rows = _waiting(actor).select_related(
        "known", "order__patient", "order__test_version__definition", "order__ordering_organisation"
    )
    return list(rows.prefetch_related("order__patient__identifiers", "known__identifiers").order_by("order__rank", "opened_at"))


def open_checks_count(actor: Actor) -> tuple[int, int]:
    """How many there are, and how many of them are STAT; nothing is read for somebody who settles none."""
    if not actor.organisations(Verb.EDIT_IDENTITY):
        return 0, 0
    stat = Count("pk", filter=Q(order__rank=PRIORITY_RANK[Priority.STAT]))
    counted = _waiting(actor).aggregate(all=Count("pk"), stat=stat)
    return counted["all"], counted["stat"]


def _waiting(actor: Actor) -> QuerySet[IdentityCheck]:
    rows: QuerySet[IdentityCheck] = IdentityCheck.objects.for_actor(actor).filter(state="open")
    return rows


def checks_of(order: Order) -> list[IdentityCheck]:
    """The identity checks of an order, the newest first."""
    rows = IdentityCheck.objects.filter(order=order).select_related("known__organisation", "decided_by", "order")
    return list(rows.prefetch_related("known__identifiers").order_by("-pk"))


def patient_for(actor: Actor, pk: UUID) -> Patient:
    """A record of an organisation this actor works in. Raises `NotFound`: to a stranger it does not exist."""
    found: Patient | None = Patient.objects.for_actor(actor).select_related("organisation").filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def search(actor: Actor, text: str) -> Search:
    """Patients of the actor's own organisations, by a number or a name."""
    text = text.strip()
    if len(text) < SEARCH_MINIMUM:
        return Search(text, [], too_short=bool(text))
    how = "icontains" if len(text) >= SEARCH_WITHIN else "istartswith"
    parts: list[QuerySet[Any]] = [
        Patient.objects.filter(**{f"family_name__{how}": text}).values("pk"),
        Patient.objects.filter(**{f"given_name__{how}": text}).values("pk"),
        PatientIdentifier.objects.filter(**{f"value__{how}": text}).values("patient_id"),
    ]
    reach = Patient.objects.for_actor(actor).filter(pk__in=parts[0].union(*parts[1:]))
    rows = _that_speak_of_somebody(reach).prefetch_related("identifiers", "merged_by__survivor")
    listed = list(rows.order_by("family_name", "given_name", "birth_date", "pk")[: FOUND + 1])
    return Search(text, listed[:FOUND], more=len(listed) > FOUND)


def _that_speak_of_somebody(rows: QuerySet[Patient]) -> QuerySet[Patient]:
    """Without the records that an identity decision has left without number and order.

    Looked up row by row: of an EXISTS the database would make a list of every number there is.
    """
    its_own: dict[str, QuerySet[Any]] = {
        "a_number": PatientIdentifier.objects.filter(patient=OuterRef("pk")),
        "an_order": Order.objects.filter(patient=OuterRef("pk")),
        "a_merge": Merge.objects.filter(merged=OuterRef("pk"), state="standing"),
    }
    found = rows.alias(**{name: Subquery(one.values("pk")[:1]) for name, one in its_own.items()})
    return found.filter(Q(a_number__isnull=False) | Q(an_order__isnull=False) | Q(a_merge__isnull=False))


def numbers(patient: Patient) -> list[PatientIdentifier]:
    """Its numbers, those in use first, each in the order in which it came."""
    rows = PatientIdentifier.objects.filter(patient=patient).select_related("added_by", "retired_by").order_by("pk")
    return sorted(rows, key=lambda one: one.retired_at is not None)


def orders_of(actor: Actor, patient: Patient) -> list[Order]:
    """Its orders, as far as this actor may see them, the newest first."""
    rows = Order.objects.for_actor(actor).filter(patient=patient).select_related("test_version__definition")
    return list(rows.order_by("-placed_at")[:LISTED])


def specimens_of(patient: Patient) -> list[Specimen]:
    """Its specimens, the newest first."""
    return list(Specimen.objects.filter(patient=patient).order_by("-collected_at")[:LISTED])


def survivor(patient: Patient) -> Patient | None:
    """The record it was merged into, at the end of the chain; None for one that stands for itself."""
    found, standing = None, _merge_of(patient)
    while standing is not None:
        found = standing.survivor
        standing = _merge_of(found)
    return found


def _merge_of(patient: Patient) -> Merge | None:
    merge: Merge | None = Merge.objects.filter(merged=patient, state="standing").select_related("survivor").first()
    return merge


def one_person(patient_id: UUID) -> set[UUID]:
    """The ids of all records that stand merged with this one, at any distance, and its own."""
    found: set[UUID] = set()
    more = {patient_id}
    while more:
        found |= more
        either = Merge.objects.filter(Q(survivor_id__in=more) | Q(merged_id__in=more), state="standing")
        more = {pk for pair in either.values_list("survivor_id", "merged_id") for pk in pair} - found
    return found


def merges(patient: Patient) -> list[Merge]:
    """Merges in which it is one of the two, the newest first."""
    rows = Merge.objects.filter(Q(survivor=patient) | Q(merged=patient)).select_related("survivor", "merged", "by", "undone_by")
    return list(rows.order_by("-pk"))


def merge_for(actor: Actor, pk: int) -> Merge:
    """A merge in the actor's own organisations. Raises `NotFound`."""
    rows = Merge.objects.for_actor(actor).select_related("survivor__organisation", "merged__organisation")
    found: Merge | None = rows.filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def by_number(patient: Patient, system: str, number: str) -> Patient | None:
    """Who else of its organisation has this number in use."""
    named = PatientIdentifier.objects.filter(
        organisation_id=patient.organisation_id, system=system_of(patient.organisation_id, system), value=number.strip()
    )
    found = named.filter(retired_at=None).select_related("patient__organisation").first()
    return found.patient if found else None


def systems(organisations: list[UUID]) -> list[str]:
    """The systems of numbers that these organisations use beside their own."""
    own = {str(pk) for pk in organisations}
    used = PatientIdentifier.objects.filter(organisation_id__in=organisations, retired_at=None).order_by("system")
    return list(used.exclude(system__in=own).values_list("system", flat=True).distinct())


def history(patient: Patient, found: list[PatientIdentifier], joined: list[Merge]) -> list[Entry]:
    """What was changed of a record, by whom and why, the newest first."""
    told = [Entry(patient.created_at, "Record made", None)]
    for change in patient.changes.select_related("by"):
        told.append(Entry(change.at, "Corrected", change.by, change.words, tuple(change.pairs)))
    for one in found:
        if one.added_at:
            told.append(Entry(one.added_at, f"Number {one.value} added", one.added_by))
        if one.retired_at:
            told.append(Entry(one.retired_at, f"Number {one.value} retired", one.retired_by, one.retired_words))
    for merge in joined:
        told += _of_merge(merge, patient)
    return sorted(told, key=lambda entry: entry.at, reverse=True)


def _of_merge(merge: Merge, patient: Patient) -> list[Entry]:
    with_whom = f"{merge.merged} merged into it" if merge.survivor_id == patient.pk else f"Merged into {merge.survivor}"
    told = [Entry(merge.at, with_whom, merge.by, merge.words)]
    if merge.undone_at:
        told.append(Entry(merge.undone_at, "Merge undone", merge.undone_by, merge.undone_words))
    return told
