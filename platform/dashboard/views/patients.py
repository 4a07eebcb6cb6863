"""Patients: search, a record's page, its numbers, and two records that are one person."""

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts.middleware import ActorRequest
from accounts.roles import Verb
from dashboard import patients_page, reading
from dashboard.views.responses import page
from foundation.errors import HelicaseError
from orders.patient_selectors import merge_for, patient_for, search


@require_safe
@page
def patients(request: ActorRequest) -> HttpResponse:
    """Search; nobody is listed before somebody is looked for."""
    if not request.actor.organisations(Verb.VIEW_ORDER):
        raise PermissionDenied("Your role does not include patients.")
    found = search(request.actor, request.GET.get("q", "")[:80].replace("\0", ""))
    return render(request, "dashboard/patients.html", {"found": found})


@require_http_methods(["GET", "POST"])
@page
def patient(request: ActorRequest, pk: UUID) -> HttpResponse:
    """One record, and its numbers."""
    found = patient_for(request.actor, pk)
    reading.patient(request.actor, found)
    if request.method == "GET":
        return render(request, "dashboard/patient.html", patients_page.page(request.actor, found))
    try:
        said = patients_page.change(request.actor, found, request.POST)
    except HelicaseError as error:
        return render(
            request, "dashboard/patient.html", patients_page.refused(request.actor, found, request.POST, error), status=409
        )
    messages.success(request, said)
    return redirect("patient", pk=pk)


@require_http_methods(["GET", "POST"])
@page
def patient_merge(request: ActorRequest, pk: UUID) -> HttpResponse:
    """What a merge with the record under a number would move; then the merge."""
    found = patient_for(request.actor, pk)
    reading.patient(request.actor, *patients_page.compared(request.actor, found, request.GET or request.POST))
    if request.method == "GET":
        return render(request, "dashboard/merge.html", patients_page.proposal(request.actor, found, request.GET))
    try:
        patients_page.merge(request.actor, found, request.POST)
    except HelicaseError as error:
        shown = patients_page.proposal(request.actor, patient_for(request.actor, pk), request.POST)
        told = {"errors": patients_page.complaints(error), "words": request.POST.get("words", "")}
        return render(request, "dashboard/merge.html", shown | told, status=409)
    messages.success(request, patients_page.MERGED)
    return redirect("patient", pk=pk)


@require_http_methods(["GET", "POST"])
@page
def patient_unmerge(request: ActorRequest, pk: int) -> HttpResponse:
    """What undoing a merge would move back; then the undoing."""
    found = merge_for(request.actor, pk)
    reading.patient(request.actor, found.survivor, found.merged)
    if request.method == "GET":
        return render(request, "dashboard/unmerge.html", patients_page.undoing(request.actor, found))
    try:
        patients_page.undo(request.actor, found, request.POST)
    except HelicaseError as error:
        told = {"errors": patients_page.complaints(error), "words": request.POST.get("words", "")}
        shown = patients_page.undoing(request.actor, merge_for(request.actor, pk))
        return render(request, "dashboard/unmerge.html", shown | told, status=409)
    messages.success(request, patients_page.UNDONE)
    return redirect("patient", pk=found.survivor_id)
