"""Who is it: open questions, and the decision about one order. And the order that was for the wrong patient."""

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts.middleware import ActorRequest
from accounts.roles import Verb
from dashboard import identity_page, reading, wrong_patient
from dashboard.views.responses import page
from foundation.errors import HelicaseError
from orders.patient_selectors import open_checks
from orders.selectors import order_for

NOT_INCLUDED = "Your role does not include settling who a patient is."


@require_safe
@page
def identity_checks(request: ActorRequest) -> HttpResponse:
    """Everything that waits for somebody to say who it is."""
    if not request.actor.organisations(Verb.EDIT_IDENTITY):
        raise PermissionDenied(NOT_INCLUDED)
    return render(request, "dashboard/identity_checks.html", {"checks": open_checks(request.actor)})


@require_http_methods(["GET", "POST"])
@page
def order_identity(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Statement and record side by side, and the decision."""
    found = order_for(request.actor, pk)
    if not identity_page.may_decide(request.actor, found):
        raise PermissionDenied(f"{NOT_INCLUDED} {identity_page.whom_to_ask(request.actor, found)}".strip())
    reading.identity(request.actor, found, identity_page.open_check(found))
    if request.method == "GET":
        return render(request, "dashboard/identity.html", identity_page.page(request.actor, found))
    try:
        said = identity_page.decide(request.actor, found, request.POST)
    except HelicaseError as error:
        return render(request, "dashboard/identity.html", identity_page.refused(request.actor, pk, request.POST, error), status=409)
    again = said == identity_page.AGAIN
    (messages.warning if again else messages.success)(request, said)
    return redirect("order-identity" if again else "order", pk=pk)


@require_http_methods(["GET", "POST"])
@page
def order_wrong_patient(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Say that an order was for the wrong patient."""
    found = order_for(request.actor, pk)
    reading.order(request.actor, found)
    if request.method == "GET":
        return render(request, "dashboard/wrong_patient.html", wrong_patient.form(request.actor, found))
    try:
        wrong_patient.declare(request.actor, found, request.POST)
    except HelicaseError as error:
        return render(
            request, "dashboard/wrong_patient.html", wrong_patient.refused(request.actor, pk, request.POST, error), status=409
        )
    messages.success(request, f"Order {found.accession} and its reports are entered in error. The right patient needs a new order.")
    return redirect("order", pk=pk)
