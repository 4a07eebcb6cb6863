"""The order form."""

from typing import cast
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts.middleware import ActorRequest
from dashboard import placing, reading
from dashboard.context import zone_of
from dashboard.forms import SPECIMEN_TYPES
from dashboard.verdicts import verdict
from dashboard.views.responses import page
from foundation.errors import NotPermitted, Refused
from orders.selectors import intake_for


@require_http_methods(["GET", "POST"])
@page
def order_new(request: ActorRequest) -> HttpResponse:
    """The form; checked or placed when it is sent."""
    at = _desk(request)
    if request.method == "GET":
        return _show(request, placing.resume(at, request.GET))
    if request.POST.get("do") != "place":
        return _show(request, placing.recheck(at, request.POST, _files(request)))
    form_page, order = placing.submit(at, request.POST, _files(request))
    return redirect("order", pk=order.pk) if order else _show(request, form_page, status=422)


@require_POST
@page
def order_input(request: ActorRequest) -> HttpResponse:
    """Take an upload, a pasted text or another sample, and answer with the verdict panel."""
    try:
        intake = placing.take_input(_desk(request), request.POST, _files(request))
    except Refused as error:
        said = {"input_errors": [str(error)], "two_inputs": placing.two_inputs(error), "swap": True}
        return render(request, "dashboard/parts/verdict.html", said, status=422)
    return render(request, "dashboard/parts/verdict.html", {"verdict": verdict(intake), "swap": True})


@page
def intake(request: ActorRequest, pk: UUID) -> HttpResponse:
    """The verdict panel of one upload."""
    found = intake_for(request.actor, pk)
    reading.intake(request.actor, found)
    return render(request, "dashboard/parts/verdict.html", {"verdict": verdict(found), "swap": True})


def _desk(request: ActorRequest) -> placing.Desk:
    try:
        return placing.desk(request.actor, zone_of(request.user))
    except NotPermitted as error:
        raise PermissionDenied(str(error)) from error


def _files(request: ActorRequest) -> placing.Files:
    return cast(placing.Files, request.FILES.dict())


def _show(request: ActorRequest, form_page: placing.FormPage, *, status: int = 200) -> HttpResponse:
    context = {
        "page": form_page,
        "form": form_page.form,
        "verdict": form_page.verdict,
        "input_errors": form_page.input_errors,
        "two_inputs": form_page.two_inputs,
        "specimen_types": SPECIMEN_TYPES,
    }
    return render(request, "dashboard/new_order.html", context, status=status)
