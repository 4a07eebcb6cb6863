"""What the engine did, step by step, in bounded memory: numbers, no sequence and no name. `engine.lanes` reads it.

Recording copies plain numbers out of the rows, because the scheduler uses those again; everything that can be worked out later (who
began when, who was computed again, at which layer a pass stopped) is worked out when the trace is read.
"""

from __future__ import annotations

import enum
import itertools
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engine.batch import Row
from engine.happening import What
from engine.observed import Observed
from engine.request import Outcome, Priority, Request, Score
from engine.sequence import tokens_of

STEPS, ROWS, EVENTS = 4096, 1 << 17, 1 << 14  # kept at most: about 8 MB when full


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


class Level(NamedTuple):
    """How full everything is when the rows of a step begin."""

    waiting: int = 0  # sequences
    used: int = 0  # blocks of the pool, by state …
    cached: int = 0
    draining: int = 0
    free: int = 0
    arena: int = 0  # slots of the arena that hold something, of …
    arena_total: int = 0
    files: int = 0
    file_bytes: int = 0
    layers: int = 0  # computed so far, of all passes

    @classmethod
    def of(cls, scheduler: Observed) -> Level:
        """Now."""
        pool, swapping = scheduler.pool, scheduler.swapping
        slots, files = swapping.slots, swapping.files
        counted = (0, 0) if files is None else (files.count, files.size)
        return cls(
            scheduler.waiting, pool.used, pool.cached, pool.draining, pool.free, slots.used, slots.total, *counted,
            scheduler.signal.layers,
        )  # fmt: skip


EMPTY = Level()


class Part(enum.IntFlag):
    """Which part of a pass a step computes, where the pass was stopped between two layers."""

    WHOLE = 0
    STOPPED = 1  # it ends before the last layer
    RESUMED = 2  # it goes on after the last such step
    BESIDE = 4  # another pass stands still meanwhile

    @classmethod
    def of(cls, *, stopped: bool, resumes: bool, beside: bool) -> Part:
        """Of a step that was stopped, that goes on, or that runs beside what stands still."""
        return cls(cls.STOPPED * stopped | cls.RESUMED * resumes | cls.BESIDE * beside)


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its times and its rows, five numbers each (`Mark`)."""

    number: int
    times: Times
    numbers: array[int]
    level: Level = EMPTY
    layers: int = 0  # that it computed
    part: Part = Part.WHOLE

    @property
    def marks(self) -> Iterator[Mark]:
        """The rows."""
        fields = iter(self.numbers)
        return itertools.starmap(Mark, zip(*[fields] * 5, strict=True))

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.numbers) // len(Mark._fields)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a request between or at the end of steps; `count` is told by `What`."""

    at: float
    handle: int
    what: What
    count: int = 0
    by: int = 0  # the STAT request that it makes way for; 0: none
    priority: int = Priority.ROUTINE  # when it was placed
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
        self._events.append(Event(self.clock(), handle, What.PLACED, priority=priority, request=_words(request)))

    def happened(self, what: What, handle: int, count: int = 0, by: int = 0) -> None:
        """As `happening.Listener`."""
        self._events.append(Event(self.clock(), handle, what, count, by))

    def keep(self, event: Event) -> None:
        """One that is made already."""
        self._events.append(event)

    def record(self, step: Step, outcomes: Sequence[Outcome]) -> None:
        """A step has ended, and with it these requests."""
        self._steps.append(step)
        self._rows += len(step.numbers)
        while self._steps and (len(self._steps) > self._most_steps or self._rows > self._most_rows * len(Mark._fields)):
            self._rows -= len(self._steps.popleft().numbers)
        for outcome in outcomes:
            self._events.append(Event(step.times.ended, outcome.handle, What(outcome.state)))


def _words(request: Request) -> str:
    name = type(request).__name__.lower()
    if isinstance(request, Score) and request.branch is not None:
        return f"alternate at {request.branch.at:,} of {len(request.scored):,}"
    return f"{name} {len(tokens_of(request)):,}"
