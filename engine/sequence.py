"""One request on its way: what it has, what it still needs, and the row that computes the next of it. A class for each kind."""

from __future__ import annotations

import math
from array import array
from collections.abc import MutableMapping
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, cast

from engine.batch import Extra, Floats, Row, RowOutput
from engine.errors import EngineError
from engine.limits import Limits
from engine.request import (
    PRIVATE,
    Branch,
    Embed,
    EmbedResult,
    Generate,
    GenerateResult,
    Interruption,
    NextToken,
    NextTokenResult,
    Outcome,
    Priority,
    Request,
    Result,
    Sampling,
    Score,
    ScoreResult,
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


def _floats() -> array[float]:
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
    """Counters are stored, the rest is derived. `computed` positions have keys and values in `blocks`, of which the first is the
    sequence's block number `first`; `room` is the position at which the blocks end.
    """

    handle: int
    request: Request
    priority: Priority
    queued_at: float
    tokens: list[int]  # grows when one is drawn
    target: int  # positions to compute before the next decision
    need: int  # positions it can ever occupy
    computed: int = 0
    logprobs: array[float] = field(default_factory=_floats)
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


@dataclass(slots=True, eq=False)
class Scoring(Sequence):
    """`logprobs[i]` belongs to token i + 1, whatever was computed again meanwhile."""

    alternatives: array[float] = field(default_factory=_floats)

    def _ask(self, row: Row, end: int) -> None:
        start, known = row.start, len(self.logprobs)
        row.targets = self.tokens[max(start, known) + 1 : end + 1]
        row.extra = None
        if known != start or cast(Score, self.request).alternatives:
            row.extra = self._extra(start, end, known)

    def _extra(self, start: int, end: int, known: int) -> Extra:
        request = cast(Score, self.request)
        lead = (self.tokens[start],) if known == start - 1 else ()
        skip = min(max(0, known - start), end - start)
        ids = request.alternatives or None
        return Extra(lead=lead, skip=skip, ids=ids, ids_from=max(0, request.alternatives_from - 1 - start))

    def _keep(self, output: RowOutput) -> None:
        if output.extra is not None:
            self.logprobs.extend(output.extra.lead)
            self.alternatives.extend(output.extra.ids)
        self.logprobs.extend(output.logprobs)

    def take_up(self, entries: SequenceOf[Entry | None], block_size: int) -> None:
        Sequence.take_up(self, entries, block_size)
        if len(self.logprobs) < self.computed - 1:
            self.logprobs = _floats()
            for entry in entries:
                self.logprobs.extend((entry and entry.scores) or ())

    @property
    def resumable(self) -> bool:
        return not cast(Score, self.request).alternatives

    @property
    def wanted_from(self) -> int:
        return len(self.logprobs) if self.resumable else 0

    def restart(self) -> None:
        Sequence.restart(self)
        if self.alternatives:  # they stand in rows of several, which a second pass would write twice
            self.alternatives, self.logprobs = _floats(), _floats()

    def result(self) -> ScoreResult:
        return ScoreResult(self.logprobs, self.alternatives)


@dataclass(slots=True, eq=False)
class Generating(Sequence):
    """Draws a token whenever all are computed. What is looked at for every token lies here, and not in the request."""

    limit: int = field(init=False)  # tokens that it has when it has drawn all it may
    end: int | None = field(init=False)
    sampling: Sampling = field(init=False)

    def __post_init__(self) -> None:
        Sequence.__post_init__(self)
        request = cast(Generate, self.request)
        self.limit, self.end, self.sampling = self.target + request.limit, request.end, request.sampling

    @property
    def draws(self) -> bool:
        return self._row.draw is not None and not self.slides

    @property
    def wanted_from(self) -> int:
        return self.target - 1

    @property
    def drawn(self) -> int:
        """Tokens that have been drawn."""
        return self.target - len(cast(Generate, self.request).prompt)

    @property
    def done(self) -> bool:
        return self.target == self.limit or (self.drawn > 0 and self.tokens[-1] == self.end)

    def row(self, end: int) -> Row:
        """As any, in one call: thousands of these are made in a step."""
        row, start = self._row, self.computed
        row.start, row.tokens, row.commit = start, self.tokens[start:end], end
        if self.slides:
            row.first = self.first
        row.draw = self.sampling if end == self.target else None
        return row

    def take(self, row: Row, output: RowOutput) -> bool:
        """As any; the row after one of a single token, which computes what it drew, is made ready here."""
        token = output.token
        if token is None:
            self.computed = max(self.computed, row.commit)
            return self.done
        self.tokens.append(token)
        self.logprobs.append(output.logprobs[0])
        computed = self.computed = self.target
        target = self.target = computed + 1
        if len(row.tokens) == 1:
            row.start, row.tokens, row.commit = computed, (token,), target
        return target == self.limit or token == self.end

    def result(self) -> GenerateResult:
        reason: Literal["length", "end"] = "end" if self.tokens[-1] == self.end else "length"
        return GenerateResult(tuple(self.tokens[-self.drawn :]), self.logprobs, reason)


@dataclass(slots=True, eq=False)
class Asking(Sequence):
    """The distribution after the last token."""

    answer: Floats = ()

    @property
    def wanted_from(self) -> int:
        return self.target - 1

    def _ask(self, row: Row, end: int) -> None:
        last = end == self.target
        row.extra = Extra(ids=cast(NextToken, self.request).wanted, ids_from=end - row.start - 1) if last else None

    def _keep(self, output: RowOutput) -> None:
        if output.extra is not None:
            self.answer = output.extra.ids

    def result(self) -> NextTokenResult:
        return NextTokenResult(self.answer)


@dataclass(slots=True, eq=False)
class Embedding(Sequence):
    """Running sums of hidden states, carried from row to row."""

    pooled: array[float] | None = None

    @property
    def resumable(self) -> bool:
        return False

    def _ask(self, row: Row, end: int) -> None:
        last_only = cast(Embed, self.request).pooling == "last"
        row.extra = None
        if not last_only or end == self.target:
            row.extra = Extra(pooled=self.pooled if self.pooled is not None else array("d"), last_only=last_only)

    def _keep(self, output: RowOutput) -> None:
        if output.extra is not None:
            self.pooled = output.extra.pooled

    def restart(self) -> None:
        Sequence.restart(self)
        self.pooled = None

    def result(self) -> EmbedResult:
        positions = 1 if cast(Embed, self.request).pooling == "last" else len(self.tokens)
        return EmbedResult(tuple(value / positions for value in self.pooled or ()), positions)


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


def sequence_of(handle: int, request: Request, priority: Priority, queued_at: float) -> Sequence:
    """A request as it enters. The last token of a score or a generation is never computed."""
    tokens = list(tokens_of(request))
    length = len(tokens)
    common = (handle, request, Priority(priority), queued_at, tokens)
    if isinstance(request, Score):
        found: Sequence = Scoring(*common, target=length - 1, need=length - 1)
        found.shareable = length - 1 if request.branch is None else request.branch.at
        if request.alternatives:
            found.shareable = min(found.shareable, request.alternatives_from - 1)
    elif isinstance(request, Generate):
        found = Generating(*common, target=length, need=length + request.limit - 1, shareable=length)
    elif isinstance(request, NextToken):
        found = Asking(*common, target=length, need=length, shareable=length)
    else:
        return Embedding(*common, target=length, need=length)
    found.sharing = request.sharing
    return found
