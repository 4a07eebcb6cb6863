"""A scheduler without a model: every decision is taken as in life, and nothing is computed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from engine import BlockPool, EngineConfig, Priority
from engine.batch import Batch, ExtraOutput, Row, RowOutput
from engine.freezing import FreezingScheduler
from engine.limits import Limits
from engine.static import StaticScheduler

if TYPE_CHECKING:
    from engine.request import Request

_TOKEN = 4
_VOCABULARY = 16


class Stub:
    """Scheduler and pool, and outputs that look as a model's would."""

    def __init__(self, config: EngineConfig) -> None:
        kind = StaticScheduler if config.mode == "static" else FreezingScheduler
        self.pool = BlockPool(config.blocks)
        self.scheduler = kind(config, self.pool, Limits(_VOCABULARY, 1 << 23), lambda: 0.0)

    def add(self, requests: Sequence[Request]) -> None:
        """Queue requests under handles from 0 on."""
        for handle, request in enumerate(requests):
            self.scheduler.add(handle, request, Priority.ROUTINE, 0.0)

    def step(self) -> Batch:
        """One step."""
        batch = self.scheduler.schedule(0.0)
        self.scheduler.postprocess(batch, outputs(batch))
        return batch

    def run(self, requests: Sequence[Request], each: Callable[[Batch], None]) -> None:
        """All requests to the end; `each` sees every batch."""
        self.add(requests)
        while self.scheduler.has_work:
            each(self.step())

    def timed_step(self) -> tuple[float, float, Batch]:
        """Seconds of processor time of `schedule`, and of `schedule` with `postprocess`; and the batch."""
        begun = time.thread_time()
        batch = self.scheduler.schedule(0.0)
        scheduled = time.thread_time() - begun
        answers = outputs(batch)
        begun = time.thread_time()
        self.scheduler.postprocess(batch, answers)
        return scheduled, scheduled + time.thread_time() - begun, batch


def outputs(batch: Batch) -> list[RowOutput]:
    """Zeros of the right lengths."""
    return [_output(row) for row in batch.rows]


def _output(row: Row) -> RowOutput:
    drawn = _TOKEN if row.draw is not None else None
    extra = row.extra
    if extra is None:
        return RowOutput((0.0,) * (len(row.targets) + (row.draw is not None)), drawn)
    lines = len(row.tokens) - extra.ids_from if extra.ids is not None else 0
    answers = ExtraOutput(
        lead=(0.0,) * len(extra.lead),
        forks=(0.0,) * len(extra.forks),
        ids=(0.0,) * (lines * (len(extra.ids or ()) or _VOCABULARY)),
        pooled=extra.pooled,
    )
    return RowOutput((0.0,) * (len(row.targets) + (row.draw is not None)), drawn, extra=answers)
