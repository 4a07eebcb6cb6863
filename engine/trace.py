"""What the engine did, step by step, in bounded memory; written as a Chrome trace, which Perfetto opens.

Recording copies plain numbers out of the rows, because the scheduler uses those again; everything that can be worked out later (who
began when, who was computed again) is worked out when the trace is read.
"""

from __future__ import annotations

import enum
import itertools
import json
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.batch import Row
from engine.request import Outcome, Priority, Request, Score
from engine.sequence import tokens_of
from engine.swap.content import IN, OUT

STEPS, ROWS, EVENTS = 4096, 1 << 17, 1 << 14  # kept at most: about 8 MB when full
_ENGINE, _REQUESTS = 1, 2  # processes of the Chrome trace: the engine's verbs, and a thread for each request


class Kind(enum.IntEnum):
    """What a row computes."""

    CHUNK = 0  # several known tokens of a prompt or a score
    DECODE = 1  # one token, after which the next is drawn
    TRUNK = 2  # what the branches of a window have in common
    BRANCH = 3  # an alternate, from where it leaves its trunk


_CHUNK, _DECODE, _TRUNK, _BRANCH = map(int, Kind)  # for every row of every step: plain numbers are cheaper


class Mark(NamedTuple):
    """A row as it was computed."""

    handle: int
    start: int  # absolute position of its first token
    tokens: int
    priority: int
    kind: int


class Times(NamedTuple):
    """Seconds of the trace's clock."""

    began: float
    scheduled: float
    ran: float
    ended: float


class Part(enum.IntFlag):
    """Which part of a pass a step computes, where the pass was stopped between two layers."""

    WHOLE = 0
    STOPPED = 1  # it ends before the last layer
    RESUMED = 2  # it goes on after the last such step

    @classmethod
    def of(cls, *, stopped: bool, resumes: bool) -> Part:
        """Of a step that was stopped, that goes on, or both."""
        return cls(cls.STOPPED * stopped | cls.RESUMED * resumes)


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its times and its rows, five numbers each (`Mark`)."""

    number: int
    times: Times
    numbers: array[int]
    waiting: int
    blocks_used: int
    part: Part = Part.WHOLE

    @property
    def marks(self) -> Iterator[Mark]:
        """The rows."""
        fields = iter(self.numbers)
        return itertools.starmap(Mark, zip(*[fields] * 5, strict=True))


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a request between or at the end of steps."""

    at: float
    handle: int
    what: str  # placed, swapped out, swapped in, or the state in which it ended
    priority: int = Priority.ROUTINE
    request: str = ""  # what was asked, in a few words, when it was placed


def marks(rows: Iterable[Row], described: Callable[[int], tuple[int, bool]]) -> array[int]:
    """Five numbers for each row. `described` gives for a handle its class and whether it is a branch."""
    numbers: list[int] = []
    for row in rows:
        handle, count = row.handle, len(row.tokens)
        priority, branch = described(handle)
        if handle < 0:
            kind = _TRUNK
        elif count == 1 and row.draw is not None:
            kind = _DECODE
        else:
            kind = _BRANCH if branch else _CHUNK
        numbers += (handle, row.start, count, priority, kind)
    return array("q", numbers)


