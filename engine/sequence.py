"""One request on its way: what it has, what it still needs, and the row that computes the next of it."""

from __future__ import annotations

import math
from array import array
from collections.abc import MutableMapping
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from engine.batch import Row, RowOutput
from engine.errors import EngineError
from engine.limits import Limits
from engine.request import (
    PRIVATE,
    Branch,
    Generate,
    Interruption,
    NextToken,
    Outcome,
    Priority,
    Request,
    Result,
    Score,
    Sharing,
    State,
)
from engine.swap.content import Content

KEPT = 64  # interruptions of one request that are remembered

Link = tuple[bytes, tuple[int, ...]]  # the key of a full block, and its tokens


class Entry(Protocol):
    """What a sequence takes up: a full block that others computed."""

    @property
    def key(self) -> bytes:
        """Of the chain up to the block."""

    @property
    def scores(self) -> array[float] | None:
        """Log P of the tokens inside it."""


def floats() -> array[float]:
    """None yet, as float32."""
    return array("f")


@dataclass(slots=True, eq=False)
class Reserve:
    """Blocks put aside so that one branch of a trunk can always run; it ends with the last of its members."""

    size: int
    trunk: Sequence
    members: int = 1  # the trunk is the first
    idle: bool = True


@dataclass(slots=True, eq=False)
class Sequence:
    """Of any kind: `engine.kinds` has a class for each. Counters are stored, the rest is derived. `computed` positions have keys
    and values in `blocks`, of which the first is the sequence's block number `first`; `room` is the position at which they end.
    """

    handle: int
    request: Request
    priority: Priority
    queued_at: float
    tokens: list[int]  # grows when one is drawn
    target: int  # positions to compute before the next decision
    need: int  # positions it can ever occupy
    computed: int = 0
    logprobs: array[float] = field(default_factory=floats)
    blocks: list[int] = field(default_factory=list)
    first: int = 0
    exact: int = 0  # what it computed again before this position saw too little of what was before it
    room: int = 0
    promise: int = 0  # blocks it may still take
    slides: bool = False  # gives blocks back as the window leaves them
    sharing: Sharing = PRIVATE
    shareable: int = 0  # leading tokens that may go into the cache, and come from it
    own: bytes = b""  # the root under which only it finds what it left when it gave way
    key: bytes = b""  # of the last block that went into the cache, or of the root
    links: list[Link] = field(default_factory=list)  # where to look for its blocks, as far as somebody has looked …
    links_root: bytes = b""  # … from this root on
    registered: int = 0  # blocks that did
    reserve: Reserve | None = None
    reserved: int = 0  # blocks it runs on from the reserve
    beside: int = 0  # blocks to be put aside when it starts
    copy_from: int | None = None  # held until the first step has copied it to the first own block
    place: MutableMapping[int, Sequence] | None = None  # the queue or group that holds it
    trunk: Sequence | None = None  # the trunk at which it waits
    swapped: Content | None = None  # what it left outside the pool when it gave way
    running: bool = False  # holds a slot
    started_at: float | None = None  # when it first did
    since: float = math.inf  # when the oldest was computed that it is built on
    steps: int = 0
    passed: int = 0  # times that somebody behind it was let in first
    reused: int = 0
    preempted: int = 0
    evicted: int = 0  # times it was sent away for STAT …
    furthest: int = 0  # … and the furthest it had come when it was
    due: float = math.inf  # when it shall have ended
    interruptions: tuple[Interruption, ...] = ()
    _row: Row = field(init=False)

    def __post_init__(self) -> None:
        self._row = Row(self.handle, 0, (), self.blocks)

    @property
    def tables(self) -> list[int]:
        """Every block it holds a reference to."""
        return self.blocks if self.copy_from is None else [*self.blocks, self.copy_from]

    @property
    def done(self) -> bool:
        """Whether the result is complete."""
        return self.computed >= self.target

    @property
    def draws(self) -> bool:
        """Whether its row draws, and `take` makes ready the one after it, until nothing is left to draw."""
        return False

    @property
    def resumable(self) -> bool:
        """Whether it can go on from any block it had computed, and need not begin anew."""
        return True

    @property
    def wanted_from(self) -> int:
        """The first position whose state is still wanted; 0 for one that begins anew."""
        return 0

    def row(self, end: int) -> Row:
        """The chunk from `computed` to `end`. The same object every time."""
        row, start = self._row, self.computed
        row.start, row.tokens, row.commit = start, self.tokens[start:end], end
        if self.slides:
            row.first = self.first
        self._ask(row, end)
        return row

    def take(self, row: Row, output: RowOutput) -> bool:
        """Count a computed row and keep what it gave; whether the result is complete now."""
        if row.commit > self.computed:
            self.computed = row.commit
        self._keep(output)
        return self.done

    def take_up(self, entries: SequenceOf[Entry | None], block_size: int) -> None:
        """Count blocks that others computed as its own beginning, with the scores that came with them; None: the window has left
        the block, and it is gone.
        """
        self.computed = self.reused = len(entries) * block_size
        self.registered = len(entries)
        if (last := entries[-1]) is not None:
            self.key = last.key

    def begin(self, now: float) -> None:
        """It gets a slot, for the first time or again."""
        self.started_at = now if self.started_at is None else self.started_at
        self.since = min(self.since, now)
        self.go_on(now)

    def stand_still(self, how: Literal["frozen", "evicted", "swapped"], now: float) -> None:
        """More urgent work is in its way from now on."""
        self.go_on(now)
        self.interruptions = (*self.interruptions[1 - KEPT :], Interruption(how, now))

    def go_on(self, now: float) -> None:
        """Nothing is in its way any more."""
        if self.interruptions and self.interruptions[-1].until is None:
            last = self.interruptions[-1]
            self.interruptions = (*self.interruptions[:-1], replace(last, until=max(now, last.since)))

    def set_aside(self) -> None:
        """It holds no blocks any more."""
        self.computed = self.first = self.room = self.registered = self._row.first = 0

    def restart(self) -> None:
        """It lost its blocks: positions are computed again, what is known stays known."""
        self.set_aside()
        self.exact = 0

    def result(self) -> Result:
        """The result of a sequence that is done."""
        raise NotImplementedError

    def outcome(self, state: State, error: EngineError | None, now: float, limits: Limits) -> Outcome:
        """How it ended."""
        return Outcome(
            handle=self.handle,
            state=state,
            result=self.result() if state == "finished" else None,
            error=error,
            queued_at=self.queued_at,
            started_at=self.started_at,
            finished_at=now,
            steps=self.steps,
            fingerprint=limits.fingerprint,
            batch_invariant=limits.batch_invariant,
            reused=self.reused,
            preempted=self.preempted,
            interruptions=self.interruptions,
        )

    def _ask(self, row: Row, end: int) -> None:
        """Say in the row what is wanted of the positions up to `end`."""
        raise NotImplementedError

    def _keep(self, output: RowOutput) -> None:
        raise NotImplementedError


def branch_of(sequence: Sequence) -> Branch | None:
    """Where a sequence leaves its window, if it does."""
    return sequence.request.branch if isinstance(sequence.request, Score) else None


def reach(sequence: Sequence) -> int:
    """Positions that a sequence has in common with its window."""
    branch = branch_of(sequence)
    return sequence.need if branch is None else branch.at


def tokens_of(request: Request) -> tuple[int, ...]:
    """The tokens that a request brings."""
    if isinstance(request, Score):
        return request.scored
    if isinstance(request, NextToken):
        return request.context
    return request.prompt if isinstance(request, Generate) else request.tokens
