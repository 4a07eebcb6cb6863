"""Lists that an organisation keeps of itself: its providers and its sites."""

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.middleware import ActorRequest
from accounts.providers import provider_to_edit, providers_to_edit
from accounts.roles import Verb
from accounts.sites import site_to_edit, sites_to_edit
from dashboard import directory
from dashboard.views.responses import page
from foundation.errors import HelicaseError, NotFound

PROVIDERS = {"what": "provider", "list_url": "providers", "one_url": "provider"}
SITES = {"what": "site", "list_url": "sites", "one_url": "site"}


@require_http_methods(["GET", "POST"])
@page
def providers(request: ActorRequest) -> HttpResponse:
    """All providers, and a form for a new one."""
    _require(request, Verb.EDIT_PROVIDERS)
    form = directory.provider_form(request.actor)
    if request.method == "POST":
        try:
            messages.success(request, directory.save_provider(request.actor, request.POST))
            return redirect("providers")
        except HelicaseError as error:
            form = directory.provider_form(request.actor, None, _typed(request), _seen(error))
    context = {**PROVIDERS, "rows": providers_to_edit(request.actor), "form": form}
    return render(request, "dashboard/providers.html", context, status=409 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@page
def provider(request: ActorRequest, pk: UUID) -> HttpResponse:
    """One provider: other details, closed, open again."""
    row = provider_to_edit(request.actor, pk)
    form = directory.provider_form(request.actor, row)
    if request.method == "POST":
        try:
            messages.success(request, directory.save_provider(request.actor, request.POST, row))
            return redirect("providers")
        except HelicaseError as error:
            form = directory.provider_form(request.actor, provider_to_edit(request.actor, pk), _typed(request), _seen(error))
    return render(request, "dashboard/directory_row.html", {**PROVIDERS, "form": form}, status=409 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@page
def sites(request: ActorRequest) -> HttpResponse:
    """All sites, and a form for a new one."""
    _require(request, Verb.GRANT)
    form = directory.site_form(request.actor)
    if request.method == "POST":
        try:
            messages.success(request, directory.save_site(request.actor, request.POST))
            return redirect("sites")
        except HelicaseError as error:
            form = directory.site_form(request.actor, None, _typed(request), _seen(error))
    context = {**SITES, "rows": sites_to_edit(request.actor), "form": form}
    return render(request, "dashboard/sites.html", context, status=409 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@page
def site(request: ActorRequest, pk: UUID) -> HttpResponse:
    """One site: other details, closed, open again."""
    row = site_to_edit(request.actor, pk)
    form = directory.site_form(request.actor, row)
    if request.method == "POST":
        try:
            messages.success(request, directory.save_site(request.actor, request.POST, row))
            return redirect("sites")
        except HelicaseError as error:
            form = directory.site_form(request.actor, site_to_edit(request.actor, pk), _typed(request), _seen(error))
    return render(request, "dashboard/directory_row.html", {**SITES, "form": form}, status=409 if form.errors else 200)


def _require(request: ActorRequest, verb: Verb) -> None:
    if not request.actor.organisations(verb):
        raise PermissionDenied("Your role does not include this list.")


def _typed(request: ActorRequest) -> dict[str, str] | None:
    """What was typed into the form; a button beside it types nothing."""
    return {name: request.POST[name] for name in request.POST} if request.POST.get("do") not in ("close", "open") else None


def _seen(error: HelicaseError) -> HelicaseError:
    if isinstance(error, NotFound):
        raise error
    return error
