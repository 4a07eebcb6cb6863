"""Which tokens the next step computes. Pure Python: no tensors, no clock of its own, work in proportion to what it schedules.

A sequence has tokens *computed* and a *target*; there are no prefill and decode phases. Policy: whoever runs goes on; who waits
enters in strict order of class, then arrival, the moment a slot is free and all the blocks it can ever need can be promised; only
a waiting STAT request sends others away. The budget goes to the classes in order, short sequences before long ones.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

from engine.batch import Batch, Row, RowOutput, Signal
from engine.blocks import BlockPool
from engine.budget import Budget
from engine.config import EngineConfig
from engine.dues import Dues
from engine.errors import EngineError, RequestRefused
from engine.kinds import sequence_of
from engine.ledger import Ledger
from engine.limits import Limits
from engine.prefix import PrefixCache
from engine.refusals import refuse_unservable
from engine.request import Outcome, Priority, Request, State
from engine.sequence import Sequence
from engine.slots import Slots
from engine.steering import Steering
from engine.swap.content import Outside
from engine.swapping import Swapping
from engine.trunks import Trunk, Trunks, reclass
from engine.waiting import Waiting


class Scheduler(Steering):
    """Continuous batching. `clock` gives the times on outcomes; all else comes in as arguments."""

    def __init__(
        self, config: EngineConfig, pool: BlockPool, limits: Limits, clock: Callable[[], float], outside: Outside | None = None
    ) -> None:
        self.config, self.pool, self.limits, self.clock = config, pool, limits, clock
        self.ledger = Ledger(pool, config, limits.window, limits.layers)
        self.ledger.keep(limits.context, config.reserve)
        self.cache = PrefixCache(pool, config.block_size, limits.fingerprint, clock)
        self.swapping = Swapping(config, self.cache, self.ledger, outside or Outside())
        self.trunks = Trunks(self.ledger, config)
        self.budget = Budget(config.token_budget, config.grid)
        self._slots, self._kept_slots = Slots(config, self.ledger, limits.window), min(config.reserve_slots, config.slots // 8)
        self._waiting, self.dues, self._by_handle = Waiting(config), Dues(config, clock), dict[int, Sequence]()
        self._doomed, self._pausing, self._resting = set[int](), set[int](), dict[int, Sequence]()
        self._in_flight, self.signal = False, Signal()
        self._settled: deque[Outcome] = deque()

    def add(self, handle: int, request: Request, priority: Priority, now: float, due: float = math.inf) -> None:
        """Queue a request, or settle it at once as failed when it could never be served. Of STAT who is `due` first goes first, and
        who would end too late at the present pace makes lower work pause. ValueError for a handle below 0, which are those of
        trunks, or of one still open.
        """
        if handle < 0 or handle in self._by_handle:
            raise ValueError(f"handle {handle} is {'below 0' if handle < 0 else 'that of a request which has not ended'}")
        sequence = sequence_of(handle, request, priority, now)
        sequence.due = due
        try:
            refuse_unservable(sequence, self.limits, self.ledger)
        except RequestRefused as refusal:
            self._settled.append(sequence.outcome("failed", refusal, self.clock(), self.limits))
            return
        self._by_handle[handle] = sequence
        self.dues.add(sequence)
        self.ledger.settle_kind(sequence)
        self._enter(sequence)

    def _enter(self, sequence: Sequence) -> None:
        trunk = self.trunks.join(sequence)
        if trunk is None:
            self._waiting.append(sequence)
        elif trunk.handle not in self._by_handle:
            self._by_handle[trunk.handle] = trunk
            self._waiting.append(trunk)
        else:
            self._branch_off(trunk)

    def forget(self, since: float = -math.inf, until: float = math.inf) -> None:
        """Let no later request find what was computed between two times; what is on its way ends with what it has."""
        self.cache.forget(since, until)
        self.trunks.close(until)
        for sequence in self._by_handle.values():
            if sequence.since <= until and (sequence.running or sequence.computed or sequence.logprobs or sequence.swapped):
                sequence.shareable = 0

    def schedule(self, now: float) -> Batch:
        """Admit what fits and cut the next chunk of each running sequence within the token budget."""
        self._now = now
        self.dues.begin(now)
        self.ledger.serve_short()
        self.swapping.look_at_files(now, self._waiting)
        self._admit(now)
        self._slots.pressed = self.dues.pressing(now, self._slots.of_stat(), self._waiting.of_stat())
        rows = [] if self.making_way else self._rows()
        self.dues.dealt(now, stat=self._slots.has_stat)
        self.idle_slot_steps += self._next() is not None
        self._in_flight = True
        return self.swapping.batch(rows, self.signal, stoppable=self.stoppable)

    def postprocess(self, batch: Batch, outputs: list[RowOutput] | None) -> list[Outcome]:
        """Count what was computed and settle what ended; returns every outcome since the last call."""
        self.swapping.moved()
        self._count(batch, outputs or [])
        outcomes, self._settled = list(self._settled), deque()
        return outcomes

    def _count(self, batch: Batch, outputs: list[RowOutput]) -> None:
        self._in_flight, short, tokens, doomed, by_handle = False, False, 0, self._doomed, self._by_handle
        for row, output in zip(batch.rows, outputs, strict=True):
            sequence = by_handle[row.handle]
            sequence.steps += 1
            tokens += len(row.tokens)
            if output.short:
                short = True
            if output.error is not None:
                self._fail(sequence, output.error)
            elif not doomed or row.handle not in doomed:
                done = sequence.take(row, output)
                if row.extra is not None or sequence.key or sequence.slides or sequence.copy_from is not None:
                    self._follow(sequence, row)
                if done:
                    self._finish(sequence)
                elif sequence.computed == sequence.room:
                    self._slots.note_short(sequence)
        if batch.rows:
            self.steps, self.tokens = self.steps + 1, self.tokens + tokens
            self.budget.note(short=short)
        if doomed or self._pausing:
            self._part_marked()

    def _start(self, sequence: Sequence, now: float) -> None:
        if self.swapping.loads(sequence, now, self._waiting):
            return
        self._waiting.start(sequence, now)
        self._slots.hold(sequence)
        sequence.begin(now)
        if not sequence.blocks:
            self.reused_tokens += self.swapping.take_up(sequence)
        self.ledger.open(sequence)
        if isinstance(sequence, Trunk):
            self.trunks.put_aside(sequence)
            self._branch_off(sequence)
            if sequence.done:  # while it was away, who needed more of it has left
                self._finish(sequence)

    def _evict(self, sequence: Sequence) -> None:
        """It gives way to STAT and waits at the head of its class."""
        self._sent_away(sequence)
        self._give_way(sequence)
        sequence.stand_still("evicted" if sequence.swapped is None else "swapped", self.clock())
        self._waiting.append(sequence, first=True)

    def _give_way(self, sequence: Sequence) -> None:
        """It gives up slot and blocks, and keeps what is known."""
        self._slots.leave(sequence)
        self.swapping.out(sequence)

    def _rows(self) -> list[Row]:
        return self._slots.deal(self.budget.now)

    def _follow(self, sequence: Sequence, row: Row) -> None:
        """What a step means for others: blocks to find, branches to let go, blocks to give back."""
        self.recomputed_tokens += row.extra.skip if row.extra is not None else 0
        self.ledger.copied(sequence)
        if sequence.key:
            self.cache.register(sequence)
        if isinstance(sequence, Trunk):
            self.trunk_tokens += len(row.tokens)
            self._branch_off(sequence)
        if sequence.slides and not self.ledger.slide(sequence):  # others hold what it left behind: it stands aside for them
            self._slots.leave(sequence)
            self._waiting.append(sequence)
            self.pauses += 1

    def _branch_off(self, trunk: Trunk) -> None:
        for waiter in self.trunks.ripe(trunk):
            if waiter.done:
                self._finish(waiter)
            else:
                self._waiting.append(waiter)
        reclass(trunk, self._waiting, self._slots)

    def _fail(self, sequence: Sequence, error: EngineError) -> None:
        """A trunk that fails takes nobody along who might do without it."""
        if isinstance(sequence, Trunk):
            for waiter in self.trunks.desert(sequence):
                self._waiting.append(waiter)
            for waiter in list(sequence.waiters.values()):
                self._settle(waiter, "failed", error)
        if sequence.handle in self._by_handle:
            self._settle(sequence, "failed", error)

    def _finish(self, sequence: Sequence) -> None:
        self._settle(sequence, "finished")

    def _settle(self, sequence: Sequence, state: State, error: EngineError | None = None) -> None:
        """The one way out: give back slot, blocks and what lies outside, report."""
        del self._by_handle[sequence.handle]
        self._resting.pop(sequence.handle, None)
        self._waiting.take(sequence)
        self.dues.drop(sequence, state)
        self._slots.leave(sequence)
        self.swapping.end(sequence)
        if isinstance(sequence, Trunk):
            self.trunks.end(sequence)
            return
        self._settled.append(sequence.outcome(state, error, self.clock(), self.limits))
        trunk = self.trunks.leave(sequence)
        if trunk is not None:
            self._left(trunk)
