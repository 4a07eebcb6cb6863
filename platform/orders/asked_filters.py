"""The filters of a list of orders as an address says them: read, with words for what cannot be read, and said again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo

from foundation.actor import Actor
from orders.filters import LABELS, SEARCH_MINIMUM, Filters

SEARCH_MOST = 80  # characters
ME, NOBODY = "me", "nobody"
NAMES = {  # in the address: in words
    "chip": "List", "q": "Search", "priority": "Priority", "state": "Stage", "test": "Test", "organisation": "Ordered by",
    "site": "Site",
    "assignee": "With", "placed_from": "Placed from", "placed_to": "Placed until", "due_from": "Due from", "due_to": "Due until",
    "sort": "Sorted",
}  # fmt: skip
USUAL = {"chip": "open", "sort": "urgency"}
SELECTS = ("priority", "state", "test", "organisation", "site", "assignee")
DATES = ("placed_from", "placed_to", "due_from", "due_to")
Choice = tuple[str, str]


@dataclass(frozen=True)
class Choices:
    """What can be chosen, for each filter that is a choice: value and words."""

    priority: list[Choice]
    state: list[Choice]
    test: list[Choice]
    organisation: list[Choice]
    site: list[Choice]
    assignee: list[Choice]
    sort: list[Choice]


@dataclass(frozen=True)
class Chosen:
    """A filter that is set, as a chip that can be taken away."""

    name: str
    label: str
    words: str
    without: str  # the address of the list without it


@dataclass(frozen=True)
class Asked:
    """What an address asks for, as far as it can be read."""

    filters: Filters
    said: dict[str, str]  # the values that count, as the address has them
    problems: list[str]  # what was ignored, in words
    choices: Choices
    unread: dict[str, str] = field(default_factory=dict)  # name → why it says nothing

    @property
    def query(self) -> str:
        """The address that says the same, without the place in the list."""
        return self.address()

    @property
    def chosen(self) -> list[Chosen]:
        """What is set beside the list and the search, which have places of their own."""
        words = {name: dict(getattr(self.choices, name)) for name in (*SELECTS, "sort")}
        return [
            Chosen(name, NAMES[name], words.get(name, {}).get(value, value), self.address(**{name: ""}))
            for name, value in self.said.items()
            if name not in ("chip", "q")
        ]

    @property
    def selects(self) -> list[tuple[str, str, list[Choice]]]:
        """The filters that are a choice: name, label, options; none where there is nothing to choose."""
        found = [(name, NAMES[name], getattr(self.choices, name)) for name in SELECTS]
        return [one for one in found if len(one[2]) > 1 or one[0] in self.said]

    @property
    def days(self) -> list[tuple[str, str]]:
        """The filters that are a day: name, label."""
        return [(name, NAMES[name]) for name in DATES]

    @property
    def narrowed(self) -> bool:
        """Whether less than everything open is listed."""
        return bool(self.said.keys() - {"sort"})

    def address(self, **changes: str) -> str:
        """The query of the same list with some values changed; an empty one goes."""
        said = {name: value for name, value in {**self.said, **changes}.items() if value and USUAL.get(name) != value}
        return urlencode(said) or "chip=open"


class _Unreadable(Exception):
    """This value says nothing, and why."""


def read(actor: Actor, query: Mapping[str, str], zone: ZoneInfo, choices: Choices) -> Asked:
    """What the address asks for. What cannot be read is told and left out, which never shows more than this person may see."""
    readers: dict[str, Callable[[str], dict[str, Any]]] = {
        "chip": lambda value: {"chip": _one_of(value, list(LABELS.items()), str)},
        "q": lambda value: {"search": _search(value)},
        "priority": lambda value: {"priority": _one_of(value, choices.priority, str)},
        "state": lambda value: {"state": _one_of(value, choices.state, str)},
        "test": lambda value: {"test": _one_of(value, choices.test, UUID)},
        "organisation": lambda value: {"organisation": _one_of(value, choices.organisation, UUID)},
        "site": lambda value: {"site": _one_of(value, choices.site, UUID)},
        "assignee": lambda value: _assignee(value, choices.assignee, actor),
        "placed_from": lambda value: {"placed_from": _midnight(value, zone)},
        "placed_to": lambda value: {"placed_until": _midnight(value, zone, days=1)},
        "due_from": lambda value: {"due_from": _midnight(value, zone)},
        "due_to": lambda value: {"due_until": _midnight(value, zone, days=1)},
        "sort": lambda value: {"sort": _one_of(value, choices.sort, str)},
    }
    filters, said, problems, unread = Filters(), {}, [], {}
    for name, reader in readers.items():
        value = query.get(name, "").replace("\0", "").strip()
        if not value:
            continue
        try:
            filters = replace(filters, **reader(value))
        except _Unreadable as why:
            problems.append(f"{NAMES[name]} “{value[:40]}” was ignored: {why}")
            unread[name] = str(why)
            continue
        if USUAL.get(name) != value:
            said[name] = value
    return _in_order(Asked(filters, said, problems, choices, unread))


def _in_order(asked: Asked) -> Asked:
    """Without the periods that end before they begin."""
    for name in ("placed", "due"):
        begins, ends = getattr(asked.filters, f"{name}_from"), getattr(asked.filters, f"{name}_until")
        if begins and ends and begins >= ends:
            gone: dict[str, Any] = {f"{name}_from": None, f"{name}_until": None}
            filters = replace(asked.filters, **gone)
            said = {key: value for key, value in asked.said.items() if key not in (f"{name}_from", f"{name}_to")}
            period = f"from {asked.said[f'{name}_from']} until {asked.said[f'{name}_to']}"
            why = f"{name.capitalize()} {period} was ignored: it ends before it begins."
            unread = {**asked.unread, f"{name}_to": "it ends before it begins."}
            asked = replace(asked, filters=filters, said=said, problems=[*asked.problems, why], unread=unread)
    return asked


def _one_of(value: str, choices: list[Choice], kind: Callable[[str], Any]) -> Any:
    if value not in dict(choices):
        raise _Unreadable("there is no such choice for you.")
    return kind(value)


def _search(value: str) -> str:
    if len(value) < SEARCH_MINIMUM:
        raise _Unreadable(f"a search takes at least {SEARCH_MINIMUM} characters.")
    if len(value) > SEARCH_MOST:
        raise _Unreadable(f"a search takes at most {SEARCH_MOST} characters.")
    return value


def _assignee(value: str, choices: list[Choice], actor: Actor) -> dict[str, Any]:
    if value not in dict(choices):
        raise _Unreadable("there is no such person among those who work here.")
    return {"nobody": True} if value == NOBODY else {"assignee": actor.id if value == ME else UUID(value)}


def _midnight(value: str, zone: ZoneInfo, days: int = 0) -> datetime:
    """The beginning of a day at this site, or of the one after it; 23 or 25 hours apart when the clocks change."""
    try:
        day = date.fromisoformat(value) + timedelta(days=days)
        if len(value) != len("2026-01-31") or not 1900 < day.year < 9000:
            raise ValueError
    except (ValueError, OverflowError):
        raise _Unreadable("write the day like 2026-01-31.") from None
    return datetime(day.year, day.month, day.day, tzinfo=zone)
