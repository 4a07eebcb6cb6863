"""What all answers with patient data have in common. Pages of this part and of the dashboard are wrapped in it."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.cache import never_cache

from foundation.errors import NotFound

View = Callable[..., HttpResponseBase]


def private(view: View) -> View:
    """Kept by no cache: the back button after a logout shows nothing. What is not there for this person is a 404."""

    @never_cache
    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except NotFound as error:
            raise Http404(str(error)) from error

    return answered
