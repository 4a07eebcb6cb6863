"""Around every address of the API: what is refused before a route is asked, and what no answer may lack."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from foundation.reasons import Reason
from interop.problems import NO_STORE, ApiError

View = Callable[..., HttpResponse]
JSON = "application/json"


def guarded(view: View, *, offers: str = JSON) -> View:
    """A view for programs: no login page, no cookie, no CSRF token; problem details for everything it does not do."""

    @csrf_exempt
    @login_not_required
    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.accepts(offers):
            return ApiError(406, Reason.API_NOT_ACCEPTABLE, offered=offers).problem.response()
        head = request.method == "HEAD"
        if head:  # answered as GET is, without the body
            request.method = "GET"
        response = view(request, *args, **kwargs)
        if response.status_code == 405:
            response = _not_allowed(request, response["Allow"])
        if head:
            _emptied(response)
        response.setdefault("Cache-Control", NO_STORE)
        return response

    return answered


def _emptied(response: HttpResponseBase) -> None:
    """The same status and headers, and no body; a stream ends before it began."""
    if isinstance(response, StreamingHttpResponse):
        response.streaming_content = iter(())
        return
    whole = cast(HttpResponse, response)
    length, whole.content = len(whole.content), b""
    whole["Content-Length"] = str(length)


def _not_allowed(request: HttpRequest, allowed: str) -> HttpResponse:
    allowed = allowed.replace("GET", "GET, HEAD")
    method, headers = (request.method or "")[:20], {"Allow": allowed}
    return ApiError(405, Reason.API_METHOD, headers=headers, method=method, allowed=allowed).problem.response()
