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
from orders.turnaround_rows import EPOCH, Floats, Rows, seconds
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


@dataclass(frozen=True)
class Report:
    """One laboratory, one period."""

    counts: Counts
    segments: list[Line]
    priorities: list[Line]
    tests: list[Line]
    at: datetime


def report(
    *, actor: Actor, laboratory: UUID, since: datetime, until: datetime, priority: str = "", test: UUID | None = None
) -> Report:
    """The figures of the orders that were placed in a period. Raises `NotFound` to who may not see them."""
    if not actor.may(Verb.VIEW_TURNAROUND, laboratory):
        raise NotFound
    now = clock.now()
    rows = turnaround_rows.read(laboratory, since, until, now)
    ways = _Ways(rows, now)
    chosen: Mask = np.ones(len(rows), dtype=bool)
    if priority:
        chosen &= rows.rank == PRIORITY_RANK.get(priority, -1)
    if test is not None:
        chosen &= rows.test == np.void(test.bytes)
    names = dict(TestDefinition.objects.filter(laboratory_id=laboratory).values_list("pk", "name"))
    return Report(
        counts=_counts(ways, chosen),
        segments=[ways.line(name, name, name, chosen) for name in SEGMENTS],
        priorities=[ways.line(WHOLE, key, key, chosen & (rows.rank == rank)) for key, rank in PRIORITY_RANK.items()],
        tests=list(_by_test(ways, chosen, names)),
        at=now,
    )


def quantiles(durations: Floats, ended: Mask, shares: tuple[float, ...] = (0.5, 0.9)) -> tuple[Quantile, ...]:
    """Percentiles by the product limit: the first time at which no more than 1 − share are still on their way."""
    if not len(durations):
        return tuple(Quantile(None) for _ in shares)
    order = np.lexsort((~ended, durations))  # at equal times those that ended come first
    times, ends = durations[order], ended[order]
    left = np.cumprod(1.0 - ends / np.arange(len(times), 0, -1))
    found = []
    for share in shares:
        first = int(np.argmax(left <= 1.0 - share + 1e-9))
        known = bool(left[first] <= 1.0 - share + 1e-9)
        found.append(Quantile(float(times[first])) if known else Quantile(float(times[-1]), at_least=True))
    return tuple(found)


class _Ways:
    """The orders' ways, with the moments at which each was seen last."""

    def __init__(self, rows: Rows, now: datetime) -> None:
        self.rows, self.now = rows, seconds(now)
        ended = rows.moments["ended"]
        self.moments = rows.moments | {"released": np.where(rows.state == REPORTED, ended, np.nan)}
        self.seen = np.where(np.isnan(ended), self.now, ended)  # up to when something is known of it
        self.counters = dict(_counters(rows, now))
        self.scored = rows.moments["scored"]
        self.decided = {segment: self._decided(SEGMENTS[segment][1], due) for segment, due in PROMISED.items()}
        self.missed = self.decided[WHOLE][1]

    def line(self, segment: str, key: str, name: str, chosen: Mask) -> Line:
        """The figures of one part of the way for the chosen orders."""
        begins, ends = (self.moments[moment] for moment in SEGMENTS[segment])
        into = np.flatnonzero(chosen & ~np.isnan(begins))
        came = begins[into]
        through = ~np.isnan(ends[into])
        went = np.maximum(np.where(through, ends[into], self.seen[into]), came)
        net = self._net(into, came, went)
        wall_figures, net_figures = quantiles(went - came, through), quantiles(net, through)
        met, missed = self.decided.get(segment, (None, None))
        return Line(
            key, name, len(into), int(through.sum()), (wall_figures[0], wall_figures[1]), (net_figures[0], net_figures[1]),
            met=0 if met is None else int(met[chosen].sum()), missed=0 if missed is None else int(missed[chosen].sum()),
        )  # fmt: skip

    def _decided(self, end: str, due_name: str) -> tuple[Mask, Mask]:
        """Which were through by their due time, and which were not: past it, they are late, whatever becomes of them."""
        ends, due, stopped = self.moments[end], self.moments[due_name], self.moments["stopped"]
        counts_until = np.where(np.isnan(stopped), self.seen, np.minimum(stopped, self.seen))  # on hold the clock stands
        until = np.where(np.isnan(ends), counts_until, ends)
        return ~np.isnan(ends) & (ends <= due), ~np.isnan(due) & (until > due)

    def _net(self, into: NDArray[np.int64], came: Floats, went: Floats) -> Floats:
        """Seconds that count between two moments: by each order's calendar, without its holds."""
        counted = went - came
        for key, counter in self.counters.items():
            its = (self.rows.calendar[into] == key[0]) & (self.rows.zone[into] == key[1])
            counted[its] = counter.at(went[its]) - counter.at(came[its])
        if self.rows.holds:
            places = np.full(len(self.rows), -1)
            places[into] = np.arange(len(into))
            for order, begins, ends in self.rows.holds:
                place = places[order]
                low, high = (max(begins, came[place]), min(ends, went[place])) if place >= 0 else (0.0, 0.0)
                if low < high:
                    counted[place] -= self._counted(order, low, high)
        return np.maximum(counted, 0.0)

    def _counted(self, order: int, low: float, high: float) -> float:
        counter = self.counters.get((int(self.rows.calendar[order]), int(self.rows.zone[order])))
        if counter is None:
            return high - low
        first, second = counter.at(np.array([low, high]))
        return float(second - first)


class _Counter:
    """The working seconds of a calendar from the beginning of a period up to any moment of it."""

    def __init__(self, working: clocks.Working, first: datetime, last: datetime) -> None:
        days = range((last.date() - first.date()).days + 2)
        spans = [span for number in days for span in clocks.spans_of_day(working, first.date() + timedelta(days=number))]
        self.begins = np.array([seconds(begins) for begins, _ in spans])
        self.ends = np.array([seconds(ends) for _, ends in spans])
        self.before = np.concatenate([[0.0], np.cumsum(self.ends - self.begins)])

    def at(self, moments: Floats) -> Floats:
        """Working seconds up to each moment."""
        place = np.searchsorted(self.begins, moments, side="right") - 1
        within = np.minimum(moments, self.ends[place]) - self.begins[place]
        return np.where(place < 0, 0.0, self.before[place] + within)


def _counters(rows: Rows, now: datetime) -> Iterator[tuple[tuple[int, int], _Counter]]:
    if not rows.zones:
        return
    first = EPOCH + timedelta(seconds=float(np.min(rows.moments["placed"])) - 86_400)
    last_ended = rows.moments["ended"][~np.isnan(rows.moments["ended"])]
    last = max(now, EPOCH + timedelta(seconds=float(np.max(last_ended)))) if len(last_ended) else now
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
    )


def _by_test(ways: _Ways, chosen: Mask, names: dict[UUID, str]) -> Iterator[Line]:
    found = sorted({UUID(bytes=one) for one in set(ways.rows.test[chosen].tolist())}, key=lambda pk: (names.get(pk, ""), pk))
    for pk in found:
        yield ways.line(WHOLE, str(pk), names.get(pk, str(pk)), chosen & (ways.rows.test == np.void(pk.bytes)))
