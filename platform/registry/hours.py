"""Working hours as a laboratory writes them: seven days of spans in its own wall time, and the holidays on which none count."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DAY = 24 * 60  # minutes by the clock on the wall
MOST_HOLIDAYS, LONGEST_NAME = 400, 60
_SPAN = re.compile(r"(\d{1,2}):(\d{2})\s*[-–]\s*(\d{1,2}):(\d{2})")

Span = tuple[int, int]  # minutes of a day by the clock on the wall: from, to


class BadHours(ValueError):
    """These hours cannot be read, or leave no time to work in."""


@dataclass(frozen=True)
class Hours:
    """When work is done in a week, and on which dates it is not."""

    weekly: tuple[tuple[Span, ...], ...]  # Monday first
    holidays: frozenset[date] = field(default=frozenset())

    def of(self, day: date) -> tuple[Span, ...]:
        """The spans that are worked on a date."""
        return () if day in self.holidays else self.weekly[day.weekday()]


def parse_week(texts: Sequence[str]) -> list[list[list[int]]]:
    """Seven texts such as "08:00-12:00, 13:00-17:00", Monday first; empty is closed. "22:00-06:00" goes on into the next day.

    Raises `BadHours` with the day and what is wrong with it.
    """
    days: list[list[Span]] = [[] for _ in DAYS]
    for number, text in enumerate(texts):
        for begins, ends in _spans(text, DAYS[number]):
            days[number].append((begins, ends if ends > begins else DAY))
            if 0 < ends <= begins:
                days[(number + 1) % 7].append((0, ends))
    for number, spans in enumerate(days):
        spans.sort()
        if any(first[1] > second[0] for first, second in pairwise(spans)):
            raise BadHours(f"{DAYS[number]}: two of the spans overlap.")
    if not any(days):
        raise BadHours("At least one day needs hours, or nothing would ever be due.")
    return [[list(span) for span in spans] for spans in days]


def parse_holidays(text: str) -> list[list[str]]:
    """Lines such as "2026-12-25 Christmas Day": date and name. Raises `BadHours` with the line that is wrong."""
    found: dict[date, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        said, _, name = line.strip().partition(" ")
        try:
            day = date.fromisoformat(said)
        except ValueError:
            raise BadHours(f"Line {number}: “{said[:20]}” is no date; write it as 2026-12-25, then the name.") from None
        name = " ".join(name.split())
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise BadHours(f"Line {number}: a name of at most {LONGEST_NAME} letters belongs after the date.")
        if day in found:
            raise BadHours(f"Line {number}: {day} is there twice.")
        found[day] = name
    if len(found) > MOST_HOLIDAYS:
        raise BadHours(f"{len(found)} holidays; at most {MOST_HOLIDAYS} fit.")
    return [[day.isoformat(), found[day]] for day in sorted(found)]


def read(weekly: Sequence[Sequence[Sequence[int]]], holidays: Sequence[Sequence[str]]) -> Hours:
    """What a calendar's columns say."""
    week = tuple(tuple((span[0], span[1]) for span in day) for day in weekly)
    return Hours(week, frozenset(date.fromisoformat(day) for day, _ in holidays))


def written(weekly: Sequence[Sequence[Sequence[int]]]) -> Mapping[str, str]:
    """Each day as a person would write it, Monday first."""
    return {
        name: ", ".join(f"{_clock(begins)}-{_clock(ends)}" for begins, ends in day) for name, day in zip(DAYS, weekly, strict=True)
    }


def _clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"


def _spans(text: str, day: str) -> list[Span]:
    found = []
    for part in filter(None, (part.strip() for part in text.replace(";", ",").split(","))):
        match = _SPAN.fullmatch(part)
        if match is None:
            raise BadHours(f"{day}: “{part[:30]}” is no span; write 08:00-17:00, several with commas between.")
        hour, minute, to_hour, to_minute = map(int, match.groups())
        begins, ends = hour * 60 + minute, to_hour * 60 + to_minute
        if minute > 59 or to_minute > 59 or begins >= DAY or ends > DAY:
            raise BadHours(f"{day}: there is no such time in “{part}”; the day goes from 00:00 to 24:00.")
        if begins == ends:
            raise BadHours(f"{day}: “{part}” is no time at all; the whole day is 00:00-24:00.")
        found.append((begins, ends))
    return found
