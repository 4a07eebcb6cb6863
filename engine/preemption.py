"""Whom a waiting STAT request sends away: lower classes only, just enough, the cheapest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from engine.blocks import BlockPool
from engine.request import Priority
from engine.sequence import Sequence


class Leaving:
    """Blocks to spare when several sequences leave together: what they share comes free with the last of them.

    `found` are blocks that whoever they make room for would take up anyway: it gains nothing when they come free.
    """

    def __init__(self, pool: BlockPool, found: Iterable[int] = ()) -> None:
        self._pool, self._found = pool, frozenset(found)
        self._blocks: Counter[int] = Counter()
        self._members: Counter[int] = Counter()  # of reserves, by identity

    def add(self, sequence: Sequence) -> int:
        """One more leaves; blocks that come free with it."""
        reserve, freed = sequence.reserve, sequence.promise - sequence.reserved
        for block in sequence.tables:
            self._blocks[block] += 1
            freed += self._last(block)
        if reserve is not None:
            self._members[id(reserve)] += 1
            freed += reserve.size * (self._members[id(reserve)] == reserve.members)
        return freed

    def remove(self, sequence: Sequence) -> int:
        """One stays after all; blocks that do not come free without it."""
        reserve, kept = sequence.reserve, sequence.promise - sequence.reserved
        for block in sequence.tables:
            kept += self._last(block)
            self._blocks[block] -= 1
        if reserve is not None:
            kept += reserve.size * (self._members[id(reserve)] == reserve.members)
            self._members[id(reserve)] -= 1
        return kept

    def _last(self, block: int) -> bool:
        return self._blocks[block] == self._pool.references(block) and block not in self._found


def victims(
    candidates: Iterable[Sequence], *, slots: int, blocks: int, leaving: Leaving, cost: Callable[[Sequence], float]
) -> list[Sequence]:
    """Sequences of lower classes whose leaving gives `slots` slots and `blocks` blocks; none when all together would not be enough.

    The lowest class goes first, and in it who costs least to send away and have back.
    """
    costs = [(sequence, cost(sequence)) for sequence in candidates if sequence.priority is not Priority.STAT]
    costs.sort(key=lambda one: (-one[0].priority, one[1], one[0].computed))
    lower = [sequence for sequence, _ in costs]
    chosen: list[Sequence] = []
    for sequence in lower:
        if slots <= 0 and blocks <= 0:
            break
        chosen.append(sequence)
        slots -= sequence.running
        blocks -= leaving.add(sequence)
    if slots > 0 or blocks > 0:
        return []
    for sequence in sorted(chosen, key=lambda one: (one.priority, -cost(one), -one.computed)):  # who turned out needless stays
        holds_slot, kept = sequence.running, leaving.remove(sequence)
        if slots + holds_slot <= 0 and blocks + kept <= 0:
            chosen.remove(sequence)
            slots += holds_slot
            blocks += kept
        else:
            leaving.add(sequence)
    return chosen
