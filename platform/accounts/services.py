"""Who is acting, and may he? One function answers; it reads the table in `accounts.roles`."""

from collections import defaultdict
from uuid import UUID

from django.db.models import QuerySet

from accounts.models import Membership, User
from accounts.roles import NEVER_SERVICE, TABLE, Role, Verb
from foundation.actor import Actor
from foundation.errors import NotPermitted


def actor_for(user: User) -> Actor:
    """The actor behind a logged-in user: his open memberships, turned into verbs. An inactive user may do nothing."""
    grants: dict[str, set[UUID]] = defaultdict(set)
    if user.is_active:
        for membership in memberships_that_count(user).only("role", "organisation_id"):
            for verb in verbs_of(Role(membership.role)):
                grants[verb].add(membership.organisation_id)
    return Actor(id=user.pk, name=user.name, grants={verb: frozenset(orgs) for verb, orgs in grants.items()})


def memberships_that_count(user: User) -> QuerySet[Membership]:
    """Those that are open; a program's only where the person who answers for it still works, so that none outlives him unseen."""
    mine = Membership.objects.filter(user=user, ended_at=None)
    if user.responsible_id is None:
        return mine.exclude(role=Role.SERVICE)
    there = Membership.objects.filter(user=user.responsible_id, user__is_active=True, ended_at=None)
    return mine.filter(organisation__in=there.values("organisation"))


def verbs_of(role: Role) -> frozenset[Verb]:
    """What a role may do."""
    verbs = TABLE[role]
    return verbs - NEVER_SERVICE if role is Role.SERVICE else verbs


def require(actor: Actor, verb: Verb, *organisations: UUID) -> None:
    """Raise `NotPermitted` unless the actor may do `verb` in one of the organisations."""
    if not actor.may(verb, *organisations):
        raise NotPermitted(f"Your role does not allow this ({verb.replace('_', ' ')}).", code="access.not-permitted")
