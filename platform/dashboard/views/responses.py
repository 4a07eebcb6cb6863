"""What every page carries."""

from functools import wraps
from typing import Any, cast

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from accounts.middleware import ActorRequest
from foundation import clock
from reports.answering import View, private


def page(view: View) -> View:
    """Private, and dated, so that browsers count on our clock."""

    @private
    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(cast(ActorRequest, request), *args, **kwargs)
        response["X-Server-Time"] = clock.now().isoformat()
        return response

    return answered
