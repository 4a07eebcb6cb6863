"""Scores and reports, through the one door that the pages use."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from ninja import Router, Schema
from ninja.params.functions import Query
from pydantic import Field

from accounts.roles import Verb
from audit import reads
from foundation.actor import Actor
from foundation.reasons import Reason
from interop.api import cursors, shapes
from interop.api.security import ApiRequest, Token
from interop.api.writing import KEY, done_once
from interop.idempotency import Done
from interop.problems import ApiError
from orders import selectors as orders
from orders.models import Order
from reports import delivered, delivering, issuing, release, selectors, services
from reports.content import Content, ResultLine
from reports.models import ReportVersion

router = Router(tags=["Results"])
LIMIT: Any = Query(100, ge=1, le=1000)
REASONS = {
    services.Door.NOT_SCORED: Reason.REPORT_NOT_SCORED,
    services.Door.RUN_AGAIN: Reason.REPORT_NOT_SCORED,
    services.Door.WITHHELD: Reason.REPORT_WITHHELD,
    services.Door.IN_ERROR: Reason.ORDER_WRONG_PATIENT,
    services.Door.RECALLED: Reason.REPORT_RECALLED,
    services.Door.TOO_LARGE: Reason.REPORT_TOO_LARGE,
}


class ResultPage(Schema):
    """A page of results, in the order of the file, with what decides what they are worth."""

    accession: str
    intended_use: str
    report_state: str
    complete: bool
    released: bool
    items_done: int
    items_total: int
    protocol: dict[str, Any]
    calibration_sha256: str = Field(description="of the table that probabilities are read from; blank: there are none")
    results: list[ResultLine]
    next: str | None


class Acknowledged(Schema):
    """That a report was read, by the one it was delivered to."""

    accession: str
    state: str
    acknowledged_at: datetime | None


def _file(media: str) -> dict[str, Any]:
    content = {media: {"schema": {"type": "string", "format": "binary"}}}
    return {"responses": {200: {"description": "OK", "content": content}}}


@router.get("/orders/{uuid:pk}/results", response=ResultPage, auth=Token(Verb.VIEW_ORDER))
@cursors.named_alone
def list_results(
    request: ApiRequest,
    pk: UUID,
    after: str | None = shapes.AFTER,
    limit: int = LIMIT,
) -> ResultPage:
    """Scores: in the laboratory as soon as they are there, elsewhere once a report with them is released."""
    order = orders.order_for(request.auth, pk)
    part = selectors.results_after(request.auth, order, after=_place(after) if after else -1, limit=limit)
    if part is None:
        raise _closed(request.auth, order)
    reads.seen(actor=request.auth, action="results.viewed", obj=order, organisation_id=order.performing_laboratory_id)
    behind = cursors.cursor(part.lines[-1].ordinal) if part.more else None
    same = {name: getattr(part, name) for name in ("complete", "released", "items_done", "items_total", "report_state", "protocol")}
    return ResultPage(
        accession=order.accession,
        intended_use=order.test_version.intended_use,
        calibration_sha256=part.calibration,
        results=part.lines,
        next=behind,
        **same,
    )


@router.get("/orders/{uuid:pk}/results.csv", auth=Token(Verb.VIEW_ORDER), response={200: None}, openapi_extra=_file("text/csv"))
def get_csv(request: ApiRequest, pk: UUID) -> HttpResponse:
    """Every score as CSV, unrounded; the name and each row say when it is incomplete."""
    order = orders.order_for(request.auth, pk)
    export = selectors.results_export(request.auth, order)
    if export is None:
        raise _closed(request.auth, order)
    services.exported(actor=request.auth, order=order)
    return _attachment(export.text().encode(), "text/csv; charset=utf-8", export.filename)


@router.get("/orders/{uuid:pk}/report", response=Content, auth=Token(Verb.VIEW_ORDER))
def get_report(request: ApiRequest, pk: UUID) -> HttpResponse:
    """The report as its canonical JSON, the very bytes that its SHA-256 is of."""
    order = orders.order_for(request.auth, pk)
    version = _version(request.auth, order)
    services.read(actor=request.auth, order=order, version=version, action="report.viewed")
    return HttpResponse(version.content.encode(), content_type="application/json", headers={"ETag": f'"{version.content_sha256}"'})


@router.get(
    "/orders/{uuid:pk}/report.pdf", auth=Token(Verb.VIEW_ORDER), response={200: None}, openapi_extra=_file("application/pdf")
)
def get_pdf(request: ApiRequest, pk: UUID) -> HttpResponse:
    """The report as PDF."""
    order = orders.order_for(request.auth, pk)
    version = _version(request.auth, order)
    services.read(actor=request.auth, order=order, version=version, action="report.downloaded")
    return _attachment(issuing.as_pdf(version), "application/pdf", f"{order.accession}-report-{version.number}.pdf")


@router.post("/orders/{uuid:pk}/report/acknowledge", response=Acknowledged, auth=Token(Verb.VIEW_ORDER))
def acknowledge_report(request: ApiRequest, pk: UUID, idempotency_key: str | None = KEY) -> HttpResponse:
    """Say that the report that was delivered last to the owner of the token was read. It is fetched first."""
    order = orders.order_for(request.auth, pk)

    def work() -> Done:
        told = delivered.to_acknowledge(request.auth, order)
        delivering.acknowledge(delivery=told, actor=request.auth)
        kept = delivered.to_acknowledge(request.auth, order)
        said = Acknowledged(accession=order.accession, state=kept.state, acknowledged_at=kept.acknowledged_at)
        return Done(200, said.model_dump_json(), order.ordering_organisation_id, order.pk)

    return done_once(request, idempotency_key, work, seen=lambda found: orders.order_for(request.auth, found))


def _version(actor: Actor, order: Order) -> ReportVersion:
    shown = services.show(actor=actor, order=order)
    delivering.opened_recall(actor=actor, order=order)
    door = shown.door if shown.version is None else services.closed(order)
    if shown.version is None or door in (services.Door.IN_ERROR, services.Door.RECALLED):  # its bytes do not say so
        raise ApiError(409, REASONS[door])
    return shown.version


def _closed(actor: Actor, order: Order) -> ApiError:
    seen = release.may_see_scores(actor, order)
    return ApiError(409, Reason.REPORT_NOT_SCORED if seen else REASONS[services.closed(order)])


def _attachment(body: bytes, content_type: str, name: str) -> HttpResponse:
    return HttpResponse(body, content_type=content_type, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _place(after: str) -> int:
    (ordinal,) = cursors.read_cursor(after, 1)
    if not (ordinal.isdecimal() and len(ordinal) < 10):
        raise cursors.bad_parameter("after", "is no cursor that this list has given")
    return int(ordinal)
