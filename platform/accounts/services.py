"""Who is acting, and may he? One function answers; it reads the table in `accounts.roles`."""

from collections import defaultdict
from uuid import UUID

from accounts.models import Membership, User
from accounts.roles import NEVER_SERVICE, TABLE, Role, Verb
from foundation.actor import Actor
from foundation.errors import NotPermitted


def actor_for(user: User) -> Actor:
    """The actor behind a logged-in user: his open memberships, turned into verbs. An inactive user may do nothing."""
    grants: dict[str, set[UUID]] = defaultdict(set)
    if user.is_active:
        for membership in Membership.objects.filter(user=user, ended_at=None).only("role", "organisation_id"):
            for verb in verbs_of(Role(membership.role)):
                grants[verb].add(membership.organisation_id)
    return Actor(id=user.pk, name=user.name, grants={verb: frozenset(orgs) for verb, orgs in grants.items()})


def verbs_of(role: Role) -> frozenset[Verb]:
    """What a role may do."""
    verbs = TABLE[role]
    return verbs - NEVER_SERVICE if role is Role.SERVICE else verbs


def require(actor: Actor, verb: Verb, *organisations: UUID) -> None:
    """Raise `NotPermitted` unless the actor may do `verb` in one of the organisations."""
    if not actor.may(verb, *organisations):
        raise NotPermitted(f"Your role does not allow this ({verb.replace('_', ' ')}).", code="access.not-permitted")
