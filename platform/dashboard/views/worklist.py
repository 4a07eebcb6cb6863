"""The worklist and its live part."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounts.middleware import ActorRequest
from casefile.selectors import drafts_ending
from dashboard import engine_line, saved_filters, worklist_page
from dashboard.views.responses import page


@page
def worklist(request: ActorRequest) -> HttpResponse:
    """The whole page; without anything in its address, what this person opens it with."""
    opening = "" if request.GET else saved_filters.opening(request.actor)
    if opening:
        return redirect(f"{reverse('worklist')}?{opening}")
    return render(request, "dashboard/worklist.html", _context(request))


@page
def worklist_live(request: ActorRequest) -> HttpResponse:
    """The part that is re-read after a hint: system line, STAT block, chips, rows."""
    return render(request, "dashboard/parts/worklist_live.html", _context(request))


def _context(request: ActorRequest) -> dict[str, object]:
    found = worklist_page.page(request.user, request.actor, request.GET)
    ending = drafts_ending(request.actor)
    return {
        "asked_by_fhir": found.unplaced,
        "drafts_ending": ending,
        "page": found,
        "line": engine_line.line(request.actor),
        "hot": worklist_page.HOT,
    }
