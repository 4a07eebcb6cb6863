"""The STAT list for a downtime."""

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.middleware import ActorRequest
from dashboard import stat_list_page
from dashboard.views.responses import page
from foundation.errors import NotPermitted


@require_safe
@page
def stat_list(request: ActorRequest) -> HttpResponse:
    """The page that is printed."""
    return _show(request, "dashboard/stat_list.html")


@require_safe
@page
def stat_list_live(request: ActorRequest) -> HttpResponse:
    """The part that is read again."""
    return _show(request, "dashboard/parts/stat_list_live.html")


def _show(request: ActorRequest, template: str) -> HttpResponse:
    try:
        return render(request, template, stat_list_page.page(request.actor))
    except NotPermitted as error:
        raise PermissionDenied(str(error)) from error
