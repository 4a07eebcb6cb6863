"""Everything that happened around an order, for its auditors: who, when, from where, and who looked."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Max, Min, Q, QuerySet

from accounts.roles import Verb
from audit.models import Event
from casefile.models import Attachment, Comment, Draft
from engine_queue.models import Job, Run
from foundation.actor import Actor
from foundation.errors import NotFound, NotPermitted
from orders.models import Demotion, HoldRequest, Order, PatientIdentifier
from orders.patient_selectors import one_person
from reports.models import Critical, ReportDelivery, ReportVersion

PAGE = 100
_OF_ORDER = ("order.viewed", "break_glass.order_seen", "audit.viewed", "audit.exported", "results.viewed", "results.exported")
READS = (
    *_OF_ORDER, "report.viewed", "report.downloaded", "attachment.downloaded", "intake.viewed", "fhir.viewed", "patient.viewed",
    "question.named_somebody", "audit_report.viewed", "audit_report.taken",
)  # fmt: skip
# filter → (words, the kinds of objects whose events it shows)
PARTS = {
    "order": ("Order", ("orders.order", "orders.holdrequest", "orders.demotion", "casefile.draft", "interop.fhirorder")),
    "input": ("Input", ("orders.intake",)),
    "work": ("Runs and jobs", ("engine_queue.run", "engine_queue.job")),
    "person": ("Patient and specimen", ("orders.patient", "orders.patientidentifier", "orders.specimen")),
    "papers": ("Comments and files", ("casefile.comment", "casefile.attachment")),
    "report": ("Report", ("reports.reportversion", "reports.reportdelivery", "reports.critical")),
}


@dataclass(frozen=True)
class Looks:
    """How often somebody looked at a patient's orders, each look of at most ten minutes."""

    name: str
    times: int
    first: datetime
    last: datetime


@dataclass(frozen=True)
class Trail:
    """One page of the events, the latest first."""

    events: list[Event]
    part: str
    page: int
    pages: int
    total: int


def order_to_audit(actor: Actor, pk: UUID) -> Order:
    """An order of a laboratory whose auditor this is. Raises `NotPermitted` for who only may see it, else `NotFound`."""
    rows = Order.objects.for_actor(actor, Verb.VIEW_AUDIT).filter(
        pk=pk, performing_laboratory_id__in=actor.organisations(Verb.VIEW_AUDIT)
    )
    related = rows.select_related("patient", "specimen", "test_version__definition", "intake", "performing_laboratory")
    found: Order | None = related.prefetch_related("patient__identifiers").first()
    if found is not None:
        return found
    if Order.objects.for_actor(actor).filter(pk=pk).exists():
        raise NotPermitted("Your role does not include the audit trail.", code="access.not-permitted")
    raise NotFound


def order_numbered(actor: Actor, accession: str) -> Order | None:
    """The order of this number, where this auditor may read its trail."""
    rows = Order.objects.for_actor(actor, Verb.VIEW_AUDIT)
    here = rows.filter(accession=accession.upper(), performing_laboratory_id__in=actor.organisations(Verb.VIEW_AUDIT))
    found: Order | None = here.first()
    return found


def trail(actor: Actor, order: Order, *, part: str = "", page: int = 1) -> Trail:
    """What happened, as far as this auditor's laboratory keeps it."""
    return page_of(_events(actor, order, part), part, page)


