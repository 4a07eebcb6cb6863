"""One order: its page, its live part, its cancellation, its priority and hold, its delay."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.middleware import ActorRequest
from dashboard import cancelling, delay_page, order_page, reading, urgency
from dashboard.context import zone_of
from dashboard.views.responses import page
from foundation.errors import HelicaseError
from orders.selectors import order_for


@page
def order(request: ActorRequest, pk: UUID) -> HttpResponse:
    """The whole page."""
    found = order_for(request.actor, pk)
    reading.order(request.actor, found)
    return render(request, "dashboard/order.html", order_page.whole(request.actor, found, request.GET))


@page
def order_live(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Counts and stage; the other parts too when more than the counts has changed since the page was read."""
    found = order_for(request.actor, pk)
    reading.order(request.actor, found)
    part = order_page.live(request.actor, found)
    if request.GET.get("shown") == part["token"]:
        return render(request, "dashboard/parts/order_live.html", part)
    context = order_page.whole(request.actor, found, request.GET, part)
    return render(request, "dashboard/parts/order_live.html", context | {"swap": True})


@require_http_methods(["GET", "POST"])
@page
def order_cancel(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Ask for the reason, then cancel."""
    found = order_for(request.actor, pk)
    if request.method == "GET":
        return render(request, "dashboard/cancel.html", {"order": found, "may": order_page.may_cancel(request.actor, found)})
    before = found.state
    try:
        cancelling.cancel(actor=request.actor, order=found, data=request.POST)
    except HelicaseError as error:
        return render(request, "dashboard/cancel.html", cancelling.refused(request.actor, pk, request.POST, error), status=409)
    messages.success(request, f"Order {found.accession} is cancelled.{cancelling.STOPPED.get(before, '')}")
    return redirect("order", pk=pk)


@require_http_methods(["GET", "POST"])
@page
def order_urgency(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Another priority, a hold, or its end; and that its requester has read of another priority."""
    found = order_for(request.actor, pk)
    if request.method == "GET":
        return render(request, "dashboard/urgency.html", urgency.form(request.actor, found))
    try:
        said = urgency.change(actor=request.actor, order=found, data=request.POST)
    except HelicaseError as error:
        return render(request, "dashboard/urgency.html", urgency.refused(request.actor, pk, request.POST, error), status=409)
    messages.success(request, said)
    return redirect(urgency.back(found, request.POST))


@require_http_methods(["GET", "POST"])
@page
def order_delay(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Record whom the laboratory told of a delay."""
    found, zone = order_for(request.actor, pk), zone_of(request.user)
    if request.method == "GET":
        return render(request, "dashboard/delay.html", delay_page.form(request.actor, found, zone))
    try:
        delay_page.record(request.actor, found, request.POST.dict(), zone)
    except HelicaseError as error:
        shown = delay_page.refused(request.actor, pk, request.POST.dict(), zone, error)
        return render(request, "dashboard/delay.html", shown, status=409)
    messages.success(request, f"It is recorded whom you told of the delay of {found.accession}.")
    return redirect("order", pk=pk)
