"""What a reader may see, by id or by number: orders, and what was asked for by FHIR and is no order yet."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Exists, Max, OuterRef, Q, QuerySet, Subquery

from audit.models import Event
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotFound
from foundation.reasons import Reason
from interop.fhir import systems
from interop.fhir.references import stored_system
from interop.models import FhirOrder
from orders.models import Order, Patient, PatientIdentifier, Specimen

_RELATED = (
    "patient", "specimen", "intake", "performing_laboratory", "placed_by", "test_version__definition", "asked_by_fhir",
    "late_entry__downtime", "late_entry__taken_by",
)  # fmt: skip
Row = Order | FhirOrder
SLOW = timedelta(minutes=1)  # a check takes seconds, as a rule
LISTED = 50


@dataclass(frozen=True)
class Number:
    """`system|value`, `|value` (of no system) or `value` (of any)."""

    value: str
    system: str | None = None


@dataclass(frozen=True)
class Wanted:
    """Which orders; what is None lets everything through."""

    pk: UUID | None = None
    identifier: Number | None = None
    patient: Number | None = None


@dataclass(frozen=True)
class Page:
    """Some of what was found, the newest first, and how many there are."""

    rows: list[Row]
    total: int
    more: bool


def one(actor: Actor, pk: UUID) -> Row:
    """An order, or what was asked for and is none yet. Raises `NotFound`."""
    order: Order | None = _orders(actor).filter(pk=pk).first()
    asked: FhirOrder | None = None if order else _asked(actor).filter(pk=pk).first()
    if asked is not None and asked.order_id is not None:  # it came of another door as well, and has another id there
        order = _orders(actor).filter(pk=asked.order_id).first()
    found = order or asked
    if found is None:
        raise NotFound
    return found


def search(actor: Actor, wanted: Wanted, *, orders_only: bool, after: tuple[datetime, UUID] | None, limit: int) -> Page:
    """Both, newest first, behind the one that came at a time under an id."""
    orders = _orders(actor).filter(_of_orders(actor, wanted))
    asked = _asked(actor).none() if orders_only else _asked(actor).exclude(state="placed").filter(_of_asked(wanted))
    total = orders.count() + (0 if orders_only else asked.count())
    first = [*_behind(orders, "placed_at", after, limit + 1), *_behind(asked, "asked_at", after, limit + 1)]
    rows = sorted(first, key=moment, reverse=True)
    return Page(rows[:limit], total, len(rows) > limit)


def unsettled(actor: Actor) -> list[FhirOrder]:
    """What is no order yet and needs a person, or waits for its file longer than a check takes: STAT first, then the longest."""
    late = clock.now() - SLOW
    rows = _asked(actor).filter(Q(state="parked") | Q(state="waiting", asked_at__lt=late))
    return list(rows.select_related("ordering_organisation").order_by("rank", "asked_at")[:LISTED])


def moment(row: Row) -> tuple[datetime, UUID]:
    """By which rows are sorted."""
    return (row.placed_at if isinstance(row, Order) else row.asked_at), row.pk


def changed(rows: Iterable[Row]) -> dict[UUID, datetime]:
    """When each was last changed: by its last event."""
    found = {row.pk: moment(row)[0] for row in rows}
    about = Event.objects.filter(object_type="orders.order", object_id__in=[str(pk) for pk in found])
    for name, at in about.values_list("object_id").annotate(last=Max("at")):
        found[UUID(name)] = at
    return found


def patient(actor: Actor, pk: UUID) -> tuple[Patient, datetime]:
    """A patient whom an order of the reader is for, and since when he is known like this. Raises `NotFound`."""
    order = _orders(actor).filter(patient_id=pk).prefetch_related("patient__identifiers").order_by("-placed_at").first()
    if order is None:
        raise NotFound
    return order.patient, order.placed_at


def specimen(actor: Actor, pk: UUID) -> tuple[Specimen, FhirOrder | None, datetime]:
    """A specimen that an order of the reader is on, with what was said of it. Raises `NotFound`."""
    order = _orders(actor).filter(specimen_id=pk).order_by("-placed_at").first()
    if order is None:
        raise NotFound
    return order.specimen, asked_for(order), order.placed_at


def asked_for(order: Order) -> FhirOrder | None:
    """What an order was asked for with, where it came by FHIR."""
    found: FhirOrder | None = getattr(order, "asked_by_fhir", None)
    return found


def replaced(order: Order) -> UUID | None:
    """The order that one of those found here replaces, where the reader may see it."""
    found: UUID | None = getattr(order, "replaced_in_reach", None)
    return found


def _orders(actor: Actor) -> QuerySet[Order]:
    before = Order.objects.for_actor(actor).filter(pk=OuterRef("replaces_id")).values("pk")
    after = Order.objects.filter(replaces=OuterRef("pk"), accepted_at__isnull=False)
    rows: QuerySet[Order] = Order.objects.for_actor(actor).select_related(*_RELATED)
    rows = rows.annotate(replaced_in_reach=Subquery(before), was_replaced=Exists(after))
    return rows.defer("intake__problems", "intake__facts")


def _asked(actor: Actor) -> QuerySet[FhirOrder]:
    rows: QuerySet[FhirOrder] = FhirOrder.objects.for_actor(actor).select_related("performing_laboratory")
    return rows


def _behind(rows: QuerySet[Any], column: str, after: tuple[datetime, UUID] | None, limit: int) -> list[Any]:
    if after is not None:
        at, pk = after
        rows = rows.filter(**{f"{column}__lte": at}).filter(Q(**{f"{column}__lt": at}) | Q(pk__lt=pk))
    return list(rows.order_by(f"-{column}", "-pk")[:limit])


def _of_orders(actor: Actor, wanted: Wanted) -> Q:
    condition = Q()
    if wanted.pk is not None:
        condition &= Q(pk=wanted.pk)
    if wanted.identifier is not None:
        condition &= _numbered(wanted.identifier)
    if wanted.patient is not None:
        condition &= _of_patient(actor, wanted.patient)
    return condition


def _numbered(number: Number) -> Q:
    placer = Q(placer_number=number.value)
    if number.system is None:
        return placer | Q(accession=number.value)
    if number.system in (systems.ACCESSION, systems.REPORT):
        return Q(accession=number.value)
    return placer & Q(placer_system=number.system)


def _of_patient(actor: Actor, number: Number) -> Q:
    rows = PatientIdentifier.objects.for_actor(actor).filter(value=number.value, retired_at=None)
    if number.system is not None:
        rows = rows.filter(system=_stored(number.system))
    unsettled = Q(attention=str(Reason.IDENTITY_MISMATCH), stated_mrn=number.value)  # its patient has no number yet
    return Q(patient__in=rows.values("patient_id")) | unsettled


def _of_asked(wanted: Wanted) -> Q:
    condition = Q()
    if wanted.pk is not None:
        condition &= Q(pk=wanted.pk)
    if (number := wanted.identifier) is not None:
        condition &= Q(placer_number=number.value)
        condition &= Q() if number.system is None else Q(placer_system=number.system)
    if (number := wanted.patient) is not None:
        condition &= _of_its_patient(number)
    return condition


def _of_its_patient(number: Number) -> Q:
    """By the number that the patient is known by, or by another one that was said of him."""
    own = number.system or ""
    first = Q(request__patient__mrn=number.value)
    if number.system is not None and own.startswith("urn:uuid:"):
        first &= Q(request__patient__mrn_system="", request__ordering_organisation_id=_stored(own))
    elif number.system is not None:
        first &= Q(request__patient__mrn_system=own)
    said = {"value": number.value, **({} if number.system is None else {"system": own})}
    return first | Q(request__patient__others__contains=[said])


def _stored(system: str) -> str:
    """An organisation's own numbers stand under its bare id."""
    try:
        return stored_system(system, UUID(system.removeprefix("urn:uuid:")))
    except ValueError:
        return system
