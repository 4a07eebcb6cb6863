"""Addresses below /api/v1/. What is none of them is a problem, too, and never a page."""

from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import URLPattern, path, re_path
from django.views.decorators.http import require_safe

from foundation.reasons import Reason
from interop.api import openapi
from interop.api.application import build
from interop.api.gate import JSON, guarded
from interop.problems import ApiError

api = build()
MEDIA = {".pdf": "application/pdf", ".csv": "text/csv"}  # what else than JSON an address offers, by its end


@cache
def described() -> dict[str, Any]:
    """The document, made once."""
    return openapi.document(api)


@require_safe
def document(request: HttpRequest) -> HttpResponse:
    """GET openapi.json: for everybody, since it holds no data."""
    return JsonResponse(described())


def nothing(request: HttpRequest) -> HttpResponse:
    """Any other address."""
    return ApiError(404, Reason.API_NOT_FOUND).problem.response()


def _route(pattern: URLPattern) -> URLPattern:
    address = str(pattern.pattern)
    offers = next((media for end, media in MEDIA.items() if address.endswith(end)), JSON)
    pattern.callback = guarded(pattern.callback, offers=offers)
    return pattern


routes = [_route(pattern) for pattern in api.urls[0] if isinstance(pattern, URLPattern) and pattern.name != "api-root"]
urlpatterns = [path("openapi.json", guarded(document), name="openapi"), *routes, re_path("", guarded(nothing), name="nothing")]
app_name = "api-v1"
