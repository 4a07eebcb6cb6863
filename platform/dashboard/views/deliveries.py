"""Who gets the reports of an order; critical results and their calls."""

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.middleware import ActorRequest
from dashboard import critical_page, deliveries_page, reading
from dashboard.context import zone_of
from dashboard.views.responses import page
from foundation.errors import HelicaseError, NotFound
from orders.models import Order
from orders.selectors import order_for


@require_http_methods(["GET", "POST"])
@page
def order_recipients(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Recipients, deliveries, and what can be done about them."""
    found, zone = order_for(request.actor, pk), zone_of(request.user)
    if request.method == "GET":
        reading.order(request.actor, found)
        return render(request, "dashboard/recipients.html", deliveries_page.page(request.actor, found, zone))
    try:
        said = deliveries_page.change(request.actor, found, request.POST.dict(), zone)
    except NotFound:
        raise
    except HelicaseError as error:
        shown = deliveries_page.refused(request.actor, pk, request.POST.dict(), zone, error)
        return render(request, "dashboard/recipients.html", shown, status=409)
    messages.success(request, said)
    return redirect("order-recipients", pk=pk)


@require_http_methods(["GET", "POST"])
@page
def order_critical(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Mark a result as critical, and keep calls."""
    found, zone = _to_call(request, pk), zone_of(request.user)
    if request.method == "GET":
        reading.order(request.actor, found)
        return render(request, "dashboard/critical.html", critical_page.page(request.actor, found, zone))
    try:
        said = critical_page.change(request.actor, found, request.POST.dict(), zone)
    except NotFound:
        raise
    except HelicaseError as error:
        shown = critical_page.refused(request.actor, pk, request.POST.dict(), zone, error)
        return render(request, "dashboard/critical.html", shown, status=409)
    messages.success(request, said)
    return redirect("order-critical", pk=pk)


def _to_call(request: ActorRequest, pk: UUID) -> Order:
    """The order, for who may know of its results, or calls with them."""
    found = order_for(request.actor, pk)
    if not critical_page.may_know(request.actor, found):
        raise PermissionDenied("Your role does not include results that are not released.")
    return found
