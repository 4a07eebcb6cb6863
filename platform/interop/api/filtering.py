"""The filters of the worklist as parameters: read as the pages read them, and refused in the same words."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast
from uuid import UUID
from zoneinfo import ZoneInfo

from accounts.models import User
from accounts.people import people_who_may
from accounts.roles import Verb
from accounts.selectors import home
from foundation.actor import Actor
from foundation.reasons import Reason
from interop.problems import ApiError, Fault
from orders import asked_filters, selectors
from orders.asked_filters import ME, NOBODY, Choices
from orders.filters import Filters


def read(actor: Actor, query: Mapping[str, str | None]) -> Filters:
    """The filters; days are those of the zone of the account's organisation. Raises `ApiError` with every one that says nothing."""
    given = {name: value for name, value in query.items() if value is not None}
    asked = asked_filters.read(actor, given, _zone(actor), _choices(actor))
    if asked.unread:
        raise ApiError(422, Reason.API_INVALID, errors=[Fault(why, parameter=name) for name, why in asked.unread.items()])
    return replace(asked.filters, chip=given.get("chip", "").strip())


def _zone(actor: Actor) -> ZoneInfo:
    organisation = home(User.objects.get(pk=cast(UUID, actor.id)))
    return organisation.zone if organisation else ZoneInfo("UTC")


def _choices(actor: Actor) -> Choices:
    """What this account can name: nothing that it could not see."""
    people = [str(user.pk) for user in people_who_may(Verb.ASSIGN, actor.organisations(Verb.VIEW_ORDER))]
    return Choices(
        priority=[],
        state=[],
        test=[(str(test.pk), "") for test in selectors.listed_tests(actor)],
        organisation=[(str(found.pk), "") for found in selectors.listed_organisations(actor)],
        assignee=[(name, "") for name in (ME, NOBODY, *people)],
        sort=[],
    )