class Trace:
    """The last steps of an engine and what happened to its requests. One thread records; any may read."""

    def __init__(
        self, *, steps: int = STEPS, rows: int = ROWS, events: int = EVENTS, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.clock = clock
        self._most_steps, self._most_rows, self._rows = steps, rows, 0
        self._steps: deque[Step] = deque()
        self._events: deque[Event] = deque(maxlen=events)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that are still kept, the oldest first."""
        return tuple(self._steps)

    @property
    def events(self) -> tuple[Event, ...]:
        """The events that are still kept, the oldest first."""
        return tuple(self._events)

    def placed(self, handle: int, request: Request, priority: Priority) -> None:
        """A request has come in."""
        self._events.append(Event(self.clock(), handle, "placed", priority, _words(request)))

    def moved(self, at: float, handle: int, what: str) -> None:
        """What a request has computed was swapped out, or in."""
        self._events.append(Event(at, handle, what))

    def record(self, step: Step, outcomes: Sequence[Outcome]) -> None:
        """A step has ended, and with it these requests."""
        self._steps.append(step)
        self._rows += len(step.numbers)
        while self._steps and (len(self._steps) > self._most_steps or self._rows > self._most_rows * len(Mark._fields)):
            self._rows -= len(self._steps.popleft().numbers)
        for outcome in outcomes:
            self._events.append(Event(step.times.ended, outcome.handle, outcome.state))


def _words(request: Request) -> str:
    name = type(request).__name__.lower()
    if isinstance(request, Score) and request.branch is not None:
        return f"alternate from {request.branch.at:,} of {len(request.scored):,}"
    return f"{name} {len(tokens_of(request)):,}"


@dataclass(slots=True)
class Lane:
    """One request over time: what the pictures draw."""

    handle: int
    request: str
    priority: int
    placed: float | None
    rows: list[tuple[Step, Mark]]
    ended: float | None = None
    state: str = ""
    swaps: list[tuple[float, str]] = field(default_factory=list)  # when it was swapped out, or in

    @property
    def name(self) -> str:
        """For people."""
        return (
            f"trunk {-self.handle}" if self.handle < 0 else f"{self.handle} {Priority(self.priority).name.lower()} {self.request}"
        )

    @property
    def again(self) -> list[tuple[Step, Mark]]:
        """Rows that begin before the end of the one before them: the request had given way and is computed again."""
        pairs = itertools.pairwise(self.rows)
        again = (row for (_, before), row in pairs if row[1].start < before.start + before.tokens)
        return [row for row in again if not row[0].part & Part.RESUMED]

    @property
    def counted(self) -> list[tuple[Step, Mark]]:
        """Rows whose tokens were counted when the step ended: what was stopped between two layers was not yet."""
        return [row for row in self.rows if not row[0].part & Part.STOPPED]

    @property
    def stood(self) -> list[tuple[float, float]]:
        """From when to when its pass stood still between two layers."""
        pairs = itertools.pairwise(step for step, _ in self.rows)
        return [(one.times.ran, other.times.scheduled) for one, other in pairs if other.part & Part.RESUMED]


def lanes(trace: Trace) -> list[Lane]:
    """Requests in the order in which they were first seen."""
    found: dict[int, Lane] = {}
    for event in trace.events:
        if event.what == "placed":
            found[event.handle] = Lane(event.handle, event.request, event.priority, event.at, [])
    for step in trace.steps:
        for mark in step.marks:
            seen = found.setdefault(mark.handle, Lane(mark.handle, "", mark.priority, None, []))
            seen.priority = mark.priority
            seen.rows.append((step, mark))
    for event in trace.events:
        lane = found.get(event.handle)
        if lane is not None and event.what in (OUT, IN):
            lane.swaps.append((event.at, event.what))
        elif lane is not None and event.what != "placed":
            lane.ended, lane.state = event.at, event.what
    return sorted(found.values(), key=_first_seen)


def _first_seen(lane: Lane) -> float:
    return min(lane.rows[0][0].times.began if lane.rows else float("inf"), lane.placed if lane.placed is not None else float("inf"))


def chrome(trace: Trace, about: str) -> str:
    """The trace as JSON in the Trace Event Format: complete (X), instant (i), counter (C) and metadata (M) events, microseconds."""
    steps = trace.steps
    starts = [step.times.began for step in steps] + [event.at for event in trace.events]
    origin = min(starts, default=0.0)

    def micros(at: float) -> int:
        """Whole ones: a reader that rounds start and length by itself would find spans that overlap."""
        return int((at - origin) * 1e6)

    events = list(_verbs(steps, micros))
    for tid, lane in enumerate(lanes(trace), start=1):
        events.extend(_track(lane, tid, micros))
    head = [_named(_ENGINE, 0, "process_name", "engine"), _named(_REQUESTS, 0, "process_name", "requests")]
    head.append(_named(_ENGINE, 1, "thread_name", "schedule, run, postprocess"))
    whole = {"displayTimeUnit": "ms", "otherData": {"about": about}, "traceEvents": head + events}
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False)


def _named(pid: int, tid: int, what: str, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": pid, "tid": tid, "name": what, "args": {"name": name}}


def _span(pid: int, tid: int, name: str, cat: str, start: int, end: int, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "pid": pid, "tid": tid, "name": name, "cat": cat, "ts": start, "dur": max(0, end - start), "args": args}


def _verbs(steps: Sequence[Step], micros: Callable[[float], int]) -> Iterator[dict[str, Any]]:
    for step in steps:
        began, scheduled, ran, ended = map(micros, step.times)
        rows = len(step.numbers) // len(Mark._fields)
        tokens = sum(mark.tokens for mark in step.marks)
        more = {"part": step.part.name.lower()} if step.part.name and step.part else {}
        yield _span(_ENGINE, 1, f"step {step.number}", "step", began, ended, rows=rows, tokens=tokens, **more)
        yield _span(_ENGINE, 1, "schedule", "verb", began, scheduled)
        yield _span(_ENGINE, 1, "run", "verb", scheduled, ran)
        yield _span(_ENGINE, 1, "postprocess", "verb", ran, ended)
        for name, value in (("rows", rows), ("waiting", step.waiting), ("blocks used", step.blocks_used), ("tokens", tokens)):
            yield {"ph": "C", "pid": _ENGINE, "tid": 1, "name": name, "ts": began, "args": {name: value}}


def _track(lane: Lane, tid: int, micros: Callable[[float], int]) -> Iterator[dict[str, Any]]:
    yield _named(_REQUESTS, tid, "thread_name", lane.name)
    yield {"ph": "M", "pid": _REQUESTS, "tid": tid, "name": "thread_sort_index", "args": {"sort_index": tid}}
    if lane.placed is not None and lane.rows:
        yield _span(_REQUESTS, tid, "waits", "waits", micros(lane.placed), micros(lane.rows[0][0].times.scheduled))
    for step, mark in lane.rows:
        kind = Kind(mark.kind).name.lower()
        span = (micros(step.times.scheduled), micros(step.times.ran))
        yield _span(_REQUESTS, tid, kind, kind, *span, step=step.number, first=mark.start, tokens=mark.tokens)
    for stood, resumed in lane.stood:
        yield _span(_REQUESTS, tid, "stands still", "stands still", micros(stood), micros(resumed))
    instants = [*lane.swaps, *((step.times.scheduled, "computed again") for step, _ in lane.again)]
    if lane.placed is not None:
        instants.append((lane.placed, "placed"))
    if lane.rows:
        instants.append((lane.rows[0][0].times.scheduled, "admitted"))
    if lane.ended is not None:
        instants.append((lane.ended, lane.state))
    for at, name in instants:
        yield {"ph": "i", "s": "t", "pid": _REQUESTS, "tid": tid, "name": name, "cat": "life", "ts": micros(at)}
