"""One deployment, one pool, one step at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from engine.batch import Batch, RowOutput
from engine.fingerprint import Deployment
from engine.request import Outcome, Priority, Request
from engine.scheduler import Scheduler
from engine.tokenizer import CharacterTokenizer


class Runs(Protocol):
    """What the engine asks of a runner."""

    def run(self, batch: Batch) -> list[RowOutput]:
        """Compute every row; an output per row, in order."""
        ...


class Engine:
    """Not thread-safe: `EngineLoop` owns it. `clock` gives seconds since 1970."""

    def __init__(
        self,
        scheduler: Scheduler,
        runner: Runs,
        deployment: Deployment,
        tokenizer: CharacterTokenizer,
        *,
        batch_invariant: bool,
        golden: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.scheduler, self.runner, self.deployment, self.tokenizer = scheduler, runner, deployment, tokenizer
        self.batch_invariant, self.golden, self.clock = batch_invariant, golden, clock
        self.fingerprint = deployment.fingerprint

    @property
    def context(self) -> int:
        """Positions the model was made for; a score of n tokens occupies n - 1."""
        return self.scheduler.limits.context

    def submit(self, handle: int, request: Request, priority: Priority, queued_at: float | None = None) -> None:
        """Queue a request under a handle of the caller's, as of `queued_at` or now; a refusal is the next step's outcome."""
        self.scheduler.add(handle, request, priority, self.clock() if queued_at is None else queued_at)

    def cancel(self, handle: int) -> bool:
        """Cancel in any state; False when the handle is unknown or already settled."""
        return self.scheduler.cancel(handle)

    def step(self) -> list[Outcome]:
        """Schedule, run, postprocess; the outcomes that this step settled."""
        batch = self.scheduler.schedule(self.clock())
        outputs = self.runner.run(batch)
        return self.scheduler.postprocess(batch, outputs)

    def stats(self) -> dict[str, float | int]:
        """Plain counters, for whoever exports them."""
        scheduler, pool = self.scheduler, self.scheduler.pool
        return {
            "running": scheduler.running,
            "waiting": scheduler.waiting,
            "steps": scheduler.steps,
            "tokens": scheduler.tokens,
            "idle_slot_steps": scheduler.idle_slot_steps,
            "blocks_used": pool.used,
            "blocks_total": pool.total,
        }
