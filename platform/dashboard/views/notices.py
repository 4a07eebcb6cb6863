"""What people were told; webhooks; the clocks of a laboratory."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts.middleware import ActorRequest
from dashboard import clocks_page, notifications
from dashboard.views.responses import page
from foundation.errors import HelicaseError


@page
def inbox(request: ActorRequest) -> HttpResponse:
    """The page of notifications."""
    number = request.GET.get("page", "")
    shown = notifications.page(request.actor, number=int(number) if number.isdecimal() and len(number) < 6 else 1)
    template = "dashboard/parts/notifications_live.html" if request.GET.get("part") else "dashboard/notifications.html"
    return render(request, template, shown)


@page
def bell(request: ActorRequest) -> HttpResponse:
    """The bell, re-read after a hint."""
    return render(request, "dashboard/parts/bell.html")


@require_POST
@page
def inbox_read(request: ActorRequest) -> HttpResponse:
    """Mark one, some or all as read."""
    notifications.read(request.actor, request.POST)
    return redirect("notifications")


@require_http_methods(["GET", "POST"])
@page
def webhooks(request: ActorRequest) -> HttpResponse:
    """An administrator's webhooks, and what left the house."""
    if request.method == "GET":
        return render(request, "dashboard/webhooks.html", notifications.webhooks(request.actor))
    try:
        said, secret = notifications.change(request.actor, request.POST)
    except HelicaseError as error:
        return render(request, "dashboard/webhooks.html", notifications.refused(request.actor, request.POST, error), status=409)
    messages.success(request, said)
    if not secret:
        return redirect("webhooks")
    return render(request, "dashboard/webhooks.html", notifications.webhooks(request.actor) | {"secret": secret})


@require_http_methods(["GET", "POST"])
@page
def clocks(request: ActorRequest) -> HttpResponse:
    """Calendars, which test counts by which, who is told of late work."""
    code = request.GET.get("laboratory", "")
    if request.method == "GET":
        return render(request, "dashboard/clocks.html", clocks_page.page(request.actor, code))
    try:
        messages.success(request, clocks_page.change(request.actor, request.POST))
    except HelicaseError as error:
        shown = clocks_page.page(request.actor, code) | {"errors": clocks_page.said(error)}
        return render(request, "dashboard/clocks.html", shown, status=409)
    return redirect("clocks")


@require_http_methods(["GET", "POST"])
@page
def calendar(request: ActorRequest) -> HttpResponse:
    """The form of one calendar."""
    if request.method == "GET":
        return render(request, "dashboard/calendar.html", clocks_page.editor(request.actor, request.GET))
    try:
        kept = clocks_page.keep(request.actor, request.POST)
    except HelicaseError as error:
        return render(request, "dashboard/calendar.html", clocks_page.refused(request.actor, request.POST, error), status=409)
    messages.success(request, f"{kept} counts for orders that are accepted from now on.")
    return redirect("clocks")