def page_of(rows: QuerySet[Event], part: str, page: int) -> Trail:
    """That page of these events; of pages that there are not, the nearest."""
    total = rows.count()
    pages = max(1, -(-total // PAGE))
    page = min(max(1, page), pages)
    return Trail(list(rows.order_by("-id")[(page - 1) * PAGE : page * PAGE]), part, page, pages, total)


def whole(actor: Actor, order: Order, *, part: str = "") -> Iterable[Event]:
    """All of it, oldest first, read piece by piece."""
    return _events(actor, order, part).order_by("id").iterator(chunk_size=2000)


def looks(actor: Actor, order: Order) -> list[Looks]:
    """Who looked at any order of this patient, the latest first."""
    return grouped(_of(actor).filter(reads_of(one_person(order.patient_id))))


def reads_of(patients: Collection[UUID]) -> Q:
    """The looks at anything of these records: themselves, orders, what was asked for by FHIR, inputs, files, reports."""
    theirs = Order.objects.filter(patient_id__in=patients)
    kinds: tuple[Iterable[UUID], ...] = (
        patients,
        theirs.values_list("pk", flat=True),
        theirs.values_list("intake_id", flat=True),
        _asked(theirs),
        Attachment.objects.filter(order__patient_id__in=patients).values_list("pk", flat=True),
        ReportVersion.objects.filter(order__patient_id__in=patients).values_list("pk", flat=True),
    )
    return Q(action__in=READS, object_id__in=[str(pk) for found in kinds for pk in found])


def grouped(seen: QuerySet[Event]) -> list[Looks]:
    """These looks by person, the latest first."""
    people = seen.values("actor_id", "actor_name").annotate(times=Count("id"), first=Min("at"), last=Max("at"))
    return [Looks(one["actor_name"], one["times"], one["first"], one["last"]) for one in people.order_by("-last")]


def _of(actor: Actor) -> QuerySet[Event]:
    rows: QuerySet[Event] = Event.objects.for_actor(actor)
    return rows


def _events(actor: Actor, order: Order, part: str) -> QuerySet[Event]:
    rows = _of(actor).filter(about([order]))
    if part == "reads":
        return rows.filter(action__in=READS)
    return rows.filter(object_type__in=PARTS[part][1]) if part in PARTS else rows


def about(orders: Sequence[Order], patients: Collection[UUID] = ()) -> Q:
    """Every object that hangs on these orders and records, by kind: each look-up goes through the index of events by object."""
    found = Q(pk__in=[])
    for kind, ids in _objects(orders, {*patients, *(order.patient_id for order in orders)}):
        if ids:
            found |= Q(object_type=kind, object_id__in=ids)
    return found


def _objects(orders: Sequence[Order], patients: Collection[UUID]) -> list[tuple[str, list[str]]]:
    numbers = [order.pk for order in orders]
    runs = _ids(Run.objects.filter(order_id__in=numbers))
    mine = {"order_id__in": numbers}
    asked = {*numbers, *_asked(Order.objects.filter(pk__in=numbers))}
    return [
        ("orders.order", [str(pk) for pk in numbers]),
        ("interop.fhirorder", [str(pk) for pk in asked]),
        ("orders.intake", [str(order.intake_id) for order in orders]),
        ("orders.patient", [str(pk) for pk in patients]),
        ("orders.patientidentifier", _ids(PatientIdentifier.objects.filter(patient_id__in=patients))),
        ("orders.specimen", [str(order.specimen_id) for order in orders]),
        ("orders.holdrequest", _ids(HoldRequest.objects.filter(**mine))),
        ("orders.demotion", _ids(Demotion.objects.filter(**mine))),
        ("engine_queue.run", runs),
        ("engine_queue.job", _ids(Job.objects.filter(run_id__in=runs))),
        ("casefile.draft", _ids(Draft.objects.filter(**mine))),
        ("casefile.comment", _ids(Comment.objects.filter(**mine))),
        ("casefile.attachment", _ids(Attachment.objects.filter(**mine))),
        ("reports.reportversion", _ids(ReportVersion.objects.filter(**mine))),
        ("reports.reportdelivery", _ids(ReportDelivery.objects.filter(**mine))),
        ("reports.critical", _ids(Critical.objects.filter(**mine))),
    ]


def _asked(orders: QuerySet[Order]) -> Iterable[UUID]:
    """What came by FHIR and became one of these by another door: else it has the id of its order."""
    return orders.exclude(asked_by_fhir=None).values_list("asked_by_fhir", flat=True)


def _ids(rows: QuerySet[Any]) -> list[str]:
    return [str(pk) for pk in rows.values_list("pk", flat=True)]
