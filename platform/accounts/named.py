"""The person behind an address that is typed on a command line: who decides acts under a name, there as on a page."""

from accounts.models import User
from accounts.services import actor_for
from foundation.actor import Actor
from foundation.errors import NotPermitted

CODE = "access.not-permitted"


def person(email: str) -> Actor:
    """The actor of an open account. Raises `NotPermitted` where there is none, and where it is closed."""
    user = User.objects.filter(email__iexact=email.strip()).first()
    if user is None:
        raise NotPermitted(
            f"there is no account {email.strip()[:80] or '(empty)'}: give the address that the person logs in with", code=CODE
        )
    if not user.is_active:
        raise NotPermitted(f"the account {user.email} is closed: nobody acts under it", code=CODE)
    return actor_for(user)
