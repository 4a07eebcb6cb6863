"""Break-glass: open and end it; for auditors, every opening and its review."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts.middleware import ActorRequest
from dashboard import break_glass_page
from dashboard.context import zone_of
from dashboard.views.responses import page
from foundation.errors import HelicaseError, NotFound


@require_http_methods(["GET", "POST"])
@page
def break_glass(request: ActorRequest) -> HttpResponse:
    """The form, or what is open."""
    if request.method == "GET":
        return render(request, "dashboard/break_glass.html", break_glass_page.page(request.actor))
    try:
        messages.success(request, break_glass_page.do(request.actor, request.POST))
    except NotFound:
        raise
    except HelicaseError as error:
        shown = break_glass_page.page(request.actor, request.POST.dict(), error)
        return render(request, "dashboard/break_glass.html", shown, status=409)
    return redirect("break-glass")


@require_safe
@page
def break_glasses(request: ActorRequest) -> HttpResponse:
    """Every opening at one's laboratories."""
    return render(request, "dashboard/break_glasses.html", break_glass_page.listed(request.actor, request.GET))


@require_http_methods(["GET", "POST"])
@page
def break_glass_opening(request: ActorRequest, pk: UUID) -> HttpResponse:
    """One of them, and its review."""
    zone = zone_of(request.user)
    if request.method == "GET":
        return render(request, "dashboard/break_glass_opening.html", break_glass_page.one(request.actor, pk, zone))
    try:
        break_glass_page.review(request.actor, pk, request.POST)
    except NotFound:
        raise
    except HelicaseError as error:
        shown = break_glass_page.one(request.actor, pk, zone, error)
        return render(request, "dashboard/break_glass_opening.html", shown | {"said": request.POST.dict()}, status=409)
    messages.success(request, "Reviewed.")
    return redirect("break-glass-opening", pk=pk)
