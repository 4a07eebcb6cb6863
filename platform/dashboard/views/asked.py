"""What came under a number that needs a person: requests by FHIR that are no orders yet, and orders whose number is taken."""

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.middleware import ActorRequest
from dashboard import asked_page, conflict_page, reading
from dashboard.views.responses import page
from foundation.errors import HelicaseError
from orders import conflicts
from orders.models import Order
from orders.selectors import order_for


@require_http_methods(["GET", "POST"])
@page
def asked(request: ActorRequest, pk: UUID) -> HttpResponse:
    """What came by FHIR, and the decision about it; the order as soon as there is one."""
    found = asked_page.found(request.actor, pk)
    if isinstance(found, Order):
        return redirect("order", pk=found.pk)
    reading.asked(request.actor, found)
    if request.method == "GET":
        return render(request, "dashboard/asked.html", asked_page.page(request.actor, found))
    try:
        messages.success(request, asked_page.decide(request.actor, found, request.POST))
    except HelicaseError as error:
        return render(request, "dashboard/asked.html", asked_page.refused(request.actor, pk, request.POST, error), status=409)
    return redirect("asked", pk=pk)


@require_http_methods(["GET", "POST"])
@page
def order_conflict(request: ActorRequest, pk: UUID) -> HttpResponse:
    """An order beside the one that has its number, and the decision."""
    found = order_for(request.actor, pk)
    if not conflicts.may_settle(request.actor, found):
        raise PermissionDenied("Your role does not include deciding about the numbers of orders.")
    reading.both_orders(request.actor, found, conflict_page.standing_for(request.actor, found))
    if request.method == "GET":
        return render(request, "dashboard/conflict.html", conflict_page.page(request.actor, found))
    try:
        messages.success(request, conflict_page.decide(request.actor, found, request.POST))
    except HelicaseError as error:
        return render(request, "dashboard/conflict.html", conflict_page.refused(request.actor, pk, request.POST, error), status=409)
    return redirect("order", pk=pk)
