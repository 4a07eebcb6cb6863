"""Review, sign, correct."""

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from accounts.middleware import ActorRequest
from accounts.roles import Verb
from dashboard import reading, review_page, sign_page, track_part
from dashboard.views.responses import page
from foundation.errors import HelicaseError, Refused
from orders.models import Order
from orders.selectors import order_for
from reports import tracks


@require_http_methods(["GET", "POST"])
@page
def order_review(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Results, interpretation, decision."""
    found = _found(request, pk)
    if request.method == "GET":
        reading.order(request.actor, found)
        return render(request, "dashboard/review.html", review_page.page(request.actor, found, request.GET))
    try:
        said, version = review_page.decide(request.actor, found, request.POST)
    except HelicaseError as error:
        return render(request, "dashboard/review.html", review_page.refused(request.actor, pk, request.POST, error), status=409)
    messages.success(request, said)
    stays = request.POST.get("do") in ("interpret", "withdraw") and found.state != "reported"
    return redirect("order-sign" if version else "order-review" if stays else "order", pk=pk)


@require_http_methods(["GET", "POST"])
@page
def order_track(request: ActorRequest, pk: UUID, ordinal: int) -> HttpResponse:
    """One variant base by base: ask for it, or the part of the review page that tells how far it is."""
    found = _found(request, pk)
    if request.method == "POST":
        try:
            tracks.ask(actor=request.actor, order=found, ordinal=ordinal)
        except Refused as error:
            messages.error(request, str(error))
        return redirect(f"{reverse('order-review', args=[pk])}?track={ordinal}#track")
    reading.order(request.actor, found)
    shown = track_part.part(request.actor, found, str(ordinal))
    return render(request, "dashboard/parts/track.html", {"order": found, **shown})


@require_http_methods(["GET", "POST"])
@page
def order_sign(request: ActorRequest, pk: UUID) -> HttpResponse:
    """What is signed, and the signature."""
    found = _found(request, pk)
    if request.method == "GET":
        reading.order(request.actor, found)
        return render(request, "dashboard/sign.html", sign_page.page(request.actor, found))
    try:
        version = sign_page.sign(request.actor, found, request.POST)
    except HelicaseError as error:
        return render(request, "dashboard/sign.html", sign_page.refused(request.actor, pk, error), status=409)
    issued = version.state == "released"
    messages.success(request, "Signed, and the report is issued." if issued else "Signed. Another person signs next.")
    return redirect("report-page" if issued else "order-sign", pk=pk)


@require_http_methods(["GET", "POST"])
@page
def order_correct(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Correct or amend what was issued."""
    found = _found(request, pk)
    if request.method == "GET":
        return render(request, "dashboard/correct.html", review_page.correction(request.actor, found))
    try:
        version = review_page.correct(request.actor, found, request.POST)
    except HelicaseError as error:
        return render(
            request, "dashboard/correct.html", review_page.correction_refused(request.actor, pk, request.POST, error), status=409
        )
    messages.success(request, f"Version {version.number} of the report waits for signatures.")
    return redirect("order-sign", pk=pk)


def _found(request: ActorRequest, pk: UUID) -> Order:
    """The order, for somebody of the laboratory who sees unreleased results."""
    found = order_for(request.actor, pk)
    if not request.actor.may(Verb.VIEW_UNRELEASED, found.performing_laboratory_id):
        raise PermissionDenied("Your role does not include results that are not released.")
    return found
