"""Static batching, the baseline: the same rows through the same runner, scheduled the old way.

A batch is taken whole, prompts are padded to its longest, every row is computed until the longest ends, and only then may
others enter. Result bits equal those of continuous batching; only the time differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from engine.batch import Batch, Row, RowOutput
from engine.request import Generate
from engine.scheduler import Scheduler, Sequence

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

    def _admit(self, now: float) -> None:
        if self.running:
            return
        group: list[Sequence] = []
        for queue in self._waiting.values():
            group.extend(list(queue.values())[: self.config.slots - len(group)])
        while len(group) > 1 and len(group) * self._blocks_for(self._positions(group)) > self.pool.free:
            group.pop()
        self._padded, self._common = max(map(self._prompt, group), default=0), 0
        for sequence in group:
            self._start(sequence, self._positions(group), now)

    @staticmethod
    def _prompt(sequence: Sequence) -> int:
        return sequence.target

    def _positions(self, group: list[Sequence]) -> int:
        """Blocks are reserved for the longest prompt and the highest limit: the true lengths are unknown to this scheduler."""
        limits = (sequence.request.limit - 1 for sequence in group if isinstance(sequence.request, Generate))
        return max(map(self._prompt, group)) + max(limits, default=0)

    def _admissible(self) -> bool:
        return not self.running and self._next_waiting() is not None

    def _rows(self) -> Iterator[Row]:
        rows = [sequence for group in self._running.values() for sequence in group.values()]
        if self._common < self._padded:
            width = max(1, min(self.config.chunk, self.config.token_budget // len(rows)))
            end = min(self._padded, self._common + width)
            yield from (self._padded_row(sequence, end) for sequence in rows)
        else:
            yield from (self._next_row(sequence) for sequence in rows)

    def _padded_row(self, sequence: Sequence, end: int) -> Row:
        """The sequence's own part of the common chunk, then padding, which is computed and thrown away."""
        stop = min(end, sequence.target if sequence.drawn == 0 else sequence.computed)
        if stop <= self._common:
            return Row(sequence.handle, self._common, (_PAD,) * (end - self._common), sequence.blocks)
        own = sequence.row(stop)
        return replace(own, tokens=own.tokens + (_PAD,) * (end - stop))

    def _next_row(self, sequence: Sequence) -> Row:
        """The next token, or for a sequence that is done its last position once more."""
        if sequence.handle not in self._complete:
            return sequence.row(sequence.target)
        last = sequence.computed - 1
        return Row(sequence.handle, last, (sequence.tokens[last],), sequence.blocks)

    def _finish(self, sequence: Sequence) -> None:
        self._complete |= {sequence.handle}
