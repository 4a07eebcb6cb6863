"""Bulk orders: send a manifest, read its verdict, have its rows placed."""

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.middleware import ActorRequest
from dashboard import bulk, urgency
from dashboard.views.responses import page
from foundation.errors import HelicaseError, NotPermitted, Refused
from orders.manifests.columns import template
from orders.manifests.selectors import manifest_for


@require_http_methods(["GET", "POST"])
@page
def bulk_new(request: ActorRequest) -> HttpResponse:
    """Send a manifest; those sent lately."""
    try:
        context = bulk.start(request.actor)
    except NotPermitted as error:
        raise PermissionDenied(str(error)) from error
    if request.method == "GET":
        return render(request, "dashboard/bulk_new.html", context)
    try:
        manifest = bulk.send(request.actor, request.POST, request.FILES.get("file"))
    except Refused as error:
        return render(request, "dashboard/bulk_new.html", {**context, "errors": [str(error)]}, status=422)
    return redirect("bulk", pk=manifest.pk)


@require_http_methods(["GET", "POST"])
@page
def bulk_one(request: ActorRequest, pk: UUID) -> HttpResponse:
    """The verdict on a manifest; place or stop."""
    manifest = manifest_for(request.actor, pk)
    if request.method == "GET":
        return render(request, "dashboard/bulk.html", bulk.show(request.actor, manifest, request.GET))
    try:
        said = bulk.deed(request.actor, manifest, request.POST)
    except HelicaseError as error:
        context = bulk.show(request.actor, manifest_for(request.actor, pk), request.GET)
        return render(request, "dashboard/bulk.html", {**context, "errors": [urgency.said(error)]}, status=409)
    messages.success(request, said)
    return redirect("bulk", pk=pk)


@page
def bulk_live(request: ActorRequest, pk: UUID) -> HttpResponse:
    """The part that reads itself again while a platform worker is at it."""
    manifest = manifest_for(request.actor, pk)
    return render(request, "dashboard/parts/bulk_live.html", bulk.show(request.actor, manifest, request.GET))


@page
def bulk_verdict(request: ActorRequest, pk: UUID) -> HttpResponse:
    """The verdict as CSV."""
    manifest = manifest_for(request.actor, pk)
    return _csv(bulk.verdict_csv(manifest), "verdict.csv")


@page
def bulk_template(request: ActorRequest) -> HttpResponse:
    """A manifest without rows."""
    return _csv(template(), "manifest.csv")


def _csv(text: str, name: str) -> HttpResponse:
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response
