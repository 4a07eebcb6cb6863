"""Who waits, and who is next: strictly by class, within a class by arrival, with a bound on how often one may be passed over."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import islice

from engine.request import Priority
from engine.sequence import Sequence

SIGHT = 8  # how far behind one that does not fit another is looked for, so that choosing costs the same however long the queue is
PATIENCE = 64  # times one may be passed over; after that blocks gather until it fits

Queue = OrderedDict[int, Sequence]


class Waiting:
    """Two queues a class: branches that have left their trunk, which hold blocks already, and everybody else."""

    def __init__(self) -> None:
        self._queues: list[tuple[Queue, Queue]] = [(OrderedDict(), OrderedDict()) for _ in Priority]

    def __len__(self) -> int:
        return sum(len(forked) + len(others) for forked, others in self._queues)

    def __iter__(self) -> Iterator[Sequence]:
        for queues in self._queues:
            for queue in queues:
                yield from queue.values()

    def append(self, sequence: Sequence, *, first: bool = False) -> None:
        """Wait at the end of the class, or at its head for one that had run already."""
        holds = sequence.computed > 0
        queue = self._queues[sequence.priority][0 if holds else 1]
        queue[sequence.handle] = sequence
        sequence.place = queue
        if first:
            queue.move_to_end(sequence.handle, last=False)

    def count(self, priority: Priority) -> int:
        """How many of a class wait."""
        return sum(map(len, self._queues[priority]))

    def first(self) -> Sequence | None:
        """The first of the most urgent class."""
        return next(iter(self), None)

    def holding(self, above: Priority) -> list[Sequence]:
        """Branches of the classes below one, in order."""
        return [sequence for forked, _ in self._queues[above + 1 :] for sequence in forked.values()]

    def choose(self, fits: Callable[[Sequence], bool], lowest: Priority = Priority.ROUTINE) -> Sequence | None:
        """The next to start of the classes down to `lowest`, or None. Nobody of a lower class passes one that waits, but for
        branches: they hold blocks, and give them back by running.
        """
        closed = False
        for forked, others in self._queues[: lowest + 1]:
            for sequence in islice(forked.values(), SIGHT):
                if fits(sequence):
                    return sequence
            if closed:
                continue
            for sequence in islice(others.values(), SIGHT):
                if fits(sequence):
                    return sequence
                if sequence.passed >= PATIENCE:
                    break
            closed = bool(others)
        return None

    def start(self, sequence: Sequence) -> None:
        """Take out one that starts; those before it in its queue have been passed over once more."""
        for other in islice(sequence.place.values() if sequence.place else (), SIGHT):
            if other is sequence:
                break
            other.passed += 1
        self.take(sequence)

    def take(self, sequence: Sequence) -> None:
        """Take out one that waits; nothing happens for others."""
        for queue in self._queues[sequence.priority]:
            if sequence.place is queue:
                del queue[sequence.handle]
                sequence.place = None
