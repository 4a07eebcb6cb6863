"""Who waits, and who is next: strictly by class, within a class by arrival, with a bound on how often one may be passed over."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import chain, islice

from engine.request import Priority
from engine.sequence import Sequence

SIGHT = 8  # how far behind one that does not fit another is looked for, so that choosing costs the same however long the queue is
PATIENCE = 64  # times one may be passed over; after that blocks gather until it fits

Queue = OrderedDict[int, Sequence]


class Waiting:
    """Three queues a class: who stands aside, branches that have left their trunk, and everybody else. The first two hold blocks
    already, and a branch can go on when those who stand aside cannot: they must not hide it from sight.
    """

    def __init__(self) -> None:
        self._queues: list[tuple[Queue, Queue, Queue]] = [(OrderedDict(), OrderedDict(), OrderedDict()) for _ in Priority]

    def __len__(self) -> int:
        return sum(map(self.count, Priority))

    def __iter__(self) -> Iterator[Sequence]:
        for queues in self._queues:
            for queue in queues:
                yield from queue.values()

    def append(self, sequence: Sequence, *, first: bool = False) -> None:
        """Wait at the end of the class, or at its head for one that had run already."""
        aside, forked, others = self._queues[sequence.priority]
        queue = others if sequence.computed == 0 else forked if sequence.started_at is None else aside
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
        """Of the classes below one, who stands aside and branches, in order."""
        return [sequence for *held, _ in self._queues[above + 1 :] for queue in held for sequence in queue.values()]

    def choose(self, fits: Callable[[Sequence], bool], lowest: Priority = Priority.ROUTINE) -> Sequence | None:
        """The next to start of the classes down to `lowest`, or None. Nobody of a lower class passes one that waits, but for those
        who hold blocks: they give them back by running.
        """
        closed = False
        for aside, forked, others in self._queues[: lowest + 1]:
            for sequence in chain(islice(aside.values(), SIGHT), islice(forked.values(), SIGHT)):
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
