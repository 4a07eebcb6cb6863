"""What is said when a request is refused. No database is asked.

Under ASGI Django makes these answers on threads of an executor. A connection opened there is closed by no request's end: it would
stay out of the pool for good, and serve a dead socket after the database was started again.
"""

import sys

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from dashboard import context
from foundation import faults
from foundation.reasons import Reason
from interop.fhir.outcomes import of_problem
from interop.problems import Problem

FOR_PROGRAMS = ("/api/", "/fhir")  # below them there are no pages
_REASONS = {
    400: Reason.API_MALFORMED.say(detail="its address, its headers or its body"),
    403: Reason.ACCESS_NOT_PERMITTED.words,
    404: Reason.API_NOT_FOUND.words,
}
_CODES = {400: Reason.API_MALFORMED, 403: Reason.ACCESS_NOT_PERMITTED, 404: Reason.API_NOT_FOUND, 500: Reason.API_FAILED}


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: the request cannot be read."""
    return _answer(request, 400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: the role does not include it, in the words of the page that refused."""
    return _answer(request, 403, str(exception))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404: not there, or not for this person."""
    return _answer(request, 404)


def failed(request: HttpRequest) -> HttpResponse:
    """500: a fault of ours, written to the log under the reference that is told."""
    return _answer(request, 500, faults.noted("page.failed", sys.exception()))


def _answer(request: HttpRequest, status: int, said: str = "") -> HttpResponse:
    """A page without its request, and so without the context processors, which would read the person's organisation and rights."""
    if request.path.startswith(FOR_PROGRAMS) and request.path != "/api/":
        words = _REASONS.get(status) or _CODES[status].say(reference=said)
        problem = Problem(status, str(_CODES[status]), words)
        return of_problem(problem) if request.path.startswith("/fhir") else problem.response()
    return HttpResponse(render_to_string(f"{status}.html", {**context.plain(), "said": said}), status=status)
