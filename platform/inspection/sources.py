"""What each kind of audit report says: events, orders and runs of one laboratory, and of nothing else."""

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Coalesce, Now

from audit.models import Event
from casefile import trail
from engine_queue.models import Run, RunKind
from inspection import event_rows, periods, signatures
from inspection.asking import id_of
from inspection.event_words import in_full
from inspection.models import AuditReport
from inspection.tables import Cells, Table, Told
from orders.models import Order
from orders.patient_selectors import one_person
from registry.models import ModelVersion

PAGE = 1_000


def told(report: AuditReport) -> Told:
    """The report, its rows still to be read."""
    return _KINDS[report.kind](report, ZoneInfo(report.time_zone))


def _events(report: AuditReport, *conditions: Q) -> QuerySet[Event]:
    found: QuerySet[Event] = Event.objects.filter(*conditions, organisation_id=report.organisation_id)
    return found


def _order(report: AuditReport, zone: ZoneInfo) -> Told:
    order = Order.objects.select_related("test_version__definition", "ordering_organisation").get(pk=id_of(report.asked, "order"))
    events = _events(report, trail.about([order]) | _reports_about(report, [order], one_person(order.patient_id)))
    facts = [
        ("Order", order.accession), ("Ordered by", order.ordering_organisation.name), ("Test", str(order.test_version)),
        ("Priority", order.priority.upper()), ("State", order.state.replace("_", " ")), ("Placed", in_full(order.placed_at, zone)),
    ]  # fmt: skip
    return Told(facts, [_looks(events.filter(action__in=trail.READS), zone), event_rows.table(events, zone)], events.count())


def _patient(report: AuditReport, zone: ZoneInfo) -> Told:
    orders, records = _orders_of_patient(report)
    events = _events(report, trail.about(orders, records) | _reports_about(report, orders, records))
    facts = [("Patient", report.asked["patient"]["words"]), ("Orders", ", ".join(order.accession for order in orders))]
    return Told(facts, [event_rows.table(events, zone)], events.count())


def _access(report: AuditReport, zone: ZoneInfo) -> Told:
    orders, records = _orders_of_patient(report)
    looks = _events(report, trail.reads_of(records) | (Q(action__in=trail.READS) & _reports_about(report, orders, records)))
    facts = [("Patient", report.asked["patient"]["words"]), ("Orders", ", ".join(order.accession for order in orders))]
    caption = "Each look of at most ten minutes, the oldest first"
    tables = [_looks(looks, zone), event_rows.table(looks, zone, name="looks", caption=caption)]
    return Told(facts, tables, looks.count(), ["What an order's own pages read again by themselves is one look."])


def _person(report: AuditReport, zone: ZoneInfo) -> Told:
    since, until = periods.moments(report.asked, zone)
    events = _events(report, Q(actor_id=id_of(report.asked, "person"), at__gte=since, at__lt=until))
    facts = [("Person", report.asked["person"]["words"]), ("Period", periods.words(report.asked))]
    return Told(facts, [event_rows.table(events, zone)], events.count())


def _period(report: AuditReport, zone: ZoneInfo) -> Told:
    since, until = periods.moments(report.asked, zone)
    events = _events(report, Q(at__gte=since, at__lt=until))
    return Told([("Period", periods.words(report.asked))], [event_rows.table(events, zone)], events.count())


def _orders_of_patient(report: AuditReport) -> tuple[list[Order], set[UUID]]:
    """His orders here, and all his records: the one that was asked about may have been merged since."""
    records = one_person(id_of(report.asked, "patient"))
    here = Order.objects.filter(performing_laboratory_id=report.organisation_id, patient_id__in=records)
    return list(here.order_by("placed_at")), records


def _reports_about(report: AuditReport, orders: Sequence[Order], records: Collection[UUID]) -> Q:
    """The other audit reports of this laboratory about one of these orders or records."""
    ids = [[str(order.pk) for order in orders], [str(pk) for pk in records]]
    about = Q(asked__order__id__in=ids[0]) | Q(asked__patient__id__in=ids[1])
    found = AuditReport.objects.filter(about, organisation_id=report.organisation_id).exclude(pk=report.pk)
    return Q(object_type="inspection.auditreport", object_id__in=[str(pk) for pk in found.values_list("pk", flat=True)])


def _looks(seen: QuerySet[Event], zone: ZoneInfo) -> Table:
    rows = ((one.name, str(one.times), in_full(one.first, zone), in_full(one.last, zone)) for one in trail.grouped(seen))
    return Table("people", "Who looked, the latest first", ("who", "looks", "first", "last"), rows, "Nobody has looked.")


