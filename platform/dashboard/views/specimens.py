"""Reception of specimens: the list with its one field, and the page of one specimen."""

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.middleware import ActorRequest
from accounts.roles import Verb
from dashboard import specimens as desk
from dashboard.views.responses import page
from foundation.errors import HelicaseError
from orders.selectors import order_for


@page
def specimens(request: ActorRequest) -> HttpResponse:
    """What is expected and what came; a scan that means one order leads to it."""
    if not request.actor.organisations(Verb.RECEIVE_SPECIMEN):
        raise PermissionDenied("Your role does not include the reception of specimens.")
    context = desk.desk(request.actor, request.GET.get("scan", "")[:80].replace("\0", ""))
    found = context["found"]
    if isinstance(found, list) and len(found) == 1:
        return redirect("specimen", pk=found[0].pk)
    return render(request, "dashboard/specimens.html", context)


@require_http_methods(["GET", "POST"])
@page
def specimen(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Receive the specimen of an order, reject it, or say that one has read of it."""
    found = order_for(request.actor, pk)
    if request.method == "GET":
        return _show(request, desk.page(request.actor, found))
    try:
        said = desk.change(actor=request.actor, order=found, data=request.POST)
    except HelicaseError as error:
        typed = {name: request.POST[name] for name in request.POST}
        return _show(request, desk.page(request.actor, order_for(request.actor, pk), typed, error), status=409)
    messages.success(request, said)
    return redirect("worklist" if request.POST["do"] == "read" else "specimens")


def _show(request: ActorRequest, shown: desk.SpecimenPage, *, status: int = 200) -> HttpResponse:
    context = {"page": shown, "order": shown.order, "zone": shown.zone}
    return render(request, "dashboard/specimen.html", context, status=status)
