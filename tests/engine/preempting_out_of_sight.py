"""A scheduler that preempts in every second step, so that whoever counts steps and tokens sees nothing of it.

Before a step is planned a sequence goes to the arena and comes back, block by block; after a step has been computed its pass stands
still while STAT runs, and goes on. Both happen inside of one call: the moves of blocks go out with the next batch, in order, and
the outputs of that STAT are made up, for nobody reads them. What is never forced here: to compute again, to abandon a pass, and to
send away who shares blocks or has left some to be found.
"""

from __future__ import annotations

import random
from dataclasses import replace

from engine.batch import Batch, Row, RowOutput
from engine.config import EngineConfig
from engine.forecast import Pending
from engine.freezing import FreezingScheduler
from engine.happening import Diary, What
from engine.request import Generate, Outcome, Priority, Score
from engine.sequence import Sequence
from engine.swap.content import Content
from engine.swap.slots import ArenaSlots

FIRST = 10**6  # handle of the STAT request that comes by itself
_LONGEST = 40  # tokens of it
_MOVES = ("released", "copies", "dropped", "swap_outs", "swap_ins", "blank")  # of a batch, before its rows
_COUNTED = ("steps", "tokens", "freezes", "frozen_seconds")

seed = 0  # another one draws other points, by `--forced-seed`


def drawing(config: EngineConfig) -> random.Random:
    """Which draws where one scheduler is disturbed, and how."""
    return random.Random(config.slots + 1000 * seed)


class Hidden(ArenaSlots):
    """An arena that nobody but `OutOfSight` knows of: for all others there is none."""

    shown = False

    @property
    def free(self) -> int:
        return super().free if self.shown else 0

    def take(self, content: Content) -> bool:
        return self.shown and super().take(content)


class Discreet(Diary):
    """Tells nothing while it is `silent`, and not of whoever is `awaited` that he is back."""

    def __init__(self) -> None:
        super().__init__()
        self.silent, self.awaited = False, set[int]()

    def tell(self, what: What, handle: int, count: int = 0, by: int = 0) -> None:
        if what is What.IN_POOL and handle in self.awaited:
            self.awaited.remove(handle)
        elif not self.silent:
            super().tell(what, handle, count, by)


class OutOfSight(FreezingScheduler):
    """`returned` sequences went and came back, `interludes` passes stood still."""

    def __init__(self, *arguments: object, **named: object) -> None:
        super().__init__(*arguments, **named)
        self.generator = drawing(self.config)
        self.turns = self.returned = self.interludes = self._came = 0
        self.swapping.diary = self._diary = Discreet()
        self._hidden = Hidden(self.config.arena_blocks)
        if not self.swapping.slots.total:
            self.swapping.slots = self._hidden
        self._before: list[Batch] = []  # what they moved goes out with the next
        self._told_before: list[Outcome] = []

    def schedule(self, now: float) -> Batch:
        self.turns += 1
        if self.turns % 2 == 0 and self._nobody_looks() and self._standing is self._halted is None:
            self._diary.silent = True
            self._there_and_back()
            self._diary.silent = False
        batch = super().schedule(now)
        before, self._before = [*self._before, batch], []
        return replace(batch, **{name: sum((getattr(one, name) for one in before), ()) for name in _MOVES})

    def postprocess(self, batch: Batch, outputs: list[RowOutput] | None) -> list[Outcome]:
        if self.turns % 2 and outputs and batch.stoppable and not batch.resumes and self._may_stop():
            self._diary.silent = True
            batch = self._interlude(batch)
            self._diary.silent = False
        told, self._told_before = self._told_before, []
        told += super().postprocess(batch, outputs)
        self.swapping.blocks_in, self._came = self.swapping.blocks_in - self._came, 0
        return [outcome for outcome in told if outcome.handle != FIRST]

    def _nobody_looks(self) -> bool:
        """Whether nothing is on its way that an interruption would change."""
        return not (self._doomed or self._pausing or self.making_way or self.swapping.loading or self._waiting.count(Priority.STAT))

    def _may_stop(self) -> bool:
        """Whether STAT can come, run and end, with nobody else, and without a block that others could find."""
        room = min(self.pool.free, self.ledger.spare)
        return self._nobody_looks() and not self._slots.has_stat and self.ledger.blocks_for(_LONGEST) <= room

    def _there_and_back(self) -> None:
        lower, swapping = [one for one in self._slots if self._may_go(one)], self.swapping
        if not lower:
            return
        sequence = self.generator.choice(lower)
        if not self._goes(sequence):
            return
        out = swapping.blocks_out
        self._before.append(swapping.batch([], self.signal, stoppable=False))
        swapping.moved()
        swapping.blocks_out = out
        assert swapping.take_up(sequence) == 0
        self.ledger.open(sequence)
        sequence.place.disturb()  # its row is cut anew
        self.returned += 1
        self._came = sum(len(one.pairs) for one in swapping._arriving)
        self._diary.awaited = {sequence.handle}

    def _may_go(self, one: Sequence) -> bool:
        """Whether nobody could tell: it is sure of what it needs when it is back, and others would have found nothing of it."""
        found = any(self.cache.key_of(block) is not None for block in one.blocks)
        return one.priority is not Priority.STAT and one.reserve is None and one.swapped is None and not found

    def _goes(self, sequence: Sequence) -> bool:
        self._hidden.shown = True
        gone = self.swapping._swap_out(sequence)
        self._hidden.shown = False
        return gone

    def _interlude(self, batch: Batch) -> Batch:
        """STAT comes, runs and ends while the pass stands still; the pass as it goes on."""
        counted = {name: getattr(self, name) for name in _COUNTED}
        known = {handle: self._by_handle[handle].interruptions for handle in {row.handle for row in batch.rows}}
        self._told_before += super().postprocess(batch, None)
        self.add(FIRST, self._stat(), Priority.STAT, self._now)
        while not (between := super().schedule(self._now)).resumes:
            assert [row.handle for row in between.rows] == [FIRST]
            self._before.append(between)
            super().postprocess(between, [_made_up(row) for row in between.rows])
        self._before.append(between)
        self.cancel(FIRST)  # where the pass could not stand still for it
        self.interludes += 1
        for name, value in counted.items():
            setattr(self, name, value)
        for handle, interruptions in known.items():
            self._by_handle[handle].interruptions = interruptions
        return between

    def pending(self) -> list[Pending]:
        return [one for one in super().pending() if one.handle < FIRST]

    def _stat(self) -> Score | Generate:
        length = min(self.generator.randint(2, _LONGEST - 3), self.limits.context - 3)
        tokens = tuple(index % min(11, self.limits.vocabulary) for index in range(length))
        return Score(tokens) if length % 2 else Generate(tokens, 3)


def _made_up(row: Row) -> RowOutput:
    return RowOutput([-1.0] * max(len(row.targets), row.draw is not None), None if row.draw is None else 0)