def _model(report: AuditReport, zone: ZoneInfo) -> Told:
    since, until = periods.moments(report.asked, zone)
    model = ModelVersion.objects.get(pk=id_of(report.asked, "model"))
    runs = Run.objects.filter(
        organisation_id=report.organisation_id, model_version=model, created_at__gte=since, created_at__lt=until
    ).exclude(kind=RunKind.QUESTION)
    facts = [
        ("Model version", str(model)), ("Period", periods.words(report.asked)), ("Digest", model.digest),
        ("Weights, SHA-256", model.weights_sha256), ("Registered", in_full(model.created_at, zone)),
    ]  # fmt: skip
    columns = (
        "order", "priority", "kind", "state", "deployment", "precision", "reference", "begun", "scored", "results",
        "reports", "run",
    )  # fmt: skip
    table = Table("runs", "Runs, the oldest first", columns, _run_rows(runs, zone), "No run.", (0, 1, 2, 3, 4, 5, 8, 9, 10))
    return Told(facts, [table], runs.count())


def _run_rows(runs: QuerySet[Run], zone: ZoneInfo) -> Iterator[Cells]:
    keys = list(runs.order_by("created_at", "pk").values_list("pk", flat=True))
    for first in range(0, len(keys), PAGE):
        page = Run.objects.in_bulk(keys[first : first + PAGE])
        numbers = {run.order_id for run in page.values() if run.order_id}
        orders = {order.pk: order for order in Order.objects.filter(pk__in=numbers).prefetch_related("reports")}
        for key in keys[first : first + PAGE]:
            run = page[key]
            yield _run_cells(run, orders.get(run.order_id) if run.order_id else None, zone)


def _run_cells(run: Run, order: Order | None, zone: ZoneInfo) -> Cells:
    versions = [one for one in order.reports.all() if one.run_id == run.pk] if order else []
    reports = "; ".join(f"{one.number} {one.get_kind_display().lower()}, {one.state.replace('_', ' ')}" for one in versions)
    return (
        order.accession if order else "", order.priority.upper() if order else "", run.get_kind_display().lower(), run.state,
        run.deployment_id, run.precision, run.reference_digest, _at(run.created_at, zone), _at(run.scored_at, zone),
        f"{run.items_done} of {run.items_total}", reports, str(run.pk),
    )  # fmt: skip


def _turnaround(report: AuditReport, zone: ZoneInfo) -> Told:
    since, until = periods.moments(report.asked, zone)
    placed = Order.objects.filter(performing_laboratory_id=report.organisation_id, placed_at__gte=since, placed_at__lt=until)
    late = placed.filter(report_due__lt=Coalesce("ended_at", Now()))
    facts = [
        ("Period", f"orders placed {periods.words(report.asked)}"), ("Orders", f"{placed.count():,}"),
        ("Past the time promised for their report", f"{late.count():,}"),
    ]  # fmt: skip
    columns = (
        "order", "priority", "test", "state", "placed", "accepted", "started", "scored", "ended", "result due", "report due",
        "result in time", "report in time", "minutes to result", "of them on hold",
    )  # fmt: skip
    notes = ["Minutes are those of the clock on the wall. An order that is open or was cancelled after its time counts as late."]
    table = Table(
        "orders",
        "Orders by when they were placed",
        columns,
        _turnaround_rows(placed, zone),
        "No order.",
        (0, 1, 2, 3, 4, 7, 8, 11, 12, 13, 14),
    )
    return Told(facts, [table], placed.count(), notes)


def _turnaround_rows(placed: QuerySet[Order], zone: ZoneInfo) -> Iterator[Cells]:
    held = Sum(Coalesce("holds__until", Now()) - Coalesce("holds__since", Now()))
    keys = list(placed.order_by("placed_at", "pk").values_list("pk", flat=True))
    for first in range(0, len(keys), PAGE):
        page = placed.model.objects.filter(pk__in=keys[first : first + PAGE]).select_related("test_version__definition")
        for order in page.annotate(held=held, moment=Now()).order_by("placed_at", "pk"):
            yield _turnaround_cells(order, order.moment, zone)


def _turnaround_cells(order: Order, now: datetime, zone: ZoneInfo) -> Cells:
    moments = (order.placed_at, order.accepted_at, order.started_at, order.scored_at, order.ended_at)
    dues = (order.result_due, order.report_due)
    ends = (order.scored_at or order.ended_at or now, order.ended_at or now)
    kept = ("" if due is None else "yes" if end <= due else "no" for due, end in zip(dues, ends, strict=True))
    minutes = f"{(order.scored_at - order.placed_at).total_seconds() / 60:.1f}" if order.scored_at else ""
    held = order.held  # type: ignore[attr-defined]  # annotated
    return (
        order.accession, order.priority.upper(), str(order.test_version), order.state.replace("_", " "),
        *(_at(one, zone) for one in (*moments, *dues)), *kept, minutes, f"{held.total_seconds() / 60:.1f}" if held else "0",
    )  # fmt: skip


def _at(moment: datetime | None, zone: ZoneInfo) -> str:
    return in_full(moment, zone) if moment else ""


_KINDS: dict[str, Callable[[AuditReport, ZoneInfo], Told]] = {
    "order": _order,
    "patient": _patient,
    "access": _access,
    "person": _person,
    "period": _period,
    "model": _model,
    "turnaround": _turnaround,
    "signatures": signatures.told,
}
