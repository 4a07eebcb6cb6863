"""Audit reports: asked for, followed, read, taken away."""

from collections.abc import Iterator
from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.middleware import ActorRequest
from accounts.roles import Verb
from dashboard import audit_reports_page
from dashboard.views.responses import page
from inspection import selectors, services
from inspection.errors import Damaged

PACK = "pack.zip"
MEDIA = {"zip": "application/zip", "pdf": "application/pdf", "csv": "text/csv; charset=utf-8"}  # by ending; else plain text


@require_safe
@page
def audit_reports(request: ActorRequest) -> HttpResponse:
    """The kinds, and the last reports."""
    _require_auditor(request)
    return render(request, "dashboard/audit_reports.html", audit_reports_page.listed(request.actor))


@require_http_methods(["GET", "POST"])
@page
def audit_report_new(request: ActorRequest, kind: str) -> HttpResponse:
    """The form of one kind; the report is asked for when it is sent."""
    _require_auditor(request)
    if request.method == "GET":
        return render(request, "dashboard/audit_report_new.html", audit_reports_page.form(request.actor, kind, request.GET.dict()))
    report, shown = audit_reports_page.sent(request.actor, kind, request.POST.dict())
    return (
        redirect("audit-report", pk=report.pk) if report else render(request, "dashboard/audit_report_new.html", shown, status=422)
    )


@require_safe
@page
def audit_report(request: ActorRequest, pk: UUID) -> HttpResponse:
    """How far it is, or what it says."""
    shown = audit_reports_page.shown(request.actor, pk)
    services.looked(actor=request.actor, report=selectors.report_for(request.actor, pk))
    return render(request, "dashboard/audit_report.html", shown)


@require_safe
@page
def audit_report_live(request: ActorRequest, pk: UUID) -> HttpResponse:
    """What changes while it is made; once it is, the whole of it."""
    shown = audit_reports_page.shown(request.actor, pk)
    if shown["tables"]:
        services.looked(actor=request.actor, report=selectors.report_for(request.actor, pk))
    return render(request, "dashboard/parts/audit_report_live.html", shown)


@require_POST
@page
def audit_report_withdraw(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Nobody wants it any more."""
    messages.success(request, audit_reports_page.withdraw(request.actor, pk))
    return redirect("audit-report", pk=pk)


@require_safe
@page
def audit_report_file(request: ActorRequest, pk: UUID, name: str) -> HttpResponseBase:
    """One file of its pack, or the pack."""
    report = selectors.report_for(request.actor, pk)
    if not request.actor.may(Verb.EXPORT, report.organisation_id):
        raise PermissionDenied("Your role does not include taking data away.")
    try:
        blocks: Iterator[bytes] = selectors.whole(report) if name == PACK else selectors.content(report, name)
    except Damaged as error:
        shown = {**audit_reports_page.shown(request.actor, pk), "damaged": str(error)}
        return render(request, "dashboard/audit_report.html", shown, status=HTTPStatus.INTERNAL_SERVER_ERROR)
    if request.method == "GET":
        services.taken(actor=request.actor, report=report, name=name)
    answer = StreamingHttpResponse(blocks, content_type=MEDIA.get(name.rpartition(".")[2], "text/plain; charset=utf-8"))
    answer["Content-Disposition"] = f'attachment; filename="{report.short}{".zip" if name == PACK else f"-{name}"}"'
    return answer


def _require_auditor(request: ActorRequest) -> None:
    if not selectors.laboratories(request.actor):  # who audits a hospital alone asks the laboratory
        raise PermissionDenied("Your role does not include the audit trail.")
