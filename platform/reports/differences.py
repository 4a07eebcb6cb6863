"""What one version of a report says otherwise than another: every field of the two contents, compared as a person reads them."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from reports.content import Change, Content

MOST = 200  # changes that are told one by one
LONGEST = 300  # characters of a value
_OWN = ("report", "changes", "format")  # what a version says of itself


def between(before: Content, now: Content) -> list[Change]:
    """The changes, in the order of the report; past `MOST` the rest is counted."""
    old, new = dict(_told(before)), dict(_told(now))
    found = [
        Change(field, _short(old.get(field, "")), _short(new.get(field, "")))
        for field in dict.fromkeys([*new, *old])
        if old.get(field, "") != new.get(field, "")
    ]
    rest = len(found) - MOST
    return found if rest <= 0 else [*found[:MOST], Change("further changes", "", str(rest))]


def _told(said: Content) -> Iterator[tuple[str, str]]:
    """Field in words → value in full: numbers as the shortest text that reads back to the same double."""
    for part, value in asdict(said).items():
        if part == "results":
            for line in value:
                yield from _flat(f"result {line['ordinal'] + 1}", line)
        elif part not in _OWN:
            yield from _flat(part, value)


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name}: {key.replace('_', ' ')}", inner)
    elif isinstance(value, list):
        for place, inner in enumerate(value, 1):
            yield from _flat(f"{name} {place}", inner)
    else:
        yield name, "" if value is None else str(value)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"
