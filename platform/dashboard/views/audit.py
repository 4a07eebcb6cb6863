"""The audit tabs of an order and of a question, and the chain over all events."""

from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.middleware import ActorRequest
from accounts.roles import Verb
from casefile import question_trail, trail
from dashboard import audit_page, chain_page, reading
from dashboard.context import zone_of
from dashboard.views.responses import page
from foundation.errors import NotPermitted
from orders.models import Order
from oversight import checks


@require_safe
@page
def audit(request: ActorRequest) -> HttpResponse:
    """One field: the number of the order or question whose trail is wanted."""
    if not request.actor.organisations(Verb.VIEW_AUDIT):
        raise PermissionDenied("Your role does not include the audit trail.")
    said = request.GET.get("order", "").replace("\0", "").strip()[:40]
    found = trail.order_numbered(request.actor, said) if said else None
    if found is not None:
        return redirect("order-audit", pk=found.pk)
    question = question_trail.question_numbered(request.actor, said)
    if question is not None:
        return redirect("question-audit", pk=question.pk)
    return render(request, "dashboard/audit_find.html", {"said": said})


@require_safe
@page
def chain(request: ActorRequest) -> HttpResponse:
    """How the chain over all events stands, and what its checks found."""
    return _chain(request, "dashboard/audit_chain.html")


@require_safe
@page
def chain_live(request: ActorRequest) -> HttpResponse:
    """The part that is re-read."""
    return _chain(request, "dashboard/parts/audit_chain_live.html")


@require_POST
@page
def chain_check(request: ActorRequest) -> HttpResponse:
    """Have a worker check it."""
    try:
        checks.ask(request.actor)
    except NotPermitted as error:
        raise PermissionDenied(str(error)) from error
    return redirect("audit-chain")


@require_safe
@page
def order_audit(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Everything that happened around it, and who looked."""
    order = _order(request, pk)
    reading.trail(request.actor, order)
    return render(request, "dashboard/audit.html", audit_page.page(request.actor, order, request.GET, zone_of(request.user)))


@require_safe
@page
def question_audit(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Everything that happened to a question, and who looked."""
    try:
        question = question_trail.question_to_audit(request.actor, pk)
    except NotPermitted as error:
        raise PermissionDenied(str(error)) from error
    reading.question_trail(request.actor, question)
    shown = audit_page.of_question(request.actor, question, request.GET, zone_of(request.user))
    return render(request, "dashboard/question_audit.html", shown)


@require_safe
@page
def order_audit_csv(request: ActorRequest, pk: UUID) -> HttpResponse:
    """The same for a spreadsheet."""
    order = _order(request, pk)
    if not request.actor.may(Verb.EXPORT, order.performing_laboratory_id):
        raise PermissionDenied("Your role does not include taking data away.")
    reading.export(request.actor, order)
    events = trail.whole(request.actor, order, part=request.GET.get("part", ""))
    body = "".join(audit_page.as_csv(events, zone_of(request.user)))
    headers = {"Content-Disposition": f'attachment; filename="{order.accession}-audit.csv"'}
    return HttpResponse(body.encode(), content_type="text/csv; charset=utf-8", headers=headers)


def _chain(request: ActorRequest, template: str) -> HttpResponse:
    if not request.actor.organisations(Verb.VIEW_AUDIT):
        raise PermissionDenied("Your role does not include the audit trail.")
    return render(request, template, chain_page.page())


def _order(request: ActorRequest, pk: UUID) -> Order:
    try:
        return trail.order_to_audit(request.actor, pk)
    except NotPermitted as error:
        raise PermissionDenied(str(error)) from error
