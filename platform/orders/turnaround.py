"""How long orders take: medians and 90th percentiles of each part of their way, by wall clock and net; and how much was in time.

Orders that are not through yet count with what they have waited so far: the estimator is the product limit of Kaplan and Meier
("Nonparametric estimation from incomplete observations", J. Am. Stat. Assoc. 53, 1958, 457–481), in which an open order is one of
which is known that it takes longer than its age. A cancelled one is known to have taken longer than until its cancellation. Where
so many are open that a percentile cannot be known, it is told as "at least" the longest time seen.

Net time leaves out holds, and all that is no working time by the calendar an order was accepted with.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from accounts.roles import Verb
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotFound
from orders import clocks, promise, turnaround_rows
from orders.turnaround_rows import EPOCH, Floats, Rows, microseconds
from registry.models import Calendar, TestDefinition
from registry.priority import PRIORITY_RANK

Mask = NDArray[np.bool_]
REPORTED = 1
SEGMENTS = {  # name → from, to
    "placed to accepted": ("placed", "accepted"),
    "accepted to started": ("accepted", "started"),
    "started to scored": ("started", "scored"),
    "scored to report": ("scored", "released"),
    "accepted to scored": ("accepted", "scored"),
    "accepted to report": ("accepted", "released"),
}
LATE_ENTRIES = ("without", "only")
WHOLE = "accepted to scored"  # by which tests and priorities are compared
PROMISED = {WHOLE: "result_due", "accepted to report": "report_due"}  # parts that are due at a time


@dataclass(frozen=True)
class Quantile:
    """Seconds; `at_least`: too many are open for it to be known, it is this or more. None: nothing was measured."""

    seconds: float | None
    at_least: bool = False


@dataclass(frozen=True)
class Line:
    """One part of the way, one priority or one test."""

    key: str
    name: str
    orders: int  # that came into this part
    through: int  # of those, that came out of it
    wall: tuple[Quantile, Quantile]  # median, 90th percentile
    net: tuple[Quantile, Quantile]
    met: int = 0
    missed: int = 0  # late, whether scored, open or cancelled

    @property
    def share(self) -> float | None:
        """Of those of which it is decided: how many were in time."""
        return self.met / (self.met + self.missed) if self.met + self.missed else None


@dataclass(frozen=True)
class Counts:
    """What there is in the period."""

    placed: int
    scored: int
    reported: int
    open: int
    held: int
    late_open: int
    undecided: int  # open and not due yet
    cancelled: int
    cancelled_late: int
    rejected: int
    late_entries: int  # taken on paper, and entered after a downtime


@dataclass(frozen=True)
class Report:
    """One laboratory, one period."""

    counts: Counts
    segments: list[Line]
    priorities: list[Line]
    tests: list[Line]
    at: datetime


def report(
    *, actor: Actor, laboratory: UUID, since: datetime, until: datetime, priority: str = "", test: UUID | None = None,
    late: str = "",
) -> Report:  # fmt: skip
    """The figures of the orders that were placed in a period; `late` chooses those that were entered late ("only", "without").

    Raises `NotFound` to who may not see them.
    """
    if not actor.may(Verb.VIEW_TURNAROUND, laboratory):
        raise NotFound
    now = clock.now()
    rows = turnaround_rows.read(laboratory, since, until, now)
    ways = _Ways(rows, now)
    chosen: Mask = np.ones(len(rows), dtype=bool)
    if priority:
        chosen &= rows.rank == PRIORITY_RANK.get(priority, -1)
    if test is not None:
        chosen &= rows.test == (rows.tests.index(test) if test in rows.tests else -1)
    if late in LATE_ENTRIES:
        chosen &= rows.late == (late == "only")
    names = dict(TestDefinition.objects.filter(laboratory_id=laboratory).values_list("pk", "name"))
    return Report(
        counts=_counts(ways, chosen),
        segments=[ways.line(name, name, name, chosen) for name in SEGMENTS],
        priorities=[ways.line(WHOLE, key, key, chosen & (rows.rank == rank)) for key, rank in PRIORITY_RANK.items()],
        tests=list(_by_test(ways, chosen, names)),
        at=now,
    )


def quantiles(durations: Floats, ended: Mask, shares: tuple[float, ...] = (0.5, 0.9)) -> tuple[Quantile, ...]:
    """Percentiles by the product limit: the first time at which no more than 1 − share are still on their way.

    Whoever is known to take longer than a time is still there at that time.
    """
    if not len(durations):
        return tuple(Quantile(None) for _ in shares)
    ends, longer = np.sort(durations[ended]), np.sort(durations[~ended])
    there = np.arange(len(durations), len(longer), -1) - np.searchsorted(longer, ends)
    left = np.cumprod(1.0 - 1.0 / there)
    found = []
    for share in shares:
        reached = np.flatnonzero(left <= 1.0 - share + 1e-9)
        known = len(reached) > 0
        found.append(Quantile(float(ends[reached[0]])) if known else Quantile(float(durations.max()), at_least=True))
    return tuple(found)


@dataclass(frozen=True)
class _Part:
    """One part of the way, of every order that came into it."""

    into: NDArray[np.int64]  # numbers of those orders
    through: Mask
    wall: Floats  # seconds
    net: Floats


class _Ways:
    """The orders' ways, with the moments at which each was seen last."""

    def __init__(self, rows: Rows, now: datetime) -> None:
        self.rows, self.now = rows, microseconds(now)
        ended = rows.moments["ended"]
        self.moments = rows.moments | {"released": np.where(rows.state == REPORTED, ended, np.nan)}
        self.seen = np.where(np.isnan(ended), self.now, ended)  # up to when something is known of it
        self._counters = dict(_counters(rows, now))
        self._counted = {name: self._at(self.moments[name]) for name in {end for ends in SEGMENTS.values() for end in ends}}
        self._seen_counted = self._at(self.seen)
        self._holds = [self._at(moments, rows.holds.order) for moments in (rows.holds.begins, rows.holds.ends)]
        self._parts: dict[str, _Part] = {}
        self.scored = rows.moments["scored"]
        self.decided = {segment: self._decided(SEGMENTS[segment][1], due) for segment, due in PROMISED.items()}
        self.missed = self.decided[WHOLE][1]

    def line(self, segment: str, key: str, name: str, chosen: Mask) -> Line:
        """The figures of one part of the way for the chosen orders."""
        part = self._parts.get(segment) or self._parts.setdefault(segment, self._part(*SEGMENTS[segment]))
        its = chosen[part.into]
        through = part.through[its]
        wall_figures, net_figures = quantiles(part.wall[its], through), quantiles(part.net[its], through)
        met, missed = self.decided.get(segment, (None, None))
        return Line(
            key, name, len(through), int(through.sum()), (wall_figures[0], wall_figures[1]), (net_figures[0], net_figures[1]),
            met=0 if met is None else int(met[chosen].sum()), missed=0 if missed is None else int(missed[chosen].sum()),
        )  # fmt: skip

    def _part(self, begin: str, end: str) -> _Part:
        came, out = self.moments[begin], self.moments[end]
        into, left = np.flatnonzero(~np.isnan(came)), ~np.isnan(out)
        wall = np.maximum(np.where(left, out, self.seen), came) - came
        counted = np.maximum(np.where(left, self._counted[end], self._seen_counted), self._counted[begin])
        net = counted - self._counted[begin]
        held, (begins, ends) = self.rows.holds.order, self._holds
        within = np.minimum(ends, counted[held]) - np.maximum(begins, self._counted[begin][held])
        np.subtract.at(net, held, np.fmax(within, 0.0))
        return _Part(into, left[into], wall[into] / 1e6, np.maximum(net[into], 0.0) / 1e6)

    def _decided(self, end: str, due_name: str) -> tuple[Mask, Mask]:
        """Which were through by their due time, and which were not: past it, they are late, whatever becomes of them."""
        ends, due, stopped = self.moments[end], self.moments[due_name], self.moments["stopped"]
        counts_until = np.where(np.isnan(stopped), self.seen, np.minimum(stopped, self.seen))  # on hold the clock stands
        until = np.where(np.isnan(ends), counts_until, ends)
        return ~np.isnan(ends) & (ends <= due), ~np.isnan(due) & (until > due)

    def _at(self, moments: Floats, orders: NDArray[np.int64] | None = None) -> Floats:
        """The microseconds that count up to these moments, by the calendar of each order; of these orders, where they are named.

        What counts between two moments is their difference; and of two moments the later one never has less, so that the later
        of two is the one with more.
        """
        calendar, zone = self.rows.calendar, self.rows.zone
        if orders is not None:
            calendar, zone = calendar[orders], zone[orders]
        counted = moments.copy()
        for key, counter in self._counters.items():
            its = (calendar == key[0]) & (zone == key[1])
            counted[its] = counter.at(moments[its])
        return counted


