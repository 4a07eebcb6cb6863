"""Downtimes, and what is reconciled after one."""

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts.middleware import ActorRequest
from dashboard import downtime_page, reading
from dashboard.views.responses import page
from foundation.errors import HelicaseError, NotPermitted
from orders.downtimes.selectors import downtime_for


@require_http_methods(["GET", "POST"])
@page
def downtimes(request: ActorRequest) -> HttpResponse:
    """Those of one's laboratories, and the form for another one."""
    try:
        if request.method == "POST":
            return redirect("downtime", pk=downtime_page.begin(request.actor, request.POST).pk)
        return render(request, "dashboard/downtimes.html", downtime_page.page(request.actor))
    except NotPermitted as error:
        raise PermissionDenied(str(error)) from error
    except HelicaseError as error:
        context = downtime_page.page(request.actor, error, request.POST.dict())
        return render(request, "dashboard/downtimes.html", context, status=409)


@require_http_methods(["GET", "POST"])
@page
def downtime(request: ActorRequest, pk: UUID) -> HttpResponse:
    """One downtime with its lines."""
    found = downtime_for(request.actor, pk)
    if request.method == "GET":
        reading.downtime(request.actor, found)
        return render(request, "dashboard/downtime.html", downtime_page.one(request.actor, found))
    try:
        said = downtime_page.change(request.actor, found, request.POST, request.POST.getlist("line"))
    except HelicaseError as error:
        context = downtime_page.one(request.actor, downtime_for(request.actor, pk), error, request.POST.dict())
        return render(request, "dashboard/downtime.html", context, status=409)
    messages.success(request, said)
    return redirect("downtime", pk=pk)


@require_safe
@page
def downtime_csv(request: ActorRequest, pk: UUID) -> HttpResponse:
    """The reconciliation list as a file."""
    found = downtime_for(request.actor, pk)
    try:
        text = downtime_page.as_csv(request.actor, found)
    except NotPermitted as error:
        raise PermissionDenied(str(error)) from error
    reading.downtime_taken(request.actor, found)
    answer = HttpResponse(text, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="downtime-{found.code}.csv"'
    return answer
