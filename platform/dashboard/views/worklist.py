"""The worklist and its live part."""

from django.http import HttpResponse
from django.shortcuts import render

from accounts.middleware import ActorRequest
from casefile.selectors import drafts_ending
from dashboard import engine_line, worklist_page
from dashboard.views.responses import page


@page
def worklist(request: ActorRequest) -> HttpResponse:
    """The whole page."""
    return render(request, "dashboard/worklist.html", _context(request))


@page
def worklist_live(request: ActorRequest) -> HttpResponse:
    """The part that is re-read after a hint: system line, STAT block, chips, rows."""
    return render(request, "dashboard/parts/worklist_live.html", _context(request))


def _context(request: ActorRequest) -> dict[str, object]:
    query = request.GET
    number = int(query["page"]) if query.get("page", "").isdecimal() and len(query["page"]) < 7 else 1
    found = worklist_page.page(
        request.actor,
        chip=query.get("chip", "open"),
        search=query.get("q", "")[:80].replace("\0", ""),
        number=number,
    )
    ending = drafts_ending(request.actor)
    return {"drafts_ending": ending, "page": found, "line": engine_line.line(request.actor), "hot": worklist_page.HOT}
