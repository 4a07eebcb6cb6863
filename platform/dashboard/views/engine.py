"""The engine page, for those who look after it."""

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import render

from accounts.middleware import ActorRequest
from accounts.roles import Verb
from dashboard import engine_line, errand_rows
from dashboard.views.responses import page


@page
def engine(request: ActorRequest) -> HttpResponse:
    """Workers, deployments, what runs and waits, and what was asked of workers."""
    return _show(request, "dashboard/engine.html")


@page
def engine_live(request: ActorRequest) -> HttpResponse:
    """The part that is re-read every few seconds."""
    return _show(request, "dashboard/parts/engine_live.html")


def _show(request: ActorRequest, template: str) -> HttpResponse:
    if not request.actor.organisations(Verb.VIEW_ENGINE):
        raise PermissionDenied
    shown = {"engine": engine_line.overview(), "errands": errand_rows.rows(request.actor), "risks": engine_line.risks()}
    return render(request, template, shown)
