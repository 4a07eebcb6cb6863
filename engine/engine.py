"""One deployment, one pool, one step at a time."""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Callable
from typing import Protocol

from engine.batch import Batch, RowOutput
from engine.errors import EngineFailed
from engine.fingerprint import Deployment
from engine.forecast import Forecast, Rates, forecast, work
from engine.metrics import CLASSES, StartMeter, StepMeter, tokens_by_class
from engine.request import Outcome, Priority, Request
from engine.scheduler import Scheduler
from engine.swap.tier import FileTier
from engine.tokenizers.interface import Tokenizer
from engine.trace import Level, Part, Step, Times, Trace, marks

_STILL = 100  # steps that do nothing before the engine gives up
_LOOK_EVERY = 0.05  # seconds at most between two looks at files while nothing else can be done
_NAMED = 8  # requests that are named when a step is described


class Runs(Protocol):
    """What the engine asks of a runner."""

    def run(self, batch: Batch) -> list[RowOutput] | None:
        """Compute every row; an output per row, in order, or None for a pass that was stopped between two layers."""
        ...


class Engine:
    """Not thread-safe: `EngineLoop` owns it. `clock` gives seconds since 1970. A `trace` set here is written from then on."""

    def __init__(
        self,
        scheduler: Scheduler,
        runner: Runs,
        deployment: Deployment,
        tokenizer: Tokenizer,
        *,
        batch_invariant: bool,
        golden: str = "",
        clock: Callable[[], float] = time.time,
        files: FileTier | None = None,
    ) -> None:
        self._files = files
        self.scheduler, self.runner, self.deployment, self.tokenizer = scheduler, runner, deployment, tokenizer
        self.batch_invariant, self.golden, self.clock = batch_invariant, golden, clock
        self.fingerprint = deployment.fingerprint
        self._trace: Trace | None = None
        self._level: Level | None = None  # of the present step, where a trace is written
        self._meter, self._starts, self._rates = StepMeter(), StartMeter(), Rates()
        self._ended = time.perf_counter()  # when the last step did
        self._still = 0  # steps in succession that did nothing
        self._waits = False  # the last step did nothing, for a file is being read
        self._doing = ("nothing", Batch(()))

    @property
    def trace(self) -> Trace | None:
        """What is written from here on; None: nothing is, at no cost."""
        return self._trace

    @trace.setter
    def trace(self, trace: Trace | None) -> None:
        self._trace = trace
        self.scheduler.swapping.diary.listener = None if trace is None else trace.happened

    @property
    def context(self) -> int:
        """Positions the model was made for; a score of n tokens occupies n - 1."""
        return self.scheduler.limits.context

    def submit(
        self,
        handle: int,
        request: Request,
        priority: Priority,
        queued_at: float | None = None,
        layers: int | None = None,
        due: float = math.inf,
    ) -> None:
        """Queue a request under a handle of the caller's, as of `queued_at` or now; a refusal is the next step's outcome.
        ValueError for a handle below 0, or of a request that has not ended.

        `layers` is what `Engine.layers` said when it came. A STAT that would end after `due` makes lower work pause.
        """
        if self._trace is not None:
            self._trace.placed(handle, request, priority)
        self.scheduler.add(handle, request, priority, self.clock() if queued_at is None else queued_at, due)
        if self.scheduler.progress(handle) is not None:  # it was not refused
            self._rates.coming[priority].add(work(request))
        if priority == Priority.STAT:
            self._starts.placed(handle, self.layers if layers is None else layers)

    def cancel(self, handle: int) -> bool:
        """Cancel in any state; False when the handle is unknown or already settled."""
        return self.scheduler.cancel(handle)

    def reclass(self, handle: int, priority: Priority, layers: int | None = None, due: float | None = None) -> bool:
        """Promote or demote in any state, from the next decision on; False when the handle is unknown or already settled. `layers`
        is what `Engine.layers` said when it was asked for; `due` as for `submit`, None: as before.
        """
        known = self.scheduler.reclass(handle, priority, due)
        self._starts.dropped(handle)
        if known and priority == Priority.STAT and not self.scheduler.runs(handle):
            self._starts.placed(handle, self.layers if layers is None else layers)
        return known

    def hold(self, handle: int) -> bool:
        """Let it rest in any state: it keeps its results and gives up its slot, until it is released; False as for `cancel`."""
        self._starts.dropped(handle)
        return self.scheduler.hold(handle)

    def release(self, handle: int) -> bool:
        """Let one on hold go on; False when it is not on hold."""
        return self.scheduler.release(handle)

    def forecasts(self) -> dict[int, Forecast]:
        """When each open request will start and end, by handle; any thread may ask. Nothing before the first step, nor for who is
        on hold.
        """
        return forecast(self.scheduler.pending(), self._rates, self.scheduler.room, self.clock())

    def forecast(self, handle: int) -> Forecast | None:
        """As `forecasts`, for one, and as much work; None where there is none."""
        return self.forecasts().get(handle)

    @property
    def layers(self) -> int:
        """Layers computed so far; any thread may ask."""
        return self.scheduler.signal.layers

    def interrupt(self, *, steers: bool = False) -> None:
        """Let a pass that may stand still stop after its layer, so that what waits outside can be taken in; any thread. `steers`:
        requests on their way are to be changed, which any pass stops for.
        """
        self.scheduler.signal.raised = True
        if steers and self.scheduler.steerable:
            self.scheduler.signal.steered = True
        if self._files is not None:
            self._files.wake()

    def heard(self) -> None:
        """What waited outside is about to be taken in: no pass need stop for it."""
        self.scheduler.signal.raised = self.scheduler.signal.steered = False

    def step(self) -> list[Outcome]:
        """Schedule, run, postprocess; the outcomes that this step settled. It may end between two layers: the next goes on."""
        began, self._doing = time.perf_counter(), ("schedule", Batch(()))
        batch = self.scheduler.schedule(self.clock())
        numbers = marks(batch.rows, self.scheduler.described)
        first = self.layers
        self._starts.begin(batch.rows, first, self.scheduler.capped_starts, self.scheduler.trunk_of)
        self._level = None if self._trace is None else Level.of(self.scheduler)
        scheduled, self._doing = time.perf_counter(), ("run", batch)
        outputs = self.runner.run(batch)
        self._starts.computed(first, self.layers, numbers)
        ran, self._doing = time.perf_counter(), ("postprocess", batch)
        outcomes = self.scheduler.postprocess(batch, outputs)
        self._stood_still(batch, outcomes)
        self._note(batch, Times(began, scheduled, ran, time.perf_counter()), numbers, outputs, outcomes)
        return outcomes

    def _stood_still(self, batch: Batch, outcomes: list[Outcome]) -> None:
        """Steps that compute and settle nothing while work is open would go on for ever: an engine in that state says so, unless it
        waits for a file.
        """
        self._waits = self.scheduler.swapping.loading and not batch.rows and not outcomes
        self._still = 0 if batch.rows or outcomes or self._waits or not self.scheduler.has_work else self._still + 1
        if self._still >= _STILL:
            raise EngineFailed(
                f"{self.scheduler.waiting} requests wait and nothing was computed in {_STILL} steps: a fault of ours"
            )

    def forget_cached(self, since: float = -math.inf, until: float = math.inf) -> None:
        """Let no later request find what was computed between two times of `clock`, nor anything built on it: after a quarantine
        or a rollback nothing of it may be served.
        """
        self.scheduler.forget(since, until)

    def rest(self) -> None:
        """Where the last step could do nothing because a file is being read: wait for it, for `interrupt`, or a moment at most."""
        if self._waits and self._files is not None:
            self._files.wait(_LOOK_EVERY)

    def settle(self, timeout: float) -> None:
        """Wait until the disk has done all that it was asked to, or so many seconds."""
        if self._files is not None:
            self._files.settle(timeout)

    def close(self, timeout: float = 5.0) -> None:
        """It makes no more steps: its files go, unless a disk does not answer in time."""
        if self._files is not None:
            self._files.close(timeout)

    def check(self) -> None:
        """Raise BlockAccounting unless blocks, references, promises and what was swapped out agree."""
        self.scheduler.check()

    def doing(self) -> str:
        """What the present step computes, in words; any thread may ask."""
        verb, batch = self._doing
        rows = tuple(batch.rows)
        handles = ", ".join(str(row.handle) for row in rows[:_NAMED]) + (", …" if len(rows) > _NAMED else "")
        counted = f"{len(rows)} row{'s' * (len(rows) != 1)}, {batch.tokens:,} tokens"
        return f"{verb} of {counted}, of request{'s' * (len(rows) != 1)} {handles}" if rows else verb

    def stats(self) -> dict[str, float]:
        """Plain numbers, for whoever exports them; `engine.metrics` says what they mean."""
        scheduler, pool, cache = self.scheduler, self.scheduler.pool, self.scheduler.cache
        return {
            "running": scheduler.running,
            "waiting": scheduler.waiting,
            "on_hold": scheduler.on_hold,
            **{f"waiting_{label}": count for label, count in zip(CLASSES, scheduler.waiting_by_class, strict=True)},
            "blocks_free": pool.free,
            "blocks_cached": pool.cached,
            "blocks_used": pool.used,
            "blocks_total": pool.total,
            "kv_tokens": scheduler.kv_tokens,
            "budget": scheduler.budget.now,
            "steps": scheduler.steps,
            "tokens": scheduler.tokens,
            "tokens_reused": scheduler.reused_tokens,
            "cache_hits": cache.hits,
            "cache_evictions": cache.evictions,
            "cache_forgotten": cache.forgotten,
            "evictions": scheduler.evictions,
            "bounces": scheduler.bounces,
            "pauses": scheduler.pauses,
            "idle_slot_steps": scheduler.idle_slot_steps,
            "shortages": scheduler.budget.shortages,
            "freezes": scheduler.freezes,
            "frozen_seconds": scheduler.frozen_seconds,
            "capped_starts": scheduler.capped_starts,
            "abandoned_passes": scheduler.abandoned_passes,
            "abandoned_tokens": scheduler.abandoned_tokens,
            "stat_late": scheduler.dues.late,
            "pressed_steps": scheduler.dues.pressed,
            "layers_until_start": self._starts.worst,
            "layers_behind_stat": self._starts.behind,
            "layers_at_trunk": self._starts.at_trunk,
            "blocks_draining": pool.draining,
            **scheduler.swapping.stats(),
            **self._meter.values(),
        }

    def _note(
        self, batch: Batch, times: Times, numbers: array[int], outputs: list[RowOutput] | None, outcomes: list[Outcome]
    ) -> None:
        self._starts.ended(outcomes)
        if outputs is None:
            self._ended = times.ended
            self._meter.stopped(times.ended - times.began)
            self._rates.stopped(times.ended - times.began, beside=batch.beside)
        elif numbers:
            failed = sum(output.error is not None for output in outputs)
            self._meter.step(times.ended - times.began, numbers, failed)
            if not batch.resumes:
                self.scheduler.swapping.costs.computed(batch.tokens, times.ran - times.scheduled)
            idle, self._ended, tokens = max(0.0, times.began - self._ended), times.ended, tokens_by_class(numbers)
            below = self.scheduler.has_below or any(tokens[Priority.ASAP :])
            how = {"resumed": batch.resumes, "beside": batch.beside, "below": below}
            self._rates.step(times.ended - times.began, tokens, idle=idle, **how)
        trace, level = self._trace, self._level
        if trace is not None and level is not None:
            part = Part.of(stopped=outputs is None, resumes=batch.resumes, beside=batch.beside)
            trace.record(Step(self.scheduler.steps, times, numbers, level, self.layers - level.layers, part), outcomes)
