"""When something is due, and how much time has been used: in elapsed minutes, or in those of a working calendar. Pure functions.

A minute counts when a clock on the wall of the site shows working time while it passes. So the hour that is skipped in spring
counts for nobody, and the hour that comes twice in autumn counts twice where it is worked.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from registry.hours import Hours

Span = tuple[datetime, datetime]  # from, to
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
HORIZON = 3650 * DAY  # a calendar that has not enough hours in ten years has none


class NeverDue(ValueError):
    """The calendar holds too few working hours for this to be due within ten years."""


@dataclass(frozen=True)
class Working:
    """Working hours at a place."""

    hours: Hours
    zone: ZoneInfo


def due(start: datetime, minutes: float, working: Working | None, pauses: Iterable[Span] = ()) -> datetime:
    """The first moment at which `minutes` have passed since `start`, pauses left out. None: every minute counts.

    Raises `NeverDue`.
    """
    left = minutes * MINUTE
    if left <= timedelta(0):
        return start
    for begins, ends in _without(_counted(start, working), pauses):
        if ends - begins >= left:
            return begins + left
        left -= ends - begins
    raise NeverDue


def elapsed(start: datetime, end: datetime, working: Working | None, pauses: Iterable[Span] = ()) -> timedelta:
    """How much of the time from `start` to `end` counts, pauses left out; nothing where the end lies before the start."""
    total = timedelta(0)
    for begins, ends in _without(_counted(start, working), pauses):
        if begins >= end:
            break
        total += min(ends, end) - begins
    return total


def _counted(start: datetime, working: Working | None) -> Iterator[Span]:
    """The time that counts from `start` on, in order."""
    start = start.astimezone(UTC)
    if working is None:
        yield start, start + HORIZON
        return
    day = start.date()
    for number in range(HORIZON // DAY):
        for begins, ends in spans_of_day(working, day + number * DAY):
            if ends > start:
                yield max(begins, start), ends


def _without(spans: Iterable[Span], pauses: Iterable[Span]) -> Iterator[Span]:
    """The spans with the pauses cut out; pauses may overlap."""
    cut = sorted(pause for pause in pauses if pause[1] > pause[0])
    for begins, ends in spans:
        for pause_begins, pause_ends in cut:
            if pause_ends <= begins or begins >= ends:
                continue
            if pause_begins >= ends:
                break
            if pause_begins > begins:
                yield begins, pause_begins
            begins = max(begins, pause_ends)
        if begins < ends:
            yield begins, ends


@lru_cache(maxsize=20_000)
def spans_of_day(working: Working, day: date) -> tuple[Span, ...]:
    """The working time within one day of UTC, in order."""
    found = [span for steady in _steady(working.zone, day) for span in _worked(working, *steady)]
    return tuple(sorted(found))


def _worked(working: Working, begins: datetime, ends: datetime) -> Iterator[Span]:
    """The working time between two moments with one and the same offset between wall and UTC."""
    local = begins.astimezone(working.zone)
    offset = local.utcoffset() or timedelta(0)
    first, last = local.replace(tzinfo=None), ends.replace(tzinfo=None) + offset
    for number in range((last.date() - first.date()).days + 1):
        midnight = datetime.combine(first.date() + number * DAY, time())
        for opens, closes in working.hours.of(midnight.date()):
            low, high = max(first, midnight + opens * MINUTE), min(last, midnight + closes * MINUTE)
            if low < high:
                yield (low - offset).replace(tzinfo=UTC), (high - offset).replace(tzinfo=UTC)


def _steady(zone: ZoneInfo, day: date) -> list[Span]:
    """A day of UTC, cut where the offset of the zone changes."""
    begins = datetime.combine(day, time(), UTC)

    def offset(second: int) -> timedelta | None:
        return (begins + timedelta(seconds=second)).astimezone(zone).utcoffset()

    low, high = 0, 24 * 3600 - 1
    before = offset(low)
    if before == offset(high):
        return [(begins, begins + DAY)]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if offset(middle) == before else (low, middle)
    changes = begins + timedelta(seconds=high)
    return [(begins, changes), (changes, begins + DAY)]
