"""What is said when a request is refused. No database is asked.

Under ASGI Django makes these answers on threads of an executor. A connection opened there is closed by no request's end: it would
stay out of the pool for good, and serve a dead socket after the database was started again.
"""

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from dashboard import context


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: the request cannot be read."""
    return _answer(400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: the role does not include it."""
    return _answer(403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404: not there, or not for this person."""
    return _answer(404)


def _answer(status: int) -> HttpResponse:
    """Without the request, and so without the context processors, which would read the person's organisation and rights."""
    return HttpResponse(render_to_string(f"{status}.html", context.plain()), status=status)
