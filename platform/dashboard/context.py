"""What every page needs: who is signed in, where, which entries he may use, and the server's clock."""

from dataclasses import dataclass, replace
from typing import Any, cast
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from accounts.middleware import ActorRequest
from accounts.models import User
from accounts.roles import FOR_PROGRAMS, Verb
from accounts.selectors import home
from dashboard import chain_page, notifications, wording
from foundation import clock
from orders.patient_selectors import open_checks_count

UTC = ZoneInfo("UTC")


@dataclass(frozen=True)
class Entry:
    """One entry of the navigation."""

    label: str
    url_name: str
    verb: Verb
    count: int = 0  # of what waits there
    also: Verb | None = None  # which opens it, too
    here: str = ""  # "page": this is it; "true": it leads to the page shown, which lies under it
    daily: bool = True  # otherwise it stands under "More" where the bar would be too long


ENTRIES = (
    Entry("Worklist", "worklist", Verb.VIEW_ORDER),
    Entry("New order", "order-new", Verb.PLACE),
    Entry("Bulk orders", "bulk-new", Verb.PLACE),
    Entry("Specimens", "specimens", Verb.RECEIVE_SPECIMEN),
    Entry("Patients", "patients", Verb.VIEW_ORDER),
    Entry("Identity", "identity-checks", Verb.EDIT_IDENTITY),
    Entry("Downtimes", "downtimes", Verb.LATE_ENTRY, also=Verb.DOWNTIME, daily=False),
    Entry("Questions", "questions", Verb.ASK),
    Entry("Engine", "engine", Verb.VIEW_ENGINE),
    Entry("Drift", "drift", Verb.VIEW_DRIFT),
    Entry("Turnaround", "turnaround", Verb.VIEW_TURNAROUND),
    Entry("Validation", "validation", Verb.PROPOSE_VALIDATION, daily=False),
    Entry("Audit", "audit", Verb.VIEW_AUDIT, daily=False),
    Entry("Retention", "retention", Verb.LEGAL_HOLD, daily=False),
    Entry("Clocks", "clocks", Verb.OFFER_TEST, daily=False),
    Entry("Webhooks", "webhooks", Verb.GRANT, daily=False),
    Entry("Providers", "providers", Verb.EDIT_PROVIDERS, daily=False),
    Entry("Sites", "sites", Verb.GRANT, daily=False),
    Entry("Programs", "programs", Verb.GRANT, daily=False),
)
ROOM = 8  # entries that the bar holds in one line at 1280 px


def _parted(entries: list[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Those of the bar, and those under "More": nobody who has few looks for any there."""
    if len(entries) <= ROOM:
        return entries, []
    return [entry for entry in entries if entry.daily], [entry for entry in entries if not entry.daily]


def _marked(entry: Entry, path: str) -> Entry:
    """The entry, told where the page at `path` lies. Everything lies under the worklist, so only the list itself is marked so."""
    at = reverse(entry.url_name)
    return replace(entry, here="page" if path == at else "true" if at != "/" and path.startswith(at) else "")


def zone_of(user: User) -> ZoneInfo:
    """The zone this person's pages show times in, and read times in."""
    organisation = home(user)
    return organisation.zone if organisation else UTC


def plain() -> dict[str, Any]:
    """What a page says that knows nobody; nothing is read for it."""
    return {"server_now": clock.now(), "demo": settings.DEMO, "zone": UTC, "entries": [], "more_entries": [], "more_here": False}


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Navigation entries this person may use, his organisation and its zone."""
    common = plain()
    if not hasattr(request, "user") or not request.user.is_authenticated:
        return common
    request = cast(ActorRequest, request)
    organisation = home(request.user)
    zone = organisation.zone if organisation else UTC
    found = [entry for entry in ENTRIES if any(request.actor.organisations(one) for one in (entry.verb, entry.also) if one)]
    entries = [_marked(entry, request.path) for entry in found]
    bell = SimpleLazyObject(lambda: notifications.bell(request.actor))  # parts of pages have none
    tokens = any(request.actor.organisations(verb) for verb in FOR_PROGRAMS)
    waiting, stat = open_checks_count(request.actor)
    entries = [replace(one, count=waiting) if one.url_name == "identity-checks" else one for one in entries]
    shown, more = _parted(entries)
    alarm = SimpleLazyObject(lambda: chain_page.alarm(request.actor))
    opened = request.actor.opened
    said = {
        "opened_now": opened,
        "opened_left": wording.time_left((opened.until - clock.now()).total_seconds()) if opened else "",
        "may_break_glass": bool(request.actor.organisations(Verb.BREAK_GLASS)),
        "audit_alarm": alarm,
        "bell": bell,
        "organisation": organisation,
        "zone": zone,
        "entries": shown,
        "more_entries": more,
        "more_here": any(entry.here for entry in more),
        "keeps_tokens": tokens,
    }
    return {**common, **said, "identity_stat": stat}
