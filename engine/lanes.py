"""A trace as people look at it: a lane for each request, with what it computed, what it waited for meanwhile, and what happened."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.happening import What
from engine.request import Priority
from engine.trace import Event, Mark, Part, Step, Trace

ENDS = (What.FINISHED, What.FAILED, What.CANCELLED)


class Stay(enum.StrEnum):
    """Where a request is while it computes nothing."""

    WAITS = "waits"
    AMID = "between steps"  # it holds its slot; kept by no lane, for it is whatever else is not
    FROZEN = "stands still"  # between two layers
    ASIDE = "stands aside"  # without blocks: what it had is computed again, or found
    DRAINS = "drains"  # to memory
    MEMORY = "in memory"
    WRITES = "to disk"
    DISK = "on disk"
    READS = "from disk"
    HELD = "on hold"


_LEADS_TO = {
    What.PLACED: Stay.WAITS,
    What.ABANDONED: Stay.AMID,
    What.GIVEN_UP: Stay.ASIDE,
    What.LOST: Stay.ASIDE,
    What.DRAINS: Stay.DRAINS,
    What.IN_MEMORY: Stay.MEMORY,
    What.TO_DISK: Stay.WRITES,
    What.ON_DISK: Stay.DISK,
    What.FROM_DISK: Stay.READS,
    What.READ: Stay.MEMORY,
    What.IN_POOL: Stay.AMID,
}
_AWAY = {What.ABANDONED, What.SENT_AWAY, What.GIVEN_UP, What.LOST, What.DRAINS, What.RETURNS, What.ON_HOLD}


class Span(NamedTuple):
    """A stay, from when to when, and the number of what led to it: layers, blocks or positions."""

    stay: Stay
    begin: float
    end: float
    number: int = 0


class Row(NamedTuple):
    """One step of one request."""

    step: Step
    mark: Mark
    again: bool  # it computes positions that had been computed, and counted, before
    first_layer: int  # layers that had been computed before the step …
    last_layer: int  # … and after it


@dataclass(slots=True)
class Lane:
    """One request over time. `events` are all that is known of it, in order, those that its rows tell among them."""

    handle: int
    request: str = ""
    priority: int = Priority.ROUTINE  # the last one
    placed: float | None = None
    rows: list[Row] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    ended: float | None = None
    state: str = ""

    @property
    def name(self) -> str:
        """For people."""
        return (
            f"trunk {-self.handle}" if self.handle < 0 else f"{self.handle} {Priority(self.priority).name.lower()} {self.request}"
        ).rstrip()

    @property
    def again(self) -> list[Row]:
        """Rows that begin before the end of the one before them: the request had given way and is computed again."""
        begun = {event.at for event in self.events if event.what is What.AGAIN}
        return [row for row in self.rows if row.step.times.scheduled in begun]

    @property
    def counted(self) -> list[Row]:
        """Rows whose tokens were counted when the step ended: what was stopped between two layers was not yet."""
        return [row for row in self.rows if not row.step.part & Part.STOPPED]

    def stays(self, *stays: Stay) -> list[Span]:
        """Its stays of these kinds."""
        return [span for span in self.spans if span.stay in stays]

    def count(self, what: What) -> int:
        """How often something happened."""
        return sum(event.what is what for event in self.events)


class Stood(NamedTuple):
    """A pass that stood still."""

    step: Step  # the part of it that was stopped
    until: float
    layers: int  # that had been computed
    by: int  # the STAT request that computed first meanwhile; 0: there was none
    abandoned: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """What a trace shows from `begin` to `end`, in seconds of its clock."""

    steps: tuple[Step, ...]
    lanes: list[Lane]
    stood: list[Stood]
    begin: float
    end: float


def seen(trace: Trace, last: float | None = None) -> Seen:
    """The last so many seconds before now; without a number everything that is still kept. Requests come in the order in which they
    were first seen.
    """
    steps, events = trace.steps, trace.events
    ends = [step.times.ended for step in steps[-1:]] + [event.at for event in events]
    end = trace.clock() if last is not None else max(ends, default=0.0)
    stood = _stood(steps, events, end)
    found = _lanes(steps, events, {id(one.step): one.by for one in stood}, end)
    begins = [step.times.began for step in steps[:1]] + [event.at for event in events]
    begin = end - last if last is not None else min(begins, default=0.0)
    kept = [lane for lane in found if _clip(lane, begin)] if last is not None else found
    return Seen(
        tuple(step for step in steps if step.times.ended > begin),
        sorted(kept, key=_first_seen),
        [one for one in stood if one.until > begin],
        begin,
        end,
    )


def lanes(trace: Trace) -> list[Lane]:
    """Those of everything that is still kept."""
    return seen(trace).lanes


def _lanes(steps: Sequence[Step], events: Sequence[Event], stopped_by: Mapping[int, int], end: float) -> list[Lane]:
    found: dict[int, Lane] = {}
    happened: dict[int, list[Event]] = {}
    for event in events:
        lane = found.setdefault(event.handle, Lane(event.handle))
        if event.what is What.PLACED:
            lane.request, lane.priority, lane.placed = event.request, event.priority, event.at
        happened.setdefault(event.handle, []).append(event)
    for step, before in zip(steps, _begun(steps), strict=True):
        for mark in step.marks:
            row = Row(step, mark, False, before, before + step.layers)
            found.setdefault(mark.handle, Lane(mark.handle)).rows.append(row)
    for lane in found.values():
        _Walk(lane, stopped_by).go(happened.get(lane.handle, ()), end)
    return list(found.values())


class _Walk:
    """Through what one request computed and what happened to it, in order of time; fills its lane."""

    def __init__(self, lane: Lane, stopped_by: Mapping[int, int]) -> None:
        self._lane, self._stopped_by = lane, stopped_by
        self._stay, self._since, self._count = Stay.AMID, 0.0, 0
        self._held = self._away = self._again = False
        self._furthest = self._reached = 0  # position: the furthest that was counted, and the end of the row before

    def go(self, happened: Iterable[Event], end: float) -> None:
        """To the end of the trace."""
        rows, self._lane.rows = self._lane.rows, []
        points: list[tuple[float, Event | Row]] = [(event.at, event) for event in happened]
        points += [(row.step.times.scheduled, row) for row in rows]
        points.sort(key=lambda point: point[0])
        for _, point in points:
            if isinstance(point, Event):
                self._happens(point)
            else:
                self._computes(point)
        if self._lane.ended is None:
            self._close(end)

    def _happens(self, event: Event) -> None:
        lane, what = self._lane, event.what
        lane.events.append(event)
        self._away |= what in _AWAY
        if what in ENDS:
            lane.ended, lane.state = event.at, what.value
            self._close(event.at)
        elif what in (What.ON_HOLD, What.RELEASED):
            self._close(event.at)
            self._held = what is What.ON_HOLD
        elif what is What.RECLASSED:
            lane.priority = event.count
        elif what in _LEADS_TO and not (what is What.IN_POOL and self._stay is Stay.FROZEN):  # its pass was stopped in that step
            self._turn(event.at, _LEADS_TO[what], event.count)

    def _computes(self, row: Row) -> None:
        lane, (step, mark, *_) = self._lane, row
        resumes, at, handle = bool(step.part & Part.RESUMED), step.times.scheduled, mark.handle
        begins = not lane.rows and (lane.placed is not None or handle < 0)
        self._close(at)
        self._stay, self._held = Stay.AMID, False
        if resumes:
            lane.events.append(Event(at, handle, What.RESUMED, row.first_layer))
        elif begins or self._away:
            lane.events.append(Event(at, handle, What.STARTS if begins else What.GOES_ON))
        if not resumes and mark.start < self._reached:
            lane.events.append(Event(at, handle, What.AGAIN, self._reached - mark.start))
        self._again = self._again if resumes else mark.start < self._furthest
        self._reached, self._away = mark.start + mark.tokens, False
        if not step.part & Part.STOPPED:
            self._furthest = max(self._furthest, self._reached)
        lane.rows.append(row._replace(again=self._again))
        lane.priority = mark.priority
        if step.part & Part.STOPPED:
            by = self._stopped_by.get(id(step), 0)
            lane.events.append(Event(step.times.ran, handle, What.STOPPED, row.last_layer, by))
            self._turn(step.times.ran, Stay.FROZEN, row.last_layer)

    def _turn(self, at: float, stay: Stay, count: int = 0) -> None:
        if stay is Stay.MEMORY:
            count = count or self._count  # as many blocks as were copied
        if not self._held:
            self._close(at)
        self._stay, self._count = stay, count

    def _close(self, at: float) -> None:
        stay = Stay.HELD if self._held else self._stay
        if stay is not Stay.AMID and at > self._since:
            self._lane.spans.append(Span(stay, self._since, at, 0 if self._held else self._count))
        self._since = at


def _begun(steps: Iterable[Step]) -> list[int]:
    """For each step the layers of its pass that had been computed before."""
    found, layers = [], {False: 0, True: 0}  # of the pass that was stopped last, and of the one beside it
    for step in steps:
        beside = bool(step.part & Part.BESIDE)
        before = layers[beside] if step.part & Part.RESUMED else 0
        if step.part & Part.STOPPED:
            layers[beside] = before + step.layers
        found.append(before)
    return found


def _stood(steps: Sequence[Step], events: Sequence[Event], end: float) -> list[Stood]:
    """Passes that were stopped: each goes on with the next step that is its part, unless it was abandoned before."""
    dropped = [event for event in events if event.what is What.ABANDONED]
    found = []
    for index, (step, before) in enumerate(zip(steps, _begun(steps), strict=True)):
        if step.part & Part.STOPPED:
            later = itertools.islice(steps, index + 1, None)
            gone = next((event for event in dropped if event.at >= step.times.ran), None)
            found.append(_stand(step, before + step.layers, (one for one in later if one.rows), gone, end))
    return found


def _stand(stopped: Step, layers: int, later: Iterable[Step], gone: Event | None, end: float) -> Stood:
    until, by = end, 0
    for step in later:
        goes_on = step.part & (Part.RESUMED | Part.BESIDE) == Part.RESUMED | stopped.part & Part.BESIDE
        if goes_on or (gone is not None and step.times.scheduled > gone.at):
            until = step.times.scheduled
            break
        by = by or next((mark.handle for mark in step.marks if mark.priority == Priority.STAT), 0)
    if gone is not None and gone.at <= until:
        return Stood(stopped, gone.at, layers, by or gone.by, True)
    return Stood(stopped, until, layers, by, False)


def _clip(lane: Lane, begin: float) -> bool:
    """Leave out what was over before; whether anything is left."""
    lane.rows = [row for row in lane.rows if row.step.times.ran > begin]
    lane.events = [event for event in lane.events if event.at >= begin]
    lane.spans = [span._replace(begin=max(span.begin, begin)) for span in lane.spans if span.end > begin]
    lane.placed = lane.placed if lane.placed is not None and lane.placed >= begin else None
    return bool(lane.rows or lane.events or lane.spans)


def _first_seen(lane: Lane) -> float:
    begun = [row.step.times.began for row in lane.rows[:1]] + [event.at for event in lane.events[:1]]
    return min([*begun, *(span.begin for span in lane.spans[:1])], default=float("inf"))