class _Counter:
    """The working time of a calendar from the beginning of a period up to any moment of it."""

    def __init__(self, working: clocks.Working, first: datetime, last: datetime) -> None:
        days = range((last.date() - first.date()).days + 2)
        spans = [span for number in days for span in clocks.spans_of_day(working, first.date() + timedelta(days=number))]
        self.begins = np.array([microseconds(begins) for begins, _ in spans])
        self.ends = np.array([microseconds(ends) for _, ends in spans])
        self.before = np.concatenate([[0.0], np.cumsum(self.ends - self.begins)])

    def at(self, moments: Floats) -> Floats:
        """Working microseconds up to each moment; NaN where it has not come."""
        if not len(self.begins):
            return moments * 0.0
        place = np.searchsorted(self.begins, moments, side="right") - 1
        within = np.minimum(moments, self.ends[place]) - self.begins[place]
        return np.where(place < 0, 0.0, self.before[place] + within)


def _counters(rows: Rows, now: datetime) -> Iterator[tuple[tuple[int, int], _Counter]]:
    if not rows.zones:
        return
    first = EPOCH + timedelta(days=-1, microseconds=float(np.min(rows.moments["placed"])))
    last_ended = rows.moments["ended"][~np.isnan(rows.moments["ended"])]
    last = max(now, EPOCH + timedelta(microseconds=float(np.max(last_ended)))) if len(last_ended) else now
    known = Calendar.objects.in_bulk({calendar for calendar, _ in rows.zones})
    for (calendar, hashed), zone in rows.zones.items():
        working = promise.working_time(known[calendar], ZoneInfo(zone or "UTC").key)
        if working is not None:
            yield (calendar, hashed), _Counter(working, first, last)


