"""Who can log in on pages: people. Service accounts act through the interfaces, by token."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

from accounts.models import User
from accounts.roles import Role


class PeopleOnly(ModelBackend):
    """E-mail address and password of a person with an open account."""

    def user_can_authenticate(self, user: User | AnonymousUser | None) -> bool:
        """Asked again for every page of a session."""
        return super().user_can_authenticate(user) and isinstance(user, User) and user.responsible_id is None

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        """Nobody with the service role either: accounts of older versions have no person named who answers for them."""
        found = super().authenticate(request, username=username, password=password, **kwargs)
        if not isinstance(found, User) or found.memberships.filter(role=Role.SERVICE, ended_at=None).exists():
            return None
        return found
