"""What people do for their programs: the API's own page, and the tokens."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import tokens as keeping
from accounts.middleware import ActorRequest
from accounts.roles import Verb
from dashboard import programs, service_accounts
from dashboard.views.responses import page
from foundation.errors import Refused


@require_safe
@login_not_required
def api(request: ActorRequest) -> HttpResponse:
    """How a program speaks with this system: for everybody, since it says nothing of anybody."""
    origin = f"{request.scheme}://{request.get_host()}"
    return render(request, "dashboard/api.html", {"origin": origin, "codes": programs.codes()})


@require_http_methods(["GET", "POST"])
@page
def tokens(request: ActorRequest) -> HttpResponse:
    """The tokens this person keeps; a new one is shown in the answer to its making, and never again."""
    if request.method == "GET":
        return render(request, "dashboard/tokens.html", {"page": programs.show(request.actor)})
    made = programs.make(request.actor, request.POST)
    return render(request, "dashboard/tokens.html", {"page": made}, status=201 if made.made else 422)


@require_http_methods(["GET", "POST"])
@page
def accounts(request: ActorRequest) -> HttpResponse:
    """Service accounts of an administrator's organisations: which work, which stand still and why, and who answers for each."""
    if not request.actor.organisations(Verb.GRANT):
        raise PermissionDenied("Your role does not include this list.")
    if request.method == "GET":
        return render(request, "dashboard/programs.html", service_accounts.show(request.actor))
    try:
        messages.success(request, service_accounts.hand_over(request.actor, request.POST))
    except Refused as error:
        shown = service_accounts.show(request.actor) | {"errors": [str(error)]}
        return render(request, "dashboard/programs.html", shown, status=409)
    return redirect("programs")


@require_POST
@page
def revoke(request: ActorRequest, pk: UUID) -> HttpResponse:
    """End one of them."""
    token = keeping.token_for(request.actor, pk)
    keeping.revoke(actor=request.actor, token=token)
    messages.success(request, f"The token “{token.name}” opens nothing any more.")
    return redirect("api-tokens")
