"""Runs requests through a scheduler and a runner, checking the pool after every step."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.batch import Batch, RowOutput
from engine.blocks import BlockPool
from engine.config import EngineConfig
from engine.request import Generate, Outcome, Priority, Request, Sampling, Score
from engine.scheduler import Limits, Scheduler
from engine.static import StaticScheduler

LIMITS = Limits(vocabulary=11, context=512)


@dataclass(frozen=True)
class Arrival:
    """A request that arrives before step number `step`."""

    handle: int
    request: Request
    priority: Priority = Priority.ROUTINE
    step: int = 0


def scheduler(config: EngineConfig, limits: Limits = LIMITS) -> Scheduler:
    kind = StaticScheduler if config.mode == "static" else Scheduler
    return kind(config, BlockPool(config.blocks), limits, lambda: 0.0)


def drive(
    config: EngineConfig, run: Callable[[Batch], list[RowOutput]], arrivals: Sequence[Arrival], limits: Limits = LIMITS
) -> dict[int, Outcome]:
    """Outcomes by handle once everything has ended; the pool must then be whole and every slot must have been used."""
    planned, outcomes, step = scheduler(config, limits), {}, 0
    while planned.has_work or step <= max(arrival.step for arrival in arrivals):
        for arrival in arrivals:
            if arrival.step == step:
                planned.add(arrival.handle, arrival.request, arrival.priority, float(step))
        batch = planned.schedule(float(step))
        assert batch.tokens <= max(config.token_budget, config.slots)
        outcomes |= {outcome.handle: outcome for outcome in planned.postprocess(batch, run(batch))}
        planned.pool.check(planned.tables())
        step += 1
    run(planned.schedule(float(step)))  # so that the last freed blocks are poisoned too
    assert planned.pool.free == config.blocks
    assert planned.idle_slot_steps == 0
    return outcomes


def bits(outcome: Outcome) -> bytes:
    """Everything numerical of a result, exactly."""
    assert outcome.result is not None, outcome.error
    tokens = getattr(outcome.result, "tokens", ())
    return struct.pack(f"<{len(tokens)}q", *tokens) + struct.pack(f"<{len(outcome.result.logprobs)}d", *outcome.result.logprobs)


def echo(batch: Batch) -> list[RowOutput]:
    """A model for scheduler tests: log P(target) is minus the target; the drawn token is the position modulo 7."""
    return [
        RowOutput(
            tuple(-float(target) for target in row.targets) or ((-1.0,) if row.draw else ()),
            None if row.draw is None else row.draw.position % 7,
        )
        for row in batch.rows
    ]


def mixed_requests(seed: int = 5) -> list[Request]:
    """Scores around tile and block boundaries, and generations greedy and drawn."""
    generator = random.Random(seed)

    def tokens(length: int) -> tuple[int, ...]:
        return tuple(generator.randrange(11) for _ in range(length))

    scores: list[Request] = [Score(tokens(length)) for length in (2, 3, 17, 18, 33, 63, 64, 65, 66, 90, 128, 129, 130, 145)]
    greedy: list[Request] = [Generate(tokens(length), limit=6) for length in (1, 15, 64)]
    drawn: list[Request] = [
        Generate(tokens(length), limit=7, sampling=Sampling(temperature=1.3, top_k=top_k, seed=length, sample=2))
        for length, top_k in ((4, 0), (31, 5), (70, 3))
    ]
    return scores + greedy + drawn
