"""A scheduler whose passes are stopped after every layer in every second step, with a STAT request that comes each time."""

from __future__ import annotations

from engine.batch import Batch, RowOutput
from engine.freezing import FreezingScheduler
from engine.request import Generate, Outcome, Priority, Score

FIRST = 10**6  # handle of the first STAT request that comes by itself
_MOST = 12  # of them; then passes are still stopped, and go on at once


class Forced(FreezingScheduler):
    """Stubs, which know no layers, are made to compute such a pass twice."""

    _steps = disturbed = 0

    def schedule(self, now: float) -> Batch:
        if self._standing is None:
            self._steps += 1
        self.signal.raised = self._steps % 2 == 1
        return super().schedule(now)

    def postprocess(self, batch: Batch, outputs: list[RowOutput] | None) -> list[Outcome]:
        if batch.stoppable and not batch.resumes and batch.rows and self.signal.raised:
            outputs = None
        found = super().postprocess(batch, outputs)
        if outputs is None and self.disturbed < _MOST:
            length = 2 + 5 * self.disturbed % 37
            tokens = tuple(index % 11 for index in range(length))
            self.add(FIRST + self.disturbed, Score(tokens) if length % 2 else Generate(tokens, 3), Priority.STAT, 0.0)
            self.disturbed += 1
        return [outcome for outcome in found if outcome.handle < FIRST]
