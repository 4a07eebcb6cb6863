"""STAT does not wait for a pass to end: it stands still between two layers, STAT runs, and it goes on from its layer.

A pass that was stopped (`Batch.stoppable`, `Signal.raised`) comes back without outputs. Its sequences are *held*: they keep their
blocks, nobody sends them away, and one that is cancelled goes when the pass has ended. Their slots are lent to STAT meanwhile.
Where STAT can fit only without their blocks the pass is *abandoned*: nothing of it counts, its sequences are as they were before.
That happens to so many passes in succession as one may stand still; STAT then waits for the end of the next.

A pass with short STAT in it stops only for what somebody changes about requests on their way (`Signal.steered`). Unless nobody of
STAT is left in it, it goes on with the next step.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass

from engine.batch import Batch, Row, RowOutput
from engine.happening import What
from engine.preemption import Leaving, victims
from engine.request import Outcome, Priority
from engine.scheduler import Scheduler
from engine.sequence import Sequence
from engine.trunks import Trunk


@dataclass(slots=True)
class Standing:
    """A pass that was stopped. Times are those that `schedule` is given."""

    batch: Batch
    lent: int  # slots: of those in it who are below STAT
    freezes: int = 0  # times that steps of STAT ran meanwhile
    seconds: float = 0.0  # that they took
    since: float | None = None  # when the last of them began; None: there was none since it was last stopped
    capped: bool = False  # STAT waited because it had stood still as often, or as long, as it may


def _came(sequence: Sequence) -> float:
    """When the first STAT came that waits at a trunk; it is late for whoever was promoted in the pass itself."""
    waiters = sequence.waiters.values() if isinstance(sequence, Trunk) else ()
    return min((one.queued_at for one in waiters if one.priority is Priority.STAT), default=math.inf)


def _handles(batch: Batch) -> frozenset[int]:
    return frozenset(row.handle for row in batch.rows)


class FreezingScheduler(Scheduler):
    """Continuous batching whose passes may stand still."""

    _standing: Standing | None = None
    _halted: Batch | None = None  # with STAT in it: it was stopped so that somebody can be heard
    _in_vain = 0  # passes of lower work that were abandoned for STAT since one of them has ended

    @property
    def places(self) -> int:
        """Slots that there are now: those of a pass that stands still are lent."""
        return self.config.slots + (self._standing.lent if self._standing else 0)

    @property
    def steerable(self) -> bool:
        """Every pass, unless none may stand still at all."""
        return self.config.freezes > 0

    @property
    def stoppable(self) -> bool:
        """A pass of lower classes, or of long chunks of STAT."""
        return self._standing is None and not self._slots.urgent and self.config.freezes > 0

    def schedule(self, now: float) -> Batch:
        """The next step of STAT while a pass stands still; the pass itself when there is none or it has stood long enough."""
        if (halted := self._heard()) is not None:
            return halted
        one = self._standing
        if one is None:
            return super().schedule(now)
        begun = self._stood(one, now)
        if self.held <= self._doomed | self._pausing:  # nobody is left who wants it
            self._go_on(one, now)
            self._abandon(one)
            return self._nothing(beside=False)
        batch = super().schedule(now) if self._may_stand(one, begun=begun) else Batch(())
        if self._standing is None:  # abandoned
            self._go_on(one, now)
            return batch
        if not batch.rows and not (batch.swap_outs and self.making_way):
            self._go_on(one, now)
            return self._resumed(one, batch)
        if not begun:
            one.freezes, self.freezes = one.freezes + 1, self.freezes + 1
            for handle in self.held:
                self._by_handle[handle].stand_still("frozen", now)
        one.since = now
        return dataclasses.replace(batch, beside=True)

    def postprocess(self, batch: Batch, outputs: list[RowOutput] | None) -> list[Outcome]:
        """As any; no outputs: the pass was stopped between two layers."""
        if outputs is None:
            self._stop(batch)
            batch = dataclasses.replace(batch, rows=(), resumes=False)  # what came before the rows has been done
        return super().postprocess(batch, outputs)

    def _count(self, batch: Batch, outputs: list[RowOutput]) -> None:
        one = self._standing if batch.resumes and not batch.beside else None
        if one is not None:
            self._note_capped(one)
            self._let_loose()
        if self._in_vain and any(self._by_handle[row.handle].priority is not Priority.STAT for row in batch.rows):
            self._in_vain = 0
        super()._count(batch, outputs)
        if one is not None:
            self._take_back()

    def _stop(self, batch: Batch) -> None:
        if batch.beside or (self._standing is None and not batch.stoppable):
            self._halted, self.held = batch, self.held | _handles(batch)
        elif self._standing is None:
            self._stand(batch)

    def _stand(self, batch: Batch) -> None:
        lent = sum(self._by_handle[row.handle].priority is not Priority.STAT for row in batch.rows)
        self._standing = Standing(batch, lent)
        self.held, self.admits = _handles(batch), Priority.STAT

    def _heard(self) -> Batch | None:
        """What was halted goes on, or is given up, and that is the next step; None: it may stand still as one of lower classes."""
        batch, self._halted = self._halted, None
        if batch is None:
            return None
        self.held = _handles(self._standing.batch) if self._standing else frozenset()
        wanted = _handles(batch) - self._doomed - self._pausing
        if self._standing is None and not wanted & self._slots.urgent.keys():
            self._stand(batch)
            return None
        if not wanted:
            self._drop(batch)
            return self._nothing(beside=True)
        self._in_flight = True
        between = self.swapping.batch(list(batch.rows), self.signal, stoppable=False)
        return dataclasses.replace(between, beside=batch.beside, resumes=True)

    def _nothing(self, *, beside: bool) -> Batch:
        """A step that computes nothing: whoever was cancelled is told before the next pass begins."""
        self._in_flight = True
        return dataclasses.replace(self.swapping.batch([], self.signal, stoppable=False), beside=beside)

    def _let_loose(self) -> None:
        self._standing, self.held, self.admits = None, frozenset(), Priority.ROUTINE

    def _may_stand(self, one: Standing, *, begun: bool) -> bool:
        """Whether STAT may run now; at a limit it waits for the end of the pass."""
        if one.seconds >= self.config.frozen_seconds or (not begun and one.freezes >= self.config.freezes):
            one.capped = one.capped or self._waiting.count(Priority.STAT) > 0
            return False
        return True

    def _of_stat(self) -> list[Sequence]:
        """Short STAT in what stands still: trunks there that have found an urgent waiter, and who was promoted in it."""
        wanted = self.held - self._doomed - self._pausing
        return [self._by_handle[handle] for handle in wanted & self._slots.urgent.keys()]

    def _behind(self, sequence: Sequence) -> bool:
        """Whether one came after somebody of STAT who waits for what stands still."""
        own = self._of_stat() if self.held else []
        return bool(own) and sequence.queued_at > min(map(_came, own))

    def _resumed(self, one: Standing, between: Batch) -> Batch:
        """The pass once more, with what became free and what is to be copied meanwhile, but not what had been before."""
        stoppable = not self._of_stat()
        return dataclasses.replace(between, rows=one.batch.rows, signal=self.signal, stoppable=stoppable, resumes=True)

    def _stood(self, one: Standing, now: float) -> bool:
        """Count the time since the last step of STAT began, for clocks are set back at times; whether there was one."""
        if one.since is None:
            return False
        spent = max(0.0, now - one.since)
        one.seconds, one.since = one.seconds + spent, None
        self.frozen_seconds += spent
        return True

    def _go_on(self, one: Standing, now: float) -> None:
        """Nobody in it stands still any more, but for those who were sent away meanwhile."""
        for row in one.batch.rows:
            sequence = self._by_handle.get(row.handle)
            if sequence is not None and sequence.running:
                sequence.go_on(now)

    def _rows(self) -> list[Row]:
        return self._slots.deal(self.budget.now, self.held)

    def _next(self) -> Sequence | None:
        """As any; but nobody passes short STAT in what stands still."""
        found = super()._next()
        return None if found is None or self._behind(found) else found

    def _make_room(self) -> bool:
        """While a pass stands still, for STAT alone; where that takes blocks that are pinned, the pass is abandoned."""
        if self._standing is None:
            return super()._make_room()
        first = self._waiting.first()
        if first is None or first.priority is not Priority.STAT or self._behind(first):
            return False
        if super()._make_room():
            return True
        if self.running >= self.places or self._fits(first):
            return False
        if self._in_vain >= max(1, self.config.freezes):  # those below would never come further
            self._standing.capped = True
            return False
        pinned, self.held = self.held, frozenset()
        if not super()._make_room():
            self.held = pinned
            return False
        self._in_vain += 1
        self._abandon(self._standing, by=first.handle)
        return True

    def _abandon(self, one: Standing, by: int = 0) -> None:
        """The pass does not go on: its tokens do not count, and who was cancelled or put on hold in it goes now."""
        self._let_loose()
        self._drop(one.batch, by)
        self._take_back()

    def _drop(self, batch: Batch, by: int = 0) -> None:
        self.abandoned_passes += 1
        self.abandoned_tokens += batch.tokens
        for row in batch.rows:
            self.swapping.diary.tell(What.ABANDONED, row.handle, len(row.tokens), by)
        self._part_marked()

    def _note_capped(self, one: Standing) -> None:
        capped = itertools.takewhile(lambda sequence: sequence.priority is Priority.STAT, self._waiting) if one.capped else ()
        for sequence in capped:
            self.capped_starts += 1
            self.swapping.diary.tell(What.CAPPED, sequence.handle)

    def _take_back(self) -> None:
        """The slots that were lent: as many of the lower classes give way as are too many."""
        lower = sum(sequence.priority is not Priority.STAT for sequence in self._slots)
        excess = min(lower, self.running - self.config.slots)
        if excess > 0:
            stat = next(self._slots.of_stat(), None)
            leaving, cost = Leaving(self.pool), self.swapping.cost
            for sequence in victims(self._slots, slots=excess, blocks=0, leaving=leaving, cost=cost):
                self.swapping.diary.tell(What.SENT_AWAY, sequence.handle, by=stat.handle if stat else 0)
                self._evict(sequence)
