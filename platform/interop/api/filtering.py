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
from accounts.sites import several_sites
from foundation.actor import Actor
from foundation.reasons import Reason
from interop.problems import ApiError, Fault
from orders import asked_filters, selectors
from orders.asked_filters import ME, NOBODY, Choices
from orders.filters import Filters


def read(actor: Actor, query: Mapping[str, str | None]) -> Filters:
    """The filters; days are those of the zone of the account's organisation. Raises `ApiError` with every one that says nothing."""
    given = {name: value for name, value in query.items() if value is not None}
    if not given:
        return Filters(chip="")
    asked = asked_filters.read(actor, given, _zone(actor), _choices(actor, given))
    if asked.unread:
        raise ApiError(422, Reason.API_INVALID, errors=[Fault(why, parameter=name) for name, why in asked.unread.items()])
    return replace(asked.filters, chip=given.get("chip", "").strip())


def _zone(actor: Actor) -> ZoneInfo:
    organisation = home(User.objects.get(pk=cast(UUID, actor.id)))
    return organisation.zone if organisation else ZoneInfo("UTC")


def _choices(actor: Actor, given: Mapping[str, str]) -> Choices:
    """What this account can name of what is asked for: nothing that it could not see."""
    tests = selectors.listed_tests(actor) if "test" in given else []
    organisations = selectors.listed_organisations(actor) if "organisation" in given else []
    people = people_who_may(Verb.ASSIGN, actor.organisations(Verb.VIEW_ORDER)) if "assignee" in given else []
    return Choices(
        priority=[],
        state=[],
        test=[(str(test.pk), "") for test in tests],
        organisation=[(str(found.pk), "") for found in organisations],
        site=[(str(site.pk), "") for site in (several_sites(actor) if "site" in given else [])],
        assignee=[(name, "") for name in (ME, NOBODY, *(str(user.pk) for user in people))],
        sort=[],
    )
