"""What every answer with patient data carries."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache

from accounts.middleware import ActorRequest
from foundation import clock

View = Callable[..., HttpResponse]


def page(view: Callable[..., HttpResponse]) -> View:
    """Kept by no cache (the back button after a logout shows nothing), and dated, so that browsers count on our clock."""

    @never_cache
    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(cast(ActorRequest, request), *args, **kwargs)
        response["X-Server-Time"] = clock.now().isoformat()
        return response

    return answered