def _counts(ways: _Ways, chosen: Mask) -> Counts:
    rows = ways.rows
    is_open = chosen & np.isnan(rows.moments["ended"])
    cancelled = chosen & (rows.state == REPORTED + 1)

    def number(mask: Mask) -> int:
        return int(mask.sum())

    return Counts(
        placed=number(chosen),
        scored=number(chosen & ~np.isnan(ways.scored)),
        reported=number(chosen & (rows.state == REPORTED)),
        open=number(is_open),
        held=number(is_open & ~np.isnan(rows.moments["stopped"])),
        late_open=number(is_open & np.isnan(ways.scored) & ways.missed),
        undecided=number(is_open & np.isnan(ways.scored) & ~ways.missed),
        cancelled=number(cancelled),
        cancelled_late=number(cancelled & ways.missed),
        rejected=number(chosen & (rows.state == REPORTED + 2)),
        late_entries=number(chosen & rows.late),
    )


def _by_test(ways: _Ways, chosen: Mask, names: dict[UUID, str]) -> Iterator[Line]:
    tests = ways.rows.tests
    found = [(names.get(tests[number], ""), tests[number], number) for number in np.unique(ways.rows.test[chosen])]
    for name, pk, number in sorted(found):
        yield ways.line(WHOLE, str(pk), name or str(pk), chosen & (ways.rows.test == number))
