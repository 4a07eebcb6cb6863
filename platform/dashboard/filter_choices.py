"""What a person can choose on the worklist, in the words of the pages."""

from collections.abc import Mapping
from zoneinfo import ZoneInfo

from accounts.people import people_who_may
from accounts.roles import Verb
from accounts.sites import several_sites
from dashboard.stages import WORDS
from dashboard.wording import PRIORITY_WORD
from foundation.actor import Actor
from orders import asked_filters, selectors
from orders.asked_filters import ME, NOBODY, Asked, Choices
from orders.filters import SORTS


def read(actor: Actor, query: Mapping[str, str], zone: ZoneInfo) -> Asked:
    """The filters of the address, and the choices that this person has."""
    return asked_filters.read(actor, query, zone, choices_of(actor))


def choices_of(actor: Actor) -> Choices:
    """What this person can choose from: nothing that he could not see."""
    people = people_who_may(Verb.ASSIGN, actor.organisations(Verb.ASSIGN)) if actor.organisations(Verb.ASSIGN) else []
    named = [(str(user.pk), user.name) for user in people if user.pk != actor.id]
    return Choices(
        priority=list(PRIORITY_WORD.items()),
        state=[(state, words) for state, words in WORDS.items() if state != "draft"],
        test=[(str(test.pk), str(test)) for test in selectors.listed_tests(actor)],
        organisation=[(str(found.pk), found.name) for found in selectors.listed_organisations(actor)],
        site=[(str(site.pk), f"{site.organisation.name}: {site.name}") for site in several_sites(actor)],
        assignee=[(ME, "me"), (NOBODY, "nobody"), *named] if people else [],
        sort=list(SORTS.items()),
    )
