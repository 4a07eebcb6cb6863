"""Report page, PDF and CSV: parse, ask one service or selector, answer."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import cast
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts.middleware import ActorRequest
from foundation.actor import Actor
from orders import selectors as orders
from orders.models import Order
from reports import around, delivered, delivering, document, issuing, selectors, services, spreadsheet
from reports.answering import private
from reports.content import parse
from reports.models import ReportDelivery, ReportVersion


@require_safe
@private
def page(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The report as a page, or the words that say why there is none yet."""
    actor = cast(ActorRequest, request).actor
    order = orders.order_to_read(actor, pk)
    shown = services.show(actor=actor, order=order)
    delivering.opened_recall(actor=actor, order=order)
    if shown.version is None:
        versions = services.versions(actor, order) if shown.door is services.Door.RUN_AGAIN else []
        return _no_report(request, order, shown.door.value, status=HTTPStatus.OK, versions=versions)
    services.read(actor=actor, order=order, version=shown.version, action="report.viewed")
    context = {"order": order, "version": shown.version, "document": document.compose(shown.version)}
    return render(request, "reports/report.html", context | around.report(actor, order))


@require_safe
@private
def pdf_file(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The report as PDF."""
    actor = cast(ActorRequest, request).actor
    order = orders.order_to_read(actor, pk)
    shown = services.show(actor=actor, order=order)
    if shown.version is None:
        return _no_report(request, order, shown.door.value, status=_refusal(shown.door))
    services.read(actor=actor, order=order, version=shown.version, action="report.downloaded")
    return _pdf(request, order, shown.version)


@require_safe
@private
def version_page(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """One version, whatever has become of it since: a superseded one is marked as such."""
    actor, order, version = _version(request, pk, number)
    services.read(actor=actor, order=order, version=version, action="report.viewed")
    context = {"order": order, "version": version, "document": document.compose(version), "numbered": True}
    return render(request, "reports/report.html", context | around.report(actor, order))


@require_safe
@private
def version_pdf(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """The bytes that were issued; the name says what has become of them since."""
    actor, order, version = _version(request, pk, number)
    services.read(actor=actor, order=order, version=version, action="report.downloaded")
    return _pdf(request, order, version)


@require_safe
@private
def version_json(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """The canonical text, the very bytes that are hashed and signed."""
    actor, order, version = _version(request, pk, number)
    services.read(actor=actor, order=order, version=version, action="report.downloaded")
    return _file(version.content.encode(), "application/json", f"{order.accession}-report-{number}.json")


@require_safe
@private
def version_csv(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """Every result of this version: the very file that it names by its digest, before it is issued and after it is superseded."""
    actor, order, version = _version(request, pk, number)
    services.read(actor=actor, order=order, version=version, action="report.downloaded")
    body = spreadsheet.of(parse(version.content)).encode()
    return _file(body, "text/csv; charset=utf-8", f"{_name(order, version)}.csv")


def _version(request: HttpRequest, pk: UUID, number: int) -> tuple[Actor, Order, ReportVersion]:
    actor = cast(ActorRequest, request).actor
    order = orders.order_to_read(actor, pk)
    return actor, order, services.version_for(actor, order, number)


@require_http_methods(["GET", "HEAD", "POST"])
@private
def delivery_page(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What was delivered to this person, and that he has read it. Who sees the order is led to its version."""
    actor = cast(ActorRequest, request).actor
    found = delivered.one_for(actor, pk)
    if request.method == "POST":
        return _acknowledged(request, actor, found)
    if not delivered.readable(actor, found):
        return _recalled(request, actor, found)
    if delivered.sees_order(actor, found):
        return redirect("report-version", pk=found.order_id, number=found.report_version.number)
    services.read(actor=actor, order=found.order, version=found.report_version, action="report.viewed")
    return render(request, "reports/report.html", around.delivered_to(delivered.one_for(actor, pk)))


@require_safe
@private
def delivery_pdf(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The same as PDF, for somebody who does not see the order."""
    actor = cast(ActorRequest, request).actor
    found = delivered.one_for(actor, pk)
    if not delivered.readable(actor, found):
        return _recalled(request, actor, found)
    services.read(actor=actor, order=found.order, version=found.report_version, action="report.downloaded")
    return _pdf(request, found.order, found.report_version)


def _acknowledged(request: HttpRequest, actor: Actor, found: ReportDelivery) -> HttpResponse:
    try:
        delivering.acknowledge(delivery=found, actor=actor)
    except delivering.NotOpened as error:
        return _no_report(request, found.order, str(error), status=HTTPStatus.CONFLICT, delivery=found)
    messages.success(request, "It is kept that you have read this report.")
    return redirect("report-delivery", pk=found.pk)


def _recalled(request: HttpRequest, actor: Actor, found: ReportDelivery) -> HttpResponse:
    delivering.opened_recall(actor=actor, order=found.order)
    words = services.closed(found.order).value
    return _no_report(request, found.order, words, status=HTTPStatus.OK, delivery=delivered.one_for(actor, found.pk))


@require_safe
@private
def results_csv(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Every result of the order, unrounded, as CSV."""
    actor = cast(ActorRequest, request).actor
    order = orders.order_to_read(actor, pk)
    try:
        export = selectors.results_export(actor, order)
    except selectors.TooManyResults as error:
        return _no_report(request, order, str(error), status=HTTPStatus.CONFLICT)
    if export is None:
        return _no_report(request, order, services.closed(order).value, status=HTTPStatus.FORBIDDEN)
    services.exported(actor=actor, order=order)
    body = export.text()
    return _file(body.encode(), "text/csv; charset=utf-8", export.filename)


def _no_report(
    request: HttpRequest, order: Order, words: str, *, status: HTTPStatus, delivery: ReportDelivery | None = None,
    versions: Sequence[ReportVersion] = (),
) -> HttpResponse:  # fmt: skip
    actor = cast(ActorRequest, request).actor
    shown = {"order": order, "words": words, "versions": versions, "on_order": True, **around.no_report(actor, order, delivery)}
    return render(request, "reports/no_report.html", shown, status=status)


def _pdf(request: HttpRequest, order: Order, version: ReportVersion) -> HttpResponse:
    try:
        body = issuing.as_pdf(version)
    except issuing.Damaged as error:
        return _no_report(request, order, str(error), status=HTTPStatus.INTERNAL_SERVER_ERROR)
    return _file(body, "application/pdf", f"{_name(order, version)}.pdf")


def _name(order: Order, version: ReportVersion) -> str:
    """Of a file of it: it says what has become of the version since."""
    state = order.state if order.state == "cancelled" and version.state == "released" else version.state
    became = "" if state in ("draft", "released") else f"-{state.replace('_', '-')}"
    return f"{order.accession}-report-{version.number}{became}"


def _refusal(door: services.Door) -> HTTPStatus:
    return HTTPStatus.FORBIDDEN if door is services.Door.WITHHELD else HTTPStatus.CONFLICT


def _file(body: bytes, content_type: str, name: str) -> HttpResponse:
    return HttpResponse(body, content_type=content_type, headers={"Content-Disposition": f'attachment; filename="{name}"'})
