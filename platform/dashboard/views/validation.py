"""Validation records of a laboratory's tests."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.middleware import ActorRequest
from accounts.roles import Verb
from dashboard import validation_page
from dashboard.views.responses import page
from foundation.errors import Refused, Stale


@require_http_methods(["GET", "POST"])
@page
def validation(request: ActorRequest) -> HttpResponse:
    """What stands, what waits, what was suspended; and what this person may do about it."""
    if not request.actor.organisations(Verb.PROPOSE_VALIDATION):
        raise PermissionDenied("Your role does not include the validation of tests.")
    if request.method == "GET":
        return render(request, "dashboard/validation.html", validation_page.page(request.actor))
    try:
        said = validation_page.decide(request.actor, request.POST)
    except (Refused, Stale) as error:
        shown = validation_page.refused(request.actor, request.POST, error)
        return render(request, "dashboard/validation.html", shown, status=409)
    messages.success(request, said)
    return redirect("validation")
