"""Our engine as a contestant: continuous, and static on the same runner and kernels."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.comparing import Run
from benchmarks.measured import NotMeasured
from benchmarks.peer import PeerLate, Precision, Work
from engine import EngineConfig, Generate, Priority, Score

if TYPE_CHECKING:
    from engine import Engine, Outcome
    from engine.request import Request

BATCHES = (4, 8, 16, 32)  # sizes the static baseline may choose from


def default(precision: Precision) -> EngineConfig:
    """The settings of `make up`, at a precision."""
    if precision == "int8":
        raise NotMeasured("the engine computes in fp32 and bf16, and not in int8")
    return dataclasses.replace(EngineConfig(), precision=precision)


def config_hash() -> str:
    """Which default settings the figures come from: SHA-256 over all of them, shortened."""
    settings = json.dumps(dataclasses.asdict(EngineConfig()), sort_keys=True)
    return hashlib.sha256(settings.encode()).hexdigest()[:16]


def static(precision: Precision, batch: int, work: Sequence[Work]) -> EngineConfig:
    """Static batching with as many blocks as a batch can ever ask for: memory is not what holds it back.

    Its bits are compared with ours in every run, so that it need not prove them once more at start.
    """
    config = default(precision)
    positions = max(len(piece.tokens) for piece in work) + max(piece.limit for piece in work)
    blocks = max(config.blocks, batch * -(-positions // config.block_size))
    return dataclasses.replace(config, mode="static", slots=batch, blocks=blocks, self_test=False)


class Ours:
    """An engine with its model loaded and warmed up."""

    def __init__(self, folder: Path, config: EngineConfig) -> None:
        from engine import load

        self.config, self._handles = config, itertools.count()
        self.engine: Engine = load(folder, config=config)
        self.between: Callable[[float], None] | None = None  # called after each step with its seconds
        self.run([Score(tuple(range(4, 8)) * 64), Generate(tuple(range(4, 8)) * 8, 4)])

    def run(self, requests: Sequence[Request], within: float = math.inf) -> list[Outcome]:
        """All requests at once, to the end; outcomes in their order.

        Raises NotMeasured when one was refused or failed, and PeerLate after `within` seconds: this engine is then of no more use.
        """
        deadline = time.perf_counter() + within
        handles = [self.submit(request) for request in requests]
        outcomes: dict[int, Outcome] = {}
        while len(outcomes) < len(requests):
            outcomes.update((outcome.handle, outcome) for outcome in self.step())
            if time.perf_counter() > deadline:
                raise PeerLate(f"not done in {within:.0f} s")
        return [finished(outcomes[handle]) for handle in handles]

    def submit(self, request: Request) -> int:
        """Queue one routine request; its handle, which no other has had."""
        handle = next(self._handles)
        self.engine.submit(handle, request, Priority.ROUTINE)
        return handle

    def step(self) -> list[Outcome]:
        """One step of the engine."""
        if self.between is None:
            return self.engine.step()
        begun = time.perf_counter()
        outcomes = self.engine.step()
        self.between(time.perf_counter() - begun)
        return outcomes

    def contestant(self, requests: Sequence[Request], order: Sequence[int] | None = None) -> Callable[[float], Run]:
        """Runs the requests, submitted in `order`; the answers come in the order of the requests."""
        order = range(len(requests)) if order is None else order
        places = sorted(range(len(requests)), key=order.__getitem__)

        def run(within: float) -> Run:
            begun, worked = time.perf_counter(), time.process_time()
            outcomes = self.run([requests[place] for place in order], within)
            seconds, cores = time.perf_counter() - begun, time.process_time() - worked
            return Run(seconds, [answer(outcomes[place]) for place in places], cores)

        return run


def finished(outcome: Outcome) -> Outcome:
    """The outcome, when it has a result."""
    if outcome.result is None:
        raise NotMeasured(f"our engine did not answer: {outcome.error or outcome.state}")
    return outcome


def answer(outcome: Outcome) -> Any:
    """What is compared between ours and ours: ids and log-probabilities, bit by bit."""
    result: Any = outcome.result
    return (getattr(result, "tokens", ()), tuple(result.logprobs))


def generation(work: Sequence[Work]) -> list[Generate]:
    """Greedy, end id ignored."""
    return [Generate(piece.tokens, piece.limit) for piece in work]
