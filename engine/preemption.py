"""Whom a waiting STAT request sends away: lower classes only, just enough, the cheapest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from engine.request import Priority
from engine.sequence import Sequence


def victims(candidates: Iterable[Sequence], *, slots: int, blocks: int, gain: Callable[[Sequence], int]) -> list[Sequence]:
    """Sequences of lower classes whose leaving gives `slots` slots and `blocks` blocks; none when all together would not be enough.

    `gain` says how many blocks come free when one leaves. The lowest class goes first, and in it who has least to compute again.
    """
    lower = [sequence for sequence in candidates if sequence.priority is not Priority.STAT]
    lower.sort(key=lambda sequence: (-sequence.priority, sequence.computed))
    chosen: list[Sequence] = []
    for sequence in lower:
        if slots <= 0 and blocks <= 0:
            break
        chosen.append(sequence)
        slots -= sequence.running
        blocks -= gain(sequence)
    if slots > 0 or blocks > 0:
        return []
    for sequence in sorted(chosen, key=lambda sequence: -sequence.computed):  # whoever a later choice made needless stays
        holds_slot = sequence.running
        if slots + holds_slot <= 0 and blocks + gain(sequence) <= 0:
            chosen.remove(sequence)
            slots += holds_slot
            blocks += gain(sequence)
    return chosen
