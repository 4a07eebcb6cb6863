"""Which tokens the next step computes. Pure Python: no tensors, no clock of its own, work in proportion to what it schedules.

A sequence has tokens *computed* and a *target*; there are no prefill and decode phases. Policy: whoever runs goes on; waiting
requests enter in strict order of class, then arrival, the moment a slot and all the blocks they can ever need are free; the budget
is handed out in the order of class, then admission.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from engine.batch import Batch, Draw, Row, RowOutput
from engine.blocks import BlockPool
from engine.config import EngineConfig
from engine.errors import ContextTooLong, EngineError, InvalidRequest, RequestRefused, RequestTooLarge
from engine.request import COLDEST, Generate, GenerateResult, Outcome, Priority, Request, Result, Sampling, Score, ScoreResult


@dataclass(frozen=True, slots=True)
class Limits:
    """What the model can take, and what stands on every outcome."""

    vocabulary: int
    context: int
    fingerprint: str = ""
    batch_invariant: bool = False


@dataclass(slots=True)
class Sequence:
    """One request on its way. `tokens` grows when one is drawn; everything else about its progress is derived."""

    handle: int
    request: Request
    priority: Priority
    queued_at: float
    tokens: list[int]
    computed: int = 0
    logprobs: list[float] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    started_at: float | None = None
    steps: int = 0

    @property
    def target(self) -> int:
        """Positions to compute before the next decision: the last token of a score predicts nothing."""
        return len(self.tokens) - isinstance(self.request, Score)

    @property
    def drawn(self) -> int:
        """Tokens generated so far."""
        return len(self.tokens) - len(self.request.prompt) if isinstance(self.request, Generate) else 0

    @property
    def done(self) -> bool:
        """Whether the result is complete."""
        if isinstance(self.request, Score):
            return self.computed == self.target
        return self.drawn == self.request.limit or (self.drawn > 0 and self.tokens[-1] == self.request.end)

    def result(self) -> Result:
        """The result of a sequence that is done."""
        if isinstance(self.request, Score):
            return ScoreResult(tuple(self.logprobs))
        reason: Literal["length", "end"] = "end" if self.tokens[-1] == self.request.end else "length"
        return GenerateResult(tuple(self.tokens[-self.drawn :]), tuple(self.logprobs), reason)

    def row(self, end: int) -> Row:
        """The chunk from `computed` to `end`."""
        tokens = tuple(self.tokens[self.computed : end])
        if isinstance(self.request, Score):
            targets = tuple(self.tokens[self.computed + 1 : end + 1])
            return Row(self.handle, self.computed, tokens, self.blocks, targets, commit=end)
        draw = Draw(self.request.sampling, end) if end == len(self.tokens) else None
        return Row(self.handle, self.computed, tokens, self.blocks, draw=draw, commit=end)


def positions_needed(request: Request) -> int:
    """KV positions a request can ever occupy: the last token of either kind is never computed."""
    return len(request.tokens) - 1 if isinstance(request, Score) else len(request.prompt) + request.limit - 1


def _refuse_undrawable(sampling: Sampling) -> None:
    if sampling.temperature != 0 and not COLDEST <= sampling.temperature < math.inf:  # also refuses NaN
        raise InvalidRequest(f"temperature must be 0 or a finite number from {COLDEST} on, not {sampling.temperature}")
    if sampling.top_k < 0:
        raise InvalidRequest(f"top_k must be at least 0, not {sampling.top_k}")


class Scheduler:
    """Continuous batching. `clock` gives the times on outcomes; all else comes in as arguments."""

    def __init__(self, config: EngineConfig, pool: BlockPool, limits: Limits, clock: Callable[[], float]) -> None:
        self.config, self.pool, self.limits, self.clock = config, pool, limits, clock
        self._waiting: dict[Priority, dict[int, Sequence]] = {priority: {} for priority in Priority}
        self._running: dict[Priority, dict[int, Sequence]] = {priority: {} for priority in Priority}
        self._by_handle: dict[int, Sequence] = {}
        self._doomed: set[int] = set()  # cancelled while a step computes them
        self._in_flight = False
        self._settled: deque[Outcome] = deque()
        self.steps = self.tokens = self.idle_slot_steps = 0

    @property
    def running(self) -> int:
        """Sequences that hold a slot."""
        return sum(map(len, self._running.values()))

    @property
    def waiting(self) -> int:
        """Sequences not yet admitted."""
        return sum(map(len, self._waiting.values()))

    @property
    def has_work(self) -> bool:
        """Whether another step would compute or report something."""
        return bool(self._by_handle or self._settled)

    def tables(self) -> Iterator[list[int]]:
        """The block tables in use, for `BlockPool.check`."""
        return (sequence.blocks for sequence in self._by_handle.values())

    def add(self, handle: int, request: Request, priority: Priority, now: float) -> None:
        """Queue a request, or settle it at once as failed when it could never be served."""
        tokens = list(request.tokens if isinstance(request, Score) else request.prompt)
        sequence = Sequence(handle, request, Priority(priority), now, tokens)
        try:
            self._refuse_unservable(request, tokens)
        except RequestRefused as refusal:
            self._settled.append(self._outcome(sequence, "failed", error=refusal))
            return
        self._waiting[sequence.priority][handle] = self._by_handle[handle] = sequence

    def cancel(self, handle: int) -> bool:
        """Cancel in any state; False when the handle is unknown or already settled.

        A row that a step is computing is only marked: its blocks return when the step has ended.
        """
        sequence = self._by_handle.get(handle)
        if sequence is None or handle in self._doomed:
            return False
        if self._in_flight and sequence.started_at is not None:
            self._doomed.add(handle)
        else:
            self._settle(sequence, "cancelled")
        return True

    def schedule(self, now: float) -> Batch:
        """Admit what fits and cut the next chunk of each running sequence within the token budget."""
        self._admit(now)
        rows = tuple(self._rows())
        self.idle_slot_steps += self._admissible()
        self._in_flight = True
        return Batch(rows, self.pool.drain_released())

    def postprocess(self, batch: Batch, outputs: list[RowOutput]) -> list[Outcome]:
        """Count what was computed and settle what ended; returns every outcome since the last call."""
        self._count(batch, outputs)
        outcomes = list(self._settled)
        self._settled.clear()
        return outcomes

    def _count(self, batch: Batch, outputs: list[RowOutput]) -> None:
        self._in_flight = False
        self.steps += bool(batch.rows)
        self.tokens += batch.tokens
        for row, output in zip(batch.rows, outputs, strict=True):
            self._advance(self._by_handle[row.handle], row, output)
        for handle in self._doomed & self._by_handle.keys():
            self._settle(self._by_handle[handle], "cancelled")
        self._doomed.clear()

    def _refuse_unservable(self, request: Request, tokens: list[int]) -> None:
        if len(tokens) < (2 if isinstance(request, Score) else 1):
            raise InvalidRequest("a score needs at least two tokens and a generation at least one")
        if isinstance(request, Generate) and request.limit < 1:
            raise InvalidRequest(f"limit must be at least 1, not {request.limit}")
        if isinstance(request, Generate):
            _refuse_undrawable(request.sampling)
        if not all(isinstance(token, int) for token in tokens) or min(tokens) < 0 or max(tokens) >= self.limits.vocabulary:
            raise InvalidRequest(f"token ids must be between 0 and {self.limits.vocabulary - 1}")
        positions = positions_needed(request)
        if positions > self.limits.context:
            raise ContextTooLong(positions=positions, context=self.limits.context)
        if self._blocks_for(positions) > self.pool.total:
            raise RequestTooLarge(blocks_needed=self._blocks_for(positions), blocks_total=self.pool.total)

    def _blocks_for(self, positions: int) -> int:
        return -(-positions // self.config.block_size)

    def _next_waiting(self) -> Sequence | None:
        return next((next(iter(queue.values())) for queue in self._waiting.values() if queue), None)

    def _admissible(self) -> bool:
        """Whether the next in line would fit now; after `_admit` this is a fault, and counted as one."""
        sequence = self._next_waiting()
        if sequence is None or self.running >= self.config.slots:
            return False
        return self._blocks_for(positions_needed(sequence.request)) <= self.pool.free

    def _admit(self, now: float) -> None:
        while self._admissible():
            sequence = self._next_waiting()
            if sequence is not None:
                self._start(sequence, positions_needed(sequence.request), now)

    def _start(self, sequence: Sequence, positions: int, now: float) -> None:
        sequence.blocks.extend(self.pool.allocate(self._blocks_for(positions)))
        sequence.started_at = now
        del self._waiting[sequence.priority][sequence.handle]
        self._running[sequence.priority][sequence.handle] = sequence

    def _rows(self) -> Iterator[Row]:
        left = self.config.token_budget
        for group in self._running.values():
            for sequence in group.values():
                if left == 0:
                    return
                end = self._chunk_end(sequence, left)
                if end > sequence.computed:
                    left -= end - sequence.computed
                    yield sequence.row(end)

    def _chunk_end(self, sequence: Sequence, left: int) -> int:
        """End of the next chunk, on the grid of absolute positions unless it is the target."""
        chunk, grid = self.config.chunk, self.config.grid
        end = min(sequence.target, (sequence.computed // chunk + 1) * chunk)
        if end - sequence.computed > left:
            end = (sequence.computed + left) // grid * grid
        return end

    def _advance(self, sequence: Sequence, row: Row, output: RowOutput) -> None:
        sequence.steps += 1
        if output.error is not None:
            self._settle(sequence, "failed", output.error)
        elif row.handle not in self._doomed:
            sequence.computed = max(sequence.computed, row.commit)
            sequence.logprobs.extend(output.logprobs)
            if output.token is not None:
                sequence.tokens.append(output.token)
            if sequence.done:
                self._finish(sequence)

    def _finish(self, sequence: Sequence) -> None:
        self._settle(sequence, "finished")

    def _settle(
        self, sequence: Sequence, state: Literal["finished", "failed", "cancelled"], error: EngineError | None = None
    ) -> None:
        """The one way out: give back slot and blocks, report."""
        self._waiting[sequence.priority].pop(sequence.handle, None)
        self._running[sequence.priority].pop(sequence.handle, None)
        del self._by_handle[sequence.handle]
        self.pool.release(sequence.blocks)
        self._settled.append(self._outcome(sequence, state, error))

    def _outcome(
        self, sequence: Sequence, state: Literal["finished", "failed", "cancelled"], error: EngineError | None = None
    ) -> Outcome:
        return Outcome(
            handle=sequence.handle,
            state=state,
            result=sequence.result() if state == "finished" else None,
            error=error,
            queued_at=sequence.queued_at,
            started_at=sequence.started_at,
            finished_at=self.clock(),
            steps=sequence.steps,
            fingerprint=self.limits.fingerprint,
            batch_invariant=self.limits.batch_invariant,
        )
