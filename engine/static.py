"""Static batching, the baseline: the same rows through the same runner, scheduled the old way.

A batch is taken whole, prompts are padded to its longest, every row is computed until the longest ends, and only then may
others enter. Result bits equal those of continuous batching; only the time differs. Nothing is shared and nobody gives way.
"""

from __future__ import annotations

from dataclasses import replace

from engine.batch import Batch, Row, RowOutput
from engine.request import Generate
from engine.scheduler import Scheduler
from engine.sequence import Sequence

_PAD = 0  # any valid id: what it computes is thrown away


class StaticScheduler(Scheduler):
    """A scheduler whose batch admits nobody until its last member has ended."""

    _padded = 0  # positions to which the prompts of the batch are padded
    _common = 0  # positions of the padded prompts that have been computed
    _complete: frozenset[int] = frozenset()  # handles that are done and wait for the others

    def _count(self, batch: Batch, outputs: list[RowOutput]) -> None:
        """As continuous, but results leave together, when the last row of the batch is done."""
        self._common += max((len(row.tokens) for row in batch.rows), default=0)
        super()._count(batch, outputs)
        self._complete &= self._by_handle.keys()
        if len(self._complete) == self.running:
            for handle in sorted(self._complete):
                self._settle(self._by_handle[handle], "finished")

    def hold(self, handle: int) -> bool:
        """Only who waits: a batch keeps its members."""
        sequence = self._open(handle)
        return sequence is not None and not sequence.running and super().hold(handle)

    def _admit(self, now: float) -> None:
        if self.running:
            return
        group = list(self._waiting)[: self.config.slots]
        while len(group) > 1 and len(group) * self._blocks(group) > self.pool.available:
            group.pop()
        self._padded, self._common = max((sequence.target for sequence in group), default=0), 0
        positions = self._positions(group) if group else 0
        for sequence in group:  # the blocks of the longest, at once: the true lengths are unknown to this scheduler
            sequence.need, sequence.shareable = positions, 0  # the baseline computes every token of every request
            self._start(sequence, now)
            self.ledger.grow(sequence, positions)

    @staticmethod
    def _positions(group: list[Sequence]) -> int:
        """The longest prompt and the highest limit."""
        limits = (sequence.request.limit - 1 for sequence in group if isinstance(sequence.request, Generate))
        return max(sequence.target for sequence in group) + max(limits, default=0)

    def _blocks(self, group: list[Sequence]) -> int:
        return self.ledger.blocks_for(self._positions(group))

    def _next(self) -> Sequence | None:
        return None if self.running else next(iter(self._waiting), None)

    def _rows(self) -> list[Row]:
        rows = list(self._slots)
        if self._common < self._padded:
            width = max(1, min(self.config.chunk, self.budget.now // len(rows)))
            end = min(self._padded, self._common + width)
            return [self._padded_row(sequence, end) for sequence in rows]
        return [self._next_row(sequence) for sequence in rows]

    def _padded_row(self, sequence: Sequence, end: int) -> Row:
        """The sequence's own part of the common chunk, then padding, which is computed and thrown away."""
        drawn = isinstance(sequence.request, Generate) and sequence.target > len(sequence.request.prompt)
        stop = min(end, sequence.computed if drawn else sequence.target)
        if stop <= self._common:
            return Row(sequence.handle, self._common, [_PAD] * (end - self._common), sequence.blocks)
        own = sequence.row(stop)
        return replace(own, tokens=[*own.tokens, *[_PAD] * (end - stop)])

    def _next_row(self, sequence: Sequence) -> Row:
        """The next token, or for a sequence that is done its last position once more."""
        if sequence.handle not in self._complete:
            return sequence.row(sequence.target)
        last = sequence.computed - 1
        return Row(sequence.handle, last, (sequence.tokens[last],), sequence.blocks)

    def _finish(self, sequence: Sequence) -> None:
        self._complete |= {sequence.handle}
