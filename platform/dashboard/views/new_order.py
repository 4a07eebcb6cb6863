"""The order form."""

from typing import cast
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from accounts.middleware import ActorRequest
from casefile import drafts
from casefile.selectors import draft_for
from dashboard import drafting, placing, reading, repeating
from dashboard.context import zone_of
from dashboard.forms import SPECIMEN_TYPES
from dashboard.verdicts import verdict
from dashboard.views.responses import page
from dashboard.wording import PRIORITY_HINT
from foundation.errors import HelicaseError, NotPermitted, Refused
from orders import uploads
from orders.models import Intake
from orders.selectors import intake_for, order_for


@require_http_methods(["GET", "POST"])
@page
def order_new(request: ActorRequest) -> HttpResponse:
    """The form; checked or placed when it is sent."""
    at = _desk(request)
    if request.method == "GET":
        return _show(request, placing.resume(at, request.GET))
    if request.POST.get("do") == "save":
        return _save(request, at)
    if request.POST.get("do") not in (placing.PLACE, placing.NEVERTHELESS):
        return _show(request, placing.recheck(at, request.POST, _files(request)))
    form_page, order = placing.submit(at, request.POST, _files(request))
    return redirect("order", pk=order.pk) if order else _show(request, form_page, status=503 if form_page.unsure else 422)


def _save(request: ActorRequest, at: placing.Desk) -> HttpResponse:
    """Save the draft without a script, and show it as it was saved."""
    try:
        draft, left_out = placing.keep(at, request.POST, _files(request))
    except HelicaseError as error:
        form_page = placing.recheck(at, request.POST, {})
        messages.warning(request, f"The draft is not saved. {drafting.refusal(error, at.zone)[0]['words']}")
        return _show(request, form_page, status=409)
    messages.success(request, f"Draft saved {drafting.answer(draft, '', at.zone)['saved']}. {left_out}".strip())
    return redirect(f"{reverse('order-new')}?draft={draft.pk}")


@require_POST
@page
def order_repeat(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Open a draft that repeats an order."""
    found = order_for(request.actor, pk)
    try:
        draft = repeating.repeat(_desk(request), found, request.POST)
    except Refused as error:
        messages.warning(request, str(error))
        return redirect("order", pk=pk)
    return redirect(f"{reverse('order-new')}?draft={draft.pk}")


@require_POST
@page
def order_recollect(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Open a draft of the same order on a new specimen."""
    found = order_for(request.actor, pk)
    try:
        draft = repeating.recollect(_desk(request), found)
    except Refused as error:
        messages.warning(request, str(error))
        return redirect("order", pk=pk)
    return redirect(f"{reverse('order-new')}?draft={draft.pk}")


@page
def intake_finishes(request: ActorRequest, pk: UUID) -> HttpResponse:
    """When it would be scored with each priority, as things stand now: for the form beside its choice."""
    found = intake_for(request.actor, pk)
    return render(request, "dashboard/parts/finishes.html", {"verdict": verdict(found), "all_priorities": PRIORITY_HINT.items()})


@require_POST
@page
def order_draft(request: ActorRequest) -> HttpResponse:
    """Save the draft as it is typed."""
    at = _desk(request)
    try:
        draft, left_out = placing.keep(at, request.POST, {})
    except HelicaseError as error:
        said, status = drafting.refusal(error, at.zone)
        return JsonResponse(said, status=status)
    return JsonResponse(drafting.answer(draft, left_out, at.zone))


@require_POST
@page
def order_draft_discard(request: ActorRequest, pk: UUID) -> HttpResponse:
    """End a draft of one's own."""
    drafts.discard(actor=request.actor, draft=draft_for(request.actor, pk))
    messages.success(request, "The draft is discarded.")
    return redirect("order-new")


@require_POST
@page
def order_replace(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Open the form that changes an order, on the same stored file, which is checked again meanwhile."""
    found = order_for(request.actor, pk)
    try:
        checked = placing.again(_desk(request), found)
    except Refused as error:
        messages.warning(request, str(error))
        return redirect("order", pk=pk)
    return redirect(f"{reverse('order-new')}?{urlencode({'replaces': pk, 'intake': checked.pk})}")


@require_POST
@page
def order_input(request: ActorRequest) -> HttpResponse:
    """Take an upload, a pasted text or another sample, and answer with the verdict panel."""
    try:
        intake = placing.take_input(_desk(request), request.POST, _files(request))
    except Refused as error:
        said = {"input_errors": [str(error)], "two_inputs": placing.two_inputs(error), "swap": True}
        return render(request, "dashboard/parts/verdict.html", said, status=422)
    return render(request, "dashboard/parts/verdict.html", _panel(intake))


@require_POST
@page
def intake_remove(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Stop the check of an upload that was the wrong one; what is left is an input still to be chosen."""
    found = intake_for(request.actor, pk)
    try:
        uploads.withdraw(actor=request.actor, intake=found)
    except Refused as error:
        found = intake_for(request.actor, pk)
        said = {"input_errors": [str(error)], "verdict": verdict(found), "swap": True}
        return render(request, "dashboard/parts/verdict.html", said, status=409)
    return render(request, "dashboard/parts/verdict.html", {"removed": found.filename, "swap": True})


@page
def intake(request: ActorRequest, pk: UUID) -> HttpResponse:
    """The verdict panel of one upload."""
    found = intake_for(request.actor, pk)
    reading.intake(request.actor, found)
    return render(request, "dashboard/parts/verdict.html", _panel(found))


def _panel(intake: Intake) -> dict[str, object]:
    return {"verdict": verdict(intake), "swap": True, "all_priorities": PRIORITY_HINT.items()}


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
        "repeated": repeating.repeated(request.actor, form_page.form["repeats"].value()),
        "form": form_page.form,
        "verdict": form_page.verdict,
        "input_errors": form_page.input_errors,
        "two_inputs": form_page.two_inputs,
        "specimen_types": SPECIMEN_TYPES,
    }
    return render(request, "dashboard/new_order.html", context, status=status)
