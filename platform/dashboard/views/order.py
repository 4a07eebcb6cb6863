"""One order: its page, its live part, its cancellation."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.middleware import ActorRequest
from dashboard import cancelling, engine_line, order_page
from dashboard.verdicts import exceptions
from dashboard.views.responses import page
from foundation.errors import HelicaseError
from orders.models import Order
from orders.selectors import order_for
from reports.release import may_see_scores


@page
def order(request: ActorRequest, pk: UUID) -> HttpResponse:
    """The whole page."""
    found = order_for(request.actor, pk)
    return render(request, "dashboard/order.html", _context(request, found, whole=True))


@page
def order_live(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Counts and stage; the other parts too when more than the counts has changed since the page was read."""
    found = order_for(request.actor, pk)
    whole = request.GET.get("shown") != order_page.token(found)
    return render(request, "dashboard/parts/order_live.html", _context(request, found, whole=whole) | {"swap": whole})


@require_http_methods(["GET", "POST"])
@page
def order_cancel(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Ask for the reason, then cancel."""
    found = order_for(request.actor, pk)
    if request.method == "GET":
        return render(request, "dashboard/cancel.html", {"order": found, "may": order_page.may_cancel(request.actor, found)})
    try:
        cancelling.cancel(actor=request.actor, order=found, data=request.POST)
    except HelicaseError as error:
        return render(request, "dashboard/cancel.html", cancelling.refused(request.actor, pk, request.POST, error), status=409)
    messages.success(request, f"Order {found.accession} is cancelled. Work that was running has been stopped.")
    return redirect("order", pk=pk)


def _context(request: ActorRequest, found: Order, *, whole: bool) -> dict[str, object]:
    context: dict[str, object] = {
        "order": found,
        "token": order_page.token(found),
        "place": engine_line.place(request.actor, found),
    }
    context |= {"flags": order_page.flags(found), "to_go": order_page.remaining_words(found)}
    if whole:
        context |= {
            "timeline": order_page.timeline(found),
            "provenance": order_page.provenance(request.actor, found),
            "panel": order_page.results(request.actor, found, request.GET),
            "may_see": may_see_scores(request.actor, found),
            "may_cancel": order_page.may_cancel(request.actor, found),
            "rejected": order_page.rejected_inputs(found),
            "exceptions": (listed := exceptions(found.intake, order_page.LISTED)),
            "more_exceptions": order_page.unlisted(found, len(listed)),
        }
    return context
