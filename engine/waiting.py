"""Who waits, and who is next: by class, within STAT by due time, and then by arrival, with bounds on how often one may be passed
over by its own class or those below, and on how long the class above goes before it.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import chain, islice

from engine.config import EngineConfig
from engine.request import Priority
from engine.sequence import Sequence

SIGHT = 8  # how far behind one that does not fit another is looked for, so that choosing costs the same however long the queue is

Queue = OrderedDict[int, Sequence]


def _sort_in(queue: Queue, sequence: Sequence, *, first: bool) -> None:
    """Behind those who are due earlier, and as early unless it is the `first` of these. Who comes later is seldom due earlier, and
    stays at the end.
    """
    queue.move_to_end(sequence.handle)
    later: list[int] = []
    for other in islice(reversed(queue.values()), 1, None):
        if other.due < sequence.due or (other.due == sequence.due and not first):
            break
        later.append(other.handle)
    for handle in reversed(later):
        queue.move_to_end(handle)


class Waiting:
    """Three queues a class: who stands aside, branches that have left their trunk, and everybody else. The first two hold blocks
    already, and a branch can go on when those who stand aside cannot: they must not hide it from sight.
    """

    def __init__(self, config: EngineConfig) -> None:
        self._patience, self._ageing, self._every = config.patience, config.ageing_seconds, config.ageing_every
        self._impatient: dict[int, Sequence] = {}  # have been passed over as often as they may
        self._since_aged = [0] * len(Priority)  # starts of a class since one that aged had its turn in it
        self._queues: list[tuple[Queue, Queue, Queue]] = [(OrderedDict(), OrderedDict(), OrderedDict()) for _ in Priority]
        self._all = tuple(chain.from_iterable(self._queues))  # in order

    def __len__(self) -> int:
        return sum(map(len, self._all))

    def __bool__(self) -> bool:
        return any(self._all)

    def __iter__(self) -> Iterator[Sequence]:
        for queue in self._all:
            yield from queue.values()

    def everybody(self) -> list[Sequence]:
        """All in order; any thread may ask."""
        return [sequence for queue in self._all for sequence in tuple(queue.values())]

    def append(self, sequence: Sequence, *, first: bool = False) -> None:
        """Wait at the end of the class, or at its head for one that had run already; of STAT, among those who are due as early."""
        aside, forked, others = self._queues[sequence.priority]
        queue = others if sequence.computed == 0 else forked if sequence.started_at is None else aside
        queue[sequence.handle] = sequence
        sequence.place = queue
        if sequence.passed >= self._patience and queue is others:
            self._impatient[sequence.handle] = sequence
        if sequence.priority is Priority.STAT:
            _sort_in(queue, sequence, first=first)
        elif first:
            queue.move_to_end(sequence.handle, last=False)

    def count(self, priority: Priority) -> int:
        """How many of a class wait."""
        return sum(map(len, self._queues[priority]))

    def first(self) -> Sequence | None:
        """The first of the most urgent class."""
        return next(iter(self)) if self else None

    def of_stat(self) -> Iterator[Sequence]:
        """The first few of STAT, in order."""
        return islice(chain.from_iterable(queue.values() for queue in self._queues[Priority.STAT]), SIGHT)

    def holding(self, above: Priority) -> list[Sequence]:
        """Of the classes below one, who stands aside and branches, in order."""
        return [sequence for *held, _ in self._queues[above + 1 :] for queue in held for sequence in queue.values()]

    def choose(
        self, fits: Callable[[Sequence], bool], lowest: Priority = Priority.ROUTINE, now: float = -math.inf
    ) -> Sequence | None:
        """The next to start of the classes down to `lowest`, or None. Nobody of a lower class passes one that waits, but for those
        who hold blocks: they give them back by running; and but for one that aged, when it is its turn. Who gathers goes first in
        the class it counts as.
        """
        closed, (gathers, rank) = False, self.gathering(now)
        for priority, (aside, forked, others) in enumerate(self._queues[: lowest + 1]):
            for sequence in chain(islice(aside.values(), SIGHT), islice(forked.values(), SIGHT)):
                if fits(sequence):
                    return sequence
            if closed:
                continue
            if gathers is not None and rank <= priority <= gathers.priority and fits(gathers):
                return gathers
            if not others:
                continue
            aged = self._aged(priority, now)
            if aged is not None and fits(aged):
                return aged
            for sequence in islice(others.values(), SIGHT):
                if fits(sequence):
                    return sequence
                if sequence.passed >= self._patience:
                    break
            closed = True
        return None

    def rank(self, sequence: Sequence, now: float) -> Priority:
        """The class it counts as when it is let in: the one above its own when it has waited long, but never STAT."""
        aged = sequence.priority > Priority.ASAP and now - sequence.queued_at >= self._ageing
        return Priority(sequence.priority - aged)

    def gathering(self, now: float) -> tuple[Sequence | None, Priority]:
        """Who has been passed over too often, and the class it counts as: the most urgent, and of those who has been so longest."""
        if not self._impatient:
            return None, Priority.ROUTINE
        first = min(self._impatient.values(), key=lambda sequence: self.rank(sequence, now))
        return first, self.rank(first, now)

    def start(self, sequence: Sequence, now: float = -math.inf) -> None:
        """Take out one that starts; those before it in its queue, and one that aged, have been passed over once more."""
        queue, priority = sequence.place, sequence.priority
        for other in islice(queue.values() if queue else (), SIGHT):
            if other is sequence:
                break
            self._pass(other)
        if queue is self._queues[priority][2]:
            if (aged := self._head(priority + 1)) is not None and self.rank(aged, now) == priority:
                self._pass(aged)
            self._since_aged[priority] += 1
            if priority > Priority.ASAP and self._queues[priority - 1][2]:
                self._since_aged[priority - 1] = 0
        self.take(sequence)
        sequence.passed = 0

    def take(self, sequence: Sequence) -> None:
        """Take out one that waits; nothing happens for others."""
        for queue in self._queues[sequence.priority]:
            if sequence.place is queue:
                del queue[sequence.handle]
                sequence.place = None
                self._impatient.pop(sequence.handle, None)

    def _pass(self, sequence: Sequence) -> None:
        sequence.passed += 1
        if sequence.passed >= self._patience and sequence.computed == 0:  # who holds blocks waits for none
            self._impatient[sequence.handle] = sequence

    def _head(self, priority: int) -> Sequence | None:
        return next(iter(self._queues[priority][2].values()), None) if priority < len(self._queues) else None

    def _aged(self, priority: int, now: float) -> Sequence | None:
        """The first of the class below, when it has waited long enough and enough of this class have started meanwhile."""
        if priority == Priority.STAT or self._since_aged[priority] < self._every - 1:
            return None
        head = self._head(priority + 1)
        return head if head is not None and self.rank(head, now) == priority else None
