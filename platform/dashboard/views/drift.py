"""How outputs are distributed against when they were validated."""

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.middleware import ActorRequest
from accounts.roles import Verb
from dashboard import drift_page
from dashboard.views.responses import page
from foundation.errors import NotPermitted, Refused, Stale


@require_safe
@page
def drift(request: ActorRequest) -> HttpResponse:
    """A light for each stream."""
    _require(request, Verb.VIEW_DRIFT)
    return render(request, "dashboard/drift.html", drift_page.overview(request.actor))


@require_safe
@page
def drift_stream(request: ActorRequest, pk: UUID) -> HttpResponse:
    """One stream."""
    _require(request, Verb.VIEW_DRIFT)
    return render(request, "dashboard/drift_stream.html", drift_page.stream(request.actor, pk))


@require_POST
@page
def drift_freeze(request: ActorRequest) -> HttpResponse:
    """Freeze a reference."""
    _require(request, Verb.KEEP_DRIFT)
    try:
        messages.success(request, drift_page.freeze(request.actor, request.POST.dict()))
    except Refused as error:
        messages.error(request, str(error))
    return redirect("drift")


@require_POST
@page
def drift_call(request: ActorRequest, pk: UUID) -> HttpResponse:
    """See to a call, or close it."""
    try:
        messages.success(request, drift_page.answer(request.actor, pk, request.POST.dict()))
    except NotPermitted as error:
        raise PermissionDenied(str(error)) from error
    except (Refused, Stale) as error:
        messages.error(request, str(error))
    return redirect("drift")


def _require(request: ActorRequest, verb: Verb) -> None:
    if not request.actor.organisations(verb):
        raise PermissionDenied("Your role does not include the drift of outputs.")
