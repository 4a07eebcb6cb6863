"""Who may come in at all, and who is acting."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.functional import SimpleLazyObject

from accounts import break_glass
from accounts.models import User
from accounts.services import actor_for
from foundation.actor import Actor


class ActorRequest(HttpRequest):
    """A request with its actor; what views are typed with."""

    actor: Actor
    user: User


class LoginRequired(LoginRequiredMiddleware):
    """Sends nobody away from a page that is for everybody, and does not ask who he is: that is a look into the database."""

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        view_args: tuple[Any, ...],
        view_kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        """Django's own asks first."""
        if not getattr(view_func, "login_required", True):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)


class ActorMiddleware:
    """Sets `request.actor` (read from the database when first used: rights are checked afresh in every request)."""

    def __init__(
        self, get_response: Callable[[HttpRequest], HttpResponse] | Callable[[HttpRequest], Awaitable[HttpResponse]]
    ) -> None:
        self.get_response = cast(Callable[[HttpRequest], HttpResponse], get_response)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.actor = SimpleLazyObject(lambda: _actor(request))  # type: ignore[attr-defined]
        return self.get_response(request)


def _actor(request: HttpRequest) -> Actor:
    if request.user.is_authenticated:
        actor = actor_for(request.user)
        return replace(
            actor, opened=break_glass.opened(request.user, actor), origin=f"page, {request.META.get('REMOTE_ADDR') or 'no address'}"
        )
    return Actor(id=None, name="nobody")
