"""Every route names the right it needs; a token without it opens nothing there."""

from django.http import HttpRequest
from ninja.security.base import AuthBase

from accounts.roles import Verb
from foundation.actor import Actor
from foundation.errors import NotPermitted
from interop.authentication import actor_of


class Token(AuthBase):
    """An API token with a scope that its owner's role includes; without a verb, any open token."""

    openapi_type = "http"
    openapi_scheme = "bearer"
    openapi_description = "An API token: `Authorization: Bearer hct_…`."

    def __init__(self, verb: Verb | None = None) -> None:
        super().__init__()
        self.verb = verb

    def __call__(self, request: HttpRequest) -> Actor:
        """The actor. Raises `ApiError` or `NotPermitted`."""
        actor = actor_of(request)
        if self.verb is not None and not actor.organisations(self.verb):
            raise NotPermitted(
                f"This needs the right “{self.verb}”, which the token was not given or its owner does not have.",
                code="access.not-permitted",
            )
        return actor


class ApiRequest(HttpRequest):
    """A request whose token has been believed."""

    auth: Actor
