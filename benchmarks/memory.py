"""What the blocks of keys and values are used for while requests come and go."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from benchmarks.measured import Measured
from benchmarks.ours import generation
from benchmarks.peer import Work
from benchmarks.stub import Stub
from engine import Engine, EngineConfig
from engine.batch import Batch

RESERVED = 8  # sequences that the memory of `concurrency` holds when each gets room for the longest


def longest(work: Sequence[Work], config: EngineConfig) -> int:
    """Blocks for the longest prompt and the longest answer of a workload."""
    positions = max(len(piece.tokens) for piece in work) + max(piece.limit for piece in work)
    return -(-positions // config.block_size)


class Watch:
    """Sees the engine after every step, and weighs what it sees with the step's seconds."""

    def __init__(self, engine: Engine, config: EngineConfig, reserved: int) -> None:
        self._scheduler, self._block, self._reserved = engine.scheduler, config.block_size, reserved
        self._held = self._allocated = self._maxlen = 0.0

    def __call__(self, seconds: float) -> None:
        seen = self._scheduler
        self._held += seconds * seen.kv_tokens
        self._allocated += seconds * seen.pool.used * self._block
        self._maxlen += seconds * seen.running * self._reserved * self._block

    def report(self, result: Measured) -> None:
        """`waste` of what was allocated, and what was saved against room for the longest per running sequence."""
        result.figures["waste"] = 1 - self._held / self._allocated
        result.figures["kv_saved_vs_maxlen"] = 1 - self._allocated / self._maxlen


def concurrency(work: Sequence[Work], config: EngineConfig) -> float:
    """Sequences at once, in the memory that holds RESERVED of the longest, over RESERVED.

    Mean over the steps in which others wait; decisions alone, no model.
    """
    memory = dataclasses.replace(config, mode="continuous", slots=len(work), blocks=RESERVED * longest(work, config))
    stub = Stub(memory)
    running: list[int] = []

    def seen(_batch: Batch) -> None:
        if stub.scheduler.waiting:
            running.append(stub.scheduler.running)

    stub.run(generation(work), seen)
    return sum(running) / max(1, len(running)) / RESERVED
