"""Who starts, and who has to leave for it: strict order of class, then arrival; only a waiting STAT request sends others away."""

from __future__ import annotations

import math

from engine.happening import What
from engine.observed import Observed
from engine.preemption import Leaving, victims
from engine.request import Priority
from engine.sequence import Sequence


class Admission(Observed):
    """The decisions. How one starts, gives way or enters anew is the scheduler's."""

    _now = -math.inf  # of the present decision
    bounces = 0

    def _next(self) -> Sequence | None:
        """Who starts next if it may now; after `_admit` there is nobody, and if there were it would be counted as a fault."""
        ledger, running, now = self.ledger, self.running, self._now
        free = self.places - running
        ledger.busy = running > 0
        ledger.gathers, ledger.gathers_as = self._waiting.gathering(now)
        if free <= 0 or not self._waiting:
            return None
        lowest = self.lowest if free > self._kept_slots else Priority.STAT
        return self._waiting.choose(self._fits, lowest, now)

    def _fits(self, sequence: Sequence) -> bool:
        if sequence.swapped is not None and self.cache.drains(sequence.swapped.keys):
            return False  # with the next step it finds again what it shares
        lacking = self.ledger.lacking(sequence)
        return lacking <= 0 or self.ledger.reserved(sequence) or lacking <= len(self.cache.held(sequence, self.ledger))

    def _admit(self, now: float) -> None:
        while (sequence := self._next()) is not None or self._make_room():
            if sequence is not None:
                self._start(sequence, now)

    def _make_room(self) -> bool:
        """Send away just enough lower work for a STAT that waits; that failing, lower branches that wait give up what they hold."""
        first = self._waiting.first()
        if first is None:
            return False
        stat, found = first.priority is Priority.STAT, self.cache.held(first, self.ledger)
        slots, blocks = 1 + self.running - self.places, self.ledger.lacking(first) - len(found) - self.pool.draining
        who, cost = self._slots.but(self.held), self.swapping.cost
        chosen = victims(who, slots=slots, blocks=blocks, leaving=Leaving(self.pool, found), cost=cost) if stat else []
        for sequence in chosen:
            self.swapping.diary.tell(What.SENT_AWAY, sequence.handle, by=first.handle)
            self._evict(sequence)
        return bool(chosen) or (blocks > 0 and (slots <= 0 or stat) and self._let_go(first))

    def _let_go(self, first: Sequence) -> bool:
        above, by = first.priority, first.handle if first.priority is Priority.STAT else 0
        idle = [one for one in self._waiting.holding(above) if above is Priority.STAT or self.trunks.dispensable(one)]
        for sequence in idle:
            self._waiting.take(sequence)
            if sequence.started_at is None:
                self.trunks.give_up(sequence)
                self._enter(sequence)
            else:
                self.swapping.diary.tell(What.SENT_AWAY, sequence.handle, by=by)
                self._evict(sequence)
        return bool(idle)

    def _sent_away(self, sequence: Sequence) -> None:
        """Count it; one that came back in vain, and got no further than it had been, has bounced."""
        self.evictions += 1
        self.bounces += sequence.evicted > 0 and sequence.computed <= sequence.furthest
        sequence.evicted += 1
        sequence.furthest = max(sequence.furthest, sequence.computed)

    def _start(self, sequence: Sequence, now: float) -> None:
        raise NotImplementedError

    def _evict(self, sequence: Sequence) -> None:
        raise NotImplementedError

    def _enter(self, sequence: Sequence) -> None:
        raise NotImplementedError
