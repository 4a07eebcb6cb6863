"""May this session listen? Asked when a socket opens, before each message, and at least once a minute."""

from uuid import UUID

from channels.db import database_sync_to_async
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest

from accounts.models import User
from accounts.roles import Verb
from accounts.services import actor_for
from foundation.actor import Actor
from notices.bells import group_of
from orders.selectors import may_follow
from questions.models import Question


def groups_for(session_key: str | None, order: UUID | None = None, question: UUID | None = None) -> frozenset[str]:
    """The channel groups this session may follow now: an order, a question or its organisations' worklists, and its bell."""
    actor = _actor(session_key)
    if actor is None:
        return frozenset()
    if question is not None:
        groups = {f"question.{question}"} if Question.objects.for_actor(actor).filter(pk=question).exists() else set()
    elif order is None:
        groups = {f"worklist.{organisation}" for organisation in actor.organisations(Verb.VIEW_ORDER)}
    else:
        groups = {f"order.{order}"} if may_follow(actor, order) else set()
    return frozenset(groups | {group_of(actor.id)}) if groups and actor.id else frozenset()


def _actor(session_key: str | None) -> Actor | None:
    """Read afresh: a session that was logged out or has expired, or a password that was changed, ends here."""
    if not session_key:
        return None
    request = HttpRequest()
    request.session = SessionStore(session_key)
    user = get_user(request)
    return actor_for(user) if isinstance(user, User) else None


# The one place where the sockets touch the database: on a thread, with the connection hygiene of a request.
groups_for_async = database_sync_to_async(groups_for)
