"""What is read of tokens and organisations."""

from collections.abc import Iterable
from uuid import UUID

from accounts.models import ApiToken, Organisation, User
from foundation.actor import Actor


def token_in_use(actor: Actor) -> ApiToken:
    """The token that acts in this actor's name."""
    return ApiToken.objects.get(pk=actor.token)


def organisations(pks: Iterable[UUID]) -> list[Organisation]:
    """These organisations, by name."""
    return list(Organisation.objects.filter(pk__in=list(pks)).order_by("name"))


def home(user: User) -> Organisation | None:
    """The laboratory (else the first organisation) this person belongs to; None for somebody without a membership."""
    mine = Organisation.objects.filter(memberships__user=user, memberships__ended_at=None)
    return mine.order_by("-is_laboratory", "name").first()
