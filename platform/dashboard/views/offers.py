"""The page of a test version: what it takes, does and promises."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render

from accounts.middleware import ActorRequest
from dashboard import offers
from dashboard.views.responses import page
from orders.offers import test_version_for


@page
def test(request: ActorRequest, pk: UUID) -> HttpResponse:
    """One version, beside the others of the same test."""
    found = test_version_for(request.actor, pk)
    return render(request, "dashboard/test.html", offers.whole(request.actor, found))
