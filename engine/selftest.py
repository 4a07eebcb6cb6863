"""The proof at start: this process gives one request the same bits alone and in company, from a shared trunk and without."""

from __future__ import annotations

import dataclasses
import hashlib
import random
import struct
from typing import Protocol

from engine.batch import Batch, RowOutput
from engine.blocks import BlockPool
from engine.config import EngineConfig
from engine.limits import Limits
from engine.request import (
    REFERENCE,
    Branch,
    Embed,
    EmbedResult,
    Generate,
    NextToken,
    Priority,
    Request,
    Result,
    Sampling,
    Score,
    ScoreResult,
)
from engine.scheduler import Scheduler

Bits = dict[int, bytes]


class Runs(Protocol):
    """What the self-test needs of a runner."""

    def run(self, batch: Batch) -> list[RowOutput]:
        """Compute every row."""
        ...


def requests(limits: Limits, capacity: int) -> list[Request]:
    """A fixed mix of lengths around tile, block and row-count boundaries, cut to context and pool."""
    generator = random.Random(2)  # noqa: S311 — a fixed mix, not a secret
    longest = min(limits.context, capacity // 8)

    def tokens(length: int) -> tuple[int, ...]:
        return tuple(generator.randrange(limits.vocabulary) for _ in range(max(2, min(length, longest))))

    mix: list[Request] = [Score(tokens(length)) for length in (2, 9, 33, 64, 65, 66, 130, 193)]
    if longest < 24:
        return mix
    window = tokens(100)
    alternates = [
        Branch(at, ((window[at] + 1) % limits.vocabulary, *window[at + 1 :])) for at in (1, len(window) // 2, len(window) - 1)
    ]
    mix.extend(Score(window, REFERENCE, branch) for branch in alternates)
    mix.extend((Score(window, REFERENCE), NextToken(window, sharing=REFERENCE), Embed(tokens(70))))
    return [*mix, Generate(tokens(11), limit=5, sampling=Sampling(temperature=1.0, seed=7))]


def bits(runner: Runs, config: EngineConfig, limits: Limits, batch: list[Request]) -> Bits:
    """Run requests together on an empty pool; the bits of their results by place, empty for one that failed."""
    scheduler = Scheduler(config, BlockPool(config.blocks), limits, lambda: 0.0)
    for handle, request in enumerate(batch):
        scheduler.add(handle, request, Priority.ROUTINE, 0.0)
    found: Bits = {}
    while scheduler.has_work:
        step = scheduler.schedule(0.0)
        for outcome in scheduler.postprocess(step, runner.run(step)):
            found[outcome.handle] = numbers(outcome.result) if outcome.result else b""
    return found


def numbers(result: Result) -> bytes:
    """Everything numerical of a result, exactly."""
    values = (*result.vector,) if isinstance(result, EmbedResult) else (*result.logprobs,)
    if isinstance(result, ScoreResult):
        values += (*result.alternatives,)
    return struct.pack(f"<{len(values)}d", *values)


def run(runner: Runs, config: EngineConfig, limits: Limits) -> tuple[bool, str]:
    """Whether bits are independent of the batch here, and the digest of the bits themselves (the golden value)."""
    mix = requests(limits, config.blocks * config.block_size)
    alone = {place: bits(runner, config, limits, [request])[0] for place, request in enumerate(mix)}
    together = bits(runner, config, limits, mix)
    narrow = dataclasses.replace(config, chunk=48, grid=16, token_budget=112)
    crowded = bits(runner, narrow, limits, mix[::-1])
    same = alone == together == {len(mix) - 1 - place: value for place, value in crowded.items()}
    golden = hashlib.sha256(b"|".join(alone[place] for place in sorted(alone))).hexdigest()
    return same and all(alone.values()), golden
