"""Retention and legal holds."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts.middleware import ActorRequest
from accounts.roles import Verb
from dashboard import retention_page
from dashboard.context import zone_of
from dashboard.views.responses import page
from foundation.errors import HelicaseError, NotFound


@require_http_methods(["GET", "POST"])
@page
def retention(request: ActorRequest) -> HttpResponse:
    """Periods, holds, and what is deleted next."""
    _require(request)
    if request.method == "GET":
        return render(request, "dashboard/retention.html", retention_page.page(request.actor, request.GET.dict()))
    said = request.POST.dict()
    try:
        messages.success(request, retention_page.change(request.actor, said, zone_of(request.user)))
    except NotFound:
        raise
    except HelicaseError as error:
        return render(request, "dashboard/retention.html", retention_page.page(request.actor, said, error), status=409)
    return redirect("retention")


@require_safe
@page
def retention_csv(request: ActorRequest) -> HttpResponse:
    """What is deleted next, for a spreadsheet."""
    _require(request)
    body = "".join(retention_page.as_csv(request.actor, request.GET.dict(), zone_of(request.user)))
    headers = {"Content-Disposition": 'attachment; filename="retention.csv"'}
    return HttpResponse(body.encode(), content_type="text/csv; charset=utf-8", headers=headers)


def _require(request: ActorRequest) -> None:
    if not request.actor.organisations(Verb.LEGAL_HOLD):
        raise PermissionDenied("Your role does not include retention and legal holds.")
