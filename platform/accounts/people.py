"""Who may do something in an organisation, by the open memberships of people whose account is open."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import QuerySet

from accounts.models import Membership, User
from accounts.roles import Role, Verb
from accounts.services import verbs_of


def roles_that_may(verb: Verb) -> list[Role]:
    """The roles with this verb in the table."""
    return [role for role in Role if verb in verbs_of(role)]


def members_who_may(verb: Verb) -> QuerySet[Membership]:
    """The memberships, in any organisation, that let somebody do it now."""
    return Membership.objects.filter(role__in=roles_that_may(verb), ended_at=None, user__is_active=True)


def people_who_may(verb: Verb, organisations: Iterable[UUID]) -> list[User]:
    """The people who may do it in one of the organisations, by name."""
    members = members_who_may(verb).filter(organisation__in=list(organisations))
    return list(User.objects.filter(pk__in=members.values("user")).order_by("name", "email"))
