"""What can be asked of a scheduler at any time, from any thread, without changing anything."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from engine.batch import Signal
from engine.blocks import BlockPool
from engine.budget import Budget
from engine.config import EngineConfig
from engine.dues import Dues
from engine.errors import BlockAccounting
from engine.forecast import Pending, Room
from engine.ledger import Ledger
from engine.prefix import PrefixCache
from engine.request import Interruption, Outcome, Priority
from engine.sequence import Sequence, branch_of, reach
from engine.slots import Slots
from engine.swapping import Swapping
from engine.trunks import Trunk, Trunks
from engine.waiting import Waiting


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where a request that has not ended is; for one that waits at a trunk, where the trunk is. Times as on outcomes."""

    state: Literal["waiting", "running", "paused", "held"]  # paused: it had begun, and stands still for more urgent work
    started_at: float | None
    interruptions: tuple[Interruption, ...]


class Observed:
    """The figures of a scheduler; it owns everything named here."""

    config: EngineConfig
    pool: BlockPool
    ledger: Ledger
    cache: PrefixCache
    budget: Budget
    signal: Signal
    swapping: Swapping
    held: frozenset[int] = frozenset()  # handles whose rows stand still between two layers
    admits = Priority.ROUTINE  # the lowest class that may start as long as no blocks drain for STAT
    freezes = capped_starts = abandoned_passes = abandoned_tokens = 0
    frozen_seconds = 0.0
    steps = tokens = idle_slot_steps = 0
    trunk_tokens = recomputed_tokens = reused_tokens = evictions = pauses = 0
    trunks: Trunks
    dues: Dues
    _kept_slots = 0  # that the classes below STAT leave free
    _waiting: Waiting
    _slots: Slots
    _by_handle: dict[int, Sequence]
    _resting: dict[int, Sequence]  # on hold
    _settled: deque[Outcome]

    @property
    def running(self) -> int:
        """Sequences that hold a slot."""
        return self._slots.used

    @property
    def places(self) -> int:
        """Slots that there are now."""
        return self.config.slots

    @property
    def stoppable(self) -> bool:
        """Whether the pass that begins now may be stopped between two layers."""
        return False

    @property
    def steerable(self) -> bool:
        """Whether a pass may be stopped for what somebody changes about requests on their way."""
        return False

    @property
    def making_way(self) -> bool:
        """Whether blocks drain for a STAT request: nothing else is done before it has them."""
        return self.pool.draining > 0 and self._waiting.count(Priority.STAT) > 0

    @property
    def lowest(self) -> Priority:
        """The lowest class that may start now."""
        return Priority.STAT if self.making_way else self.admits

    @property
    def waiting(self) -> int:
        """Sequences that hold none: queued, or waiting at a trunk."""
        return len(self._by_handle) - self.running - len(self._resting)

    @property
    def on_hold(self) -> int:
        """Sequences that rest until they are released."""
        return len(self._resting)

    @property
    def waiting_by_class(self) -> list[int]:
        """Sequences in the queues of each class, without those that wait at a trunk."""
        return [self._waiting.count(priority) for priority in Priority]

    @property
    def kv_tokens(self) -> int:
        """Positions whose keys and values running sequences hold; those of a shared block count for each."""
        return sum(sequence.computed - sequence.first * self.config.block_size for sequence in self._slots)

    @property
    def has_work(self) -> bool:
        """Whether another step would compute or report something."""
        return len(self._by_handle) > len(self._resting) or bool(self._settled)

    @property
    def most_urgent(self) -> Priority:
        """The class of the most urgent work that is here; routine where there is none."""
        found = (priority for priority in Priority if self._waiting.count(priority) or self._slots.count(priority))
        return next(found, Priority.ROUTINE)

    def tables(self) -> Iterator[list[int]]:
        """The block tables in use, for `BlockPool.check`."""
        return (sequence.tables for sequence in self._by_handle.values())

    def runs(self, handle: int) -> bool:
        """Whether a request in work holds a slot."""
        return self._by_handle[handle].running

    def trunk_of(self, handle: int) -> int | None:
        """The handle of the trunk at which a request waits."""
        sequence = self._by_handle.get(handle)
        trunk = None if sequence is None else self.trunks.waited_for(sequence)
        return None if trunk is None else trunk.handle

    def described(self, handle: int) -> tuple[int, bool]:
        """The class of a sequence in work, and whether it is an alternate of a window."""
        sequence = self._by_handle[handle]
        return sequence.priority, branch_of(sequence) is not None

    def progress(self, handle: int) -> tuple[int, int] | None:
        """Positions computed and wanted for a request that has not ended; for one that waits at a trunk those of the trunk."""
        sequence = self._by_handle.get(handle)
        if sequence is None:
            return None
        found = self.trunks.waited_for(sequence) or sequence
        outside = found.swapped
        return min(found.computed if outside is None else outside.computed, sequence.need), sequence.need

    def whereabouts(self, handle: int) -> Whereabouts | None:
        """Where a request is; None for one that has ended or is not known."""
        sequence = self._by_handle.get(handle)
        if sequence is None:
            return None
        if handle in self._resting:
            return Whereabouts("held", sequence.started_at, sequence.interruptions)
        trunk = self.trunks.waited_for(sequence)
        leads, found = trunk or sequence, sequence.interruptions + (trunk.interruptions if trunk else ())
        paused = bool(found) and found[-1].until is None
        return Whereabouts("paused" if paused else "running" if leads.running else "waiting", leads.started_at, found)

    def check(self) -> None:
        """Raise BlockAccounting unless blocks, references, promises and what lies outside agree, and everybody is somewhere."""
        self.pool.check(self.tables())
        self.swapping.check(self._by_handle.values())
        if not self.ledger.check():
            raise BlockAccounting(f"{self.ledger.promised} blocks are promised and {self.pool.available} are there")
        if self.ledger.promised != (one_by_one := self.ledger.owed(self._by_handle.values())):
            raise BlockAccounting(f"{self.ledger.promised} blocks are promised in all and {one_by_one} one by one")
        lost = [one.handle for one in self._by_handle.values() if not self._is_somewhere(one)]
        if lost:
            raise BlockAccounting(f"requests {lost[:8]} are open and would never be called")

    def _is_somewhere(self, one: Sequence) -> bool:
        """Whether it runs or waits for something that calls it; who rests is called by whoever put it on hold."""
        if one.place is None:
            return not one.running and ((one.handle in self._resting) is not self.swapping.reads(one))
        return one.place.get(one.handle) is one

    @property
    def room(self) -> Room:
        """What limits those who run, now."""
        config, spare = self.config, max(0, self.ledger.spare - self.ledger.reserve)
        slots, budget = config.slots - self._kept_slots, self.budget.now
        return Room(slots, spare, budget, config.stat_share, config.long_share, config.grid)

    @property
    def has_below(self) -> bool:
        """Whether anybody below STAT holds a slot."""
        return self._slots.has_below

    def pending(self) -> list[Pending]:
        """Everybody who has not ended and is not on hold, those who wait in the order in which they would start."""
        place = {sequence.handle: place for place, sequence in enumerate(self._waiting.everybody(), 1)}
        open_ = [one for one in tuple(self._by_handle.values()) if one.handle not in self._resting]
        return [self._pending(one) for one in sorted(open_, key=lambda one: place.get(one.handle, 0))]

    def _pending(self, one: Sequence) -> Pending:
        """Of a generation every token up to its limit is to come."""
        trunk = self.trunks.waited_for(one)
        computed = one.computed if one.swapped is None else one.swapped.computed
        computed = computed if trunk is None else reach(one)
        prompt, draws = max(0, one.target - computed), max(0, one.need - max(one.target, computed))
        if isinstance(one, Trunk):
            draws = 0
        elif prompt == 1:
            prompt, draws = 0, draws + 1
        wanted = self.ledger.wanted(one)
        return Pending(
            one.handle, one.priority, prompt, draws, *self._slots.expected(one, computed + prompt // 2),
            blocks=0 if one.running else max(0, wanted - one.promise), back=len(one.blocks) + wanted,
            started_at=one.started_at, running=one.running, trunk=None if trunk is None else trunk.handle,
        )  # fmt: skip
