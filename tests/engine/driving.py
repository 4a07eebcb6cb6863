"""Runs requests through a scheduler and a runner, checking the pool after every step."""

from __future__ import annotations

import dataclasses
import random
import struct
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine import selftest
from engine.batch import Batch, ExtraOutput, Row, RowOutput
from engine.blocks import BlockPool
from engine.config import EngineConfig
from engine.freezing import FreezingScheduler
from engine.limits import Limits
from engine.request import (
    PRIVATE,
    REFERENCE,
    Branch,
    Embed,
    Generate,
    NextToken,
    Outcome,
    Priority,
    Request,
    Sampling,
    Score,
    Sharing,
)
from engine.scheduler import Scheduler
from engine.static import StaticScheduler
from engine.swap.content import Outside

LIMITS = Limits(vocabulary=11, context=512)
LABORATORY = Sharing("laboratory", "salt")


@dataclass(frozen=True)
class Arrival:
    """A request that arrives before step number `step`."""

    handle: int
    request: Request
    priority: Priority = Priority.ROUTINE
    step: int = 0
    place: int = -1  # of the request in a list, for whoever wants to find it again


def scheduler(
    config: EngineConfig, limits: Limits = LIMITS, clock: Callable[[], float] = lambda: 0.0, outside: Outside | None = None
) -> Scheduler:
    """`outside` is what it has to swap to."""
    kind = StaticScheduler if config.mode == "static" else FreezingScheduler
    return kind(config, BlockPool(config.blocks), limits, clock, outside or outside_of(config))


def outside_of(config: EngineConfig) -> Outside | None:
    """What a scheduler has to swap to where a test does not say it: nothing."""
    return None


def drive(
    config: EngineConfig,
    run: Callable[[Batch], list[RowOutput]],
    arrivals: Sequence[Arrival],
    limits: Limits = LIMITS,
    planned: Scheduler | None = None,
) -> dict[int, Outcome]:
    """Outcomes by handle once everything has ended; the pool must then be whole and every slot must have been used."""
    planned, outcomes, step = planned or scheduler(config, limits), {}, 0
    while planned.has_work or step <= max(arrival.step for arrival in arrivals):
        for arrival in arrivals:
            if arrival.step == step:
                planned.add(arrival.handle, arrival.request, arrival.priority, float(step))
        batch = planned.schedule(float(step))
        assert batch.tokens <= max(config.token_budget, config.slots)
        outcomes |= {outcome.handle: outcome for outcome in planned.postprocess(batch, run(batch))}
        planned.check()
        step += 1
    run(planned.schedule(float(step)))  # so that the last freed blocks are poisoned too
    assert planned.pool.available == config.blocks
    assert planned.ledger.promised == 0
    assert planned.idle_slot_steps == 0
    return outcomes


def step(policy: Scheduler) -> dict[int, Outcome]:
    """One step of `echo`; what it settled. All accounts must agree after it."""
    batch = policy.schedule(0.0)
    found = {outcome.handle: outcome for outcome in policy.postprocess(batch, echo(batch))}
    policy.check()
    return found


def finish(policy: Scheduler) -> dict[int, Outcome]:
    """All steps that are left."""
    found: dict[int, Outcome] = {}
    while policy.has_work:
        found |= step(policy)
    return found


def alone(config: EngineConfig, run: Callable[[Batch], list[RowOutput]], request: Request) -> Outcome:
    """A request by itself, every cache off."""
    if not isinstance(request, Embed):
        request = dataclasses.replace(request, sharing=PRIVATE)
    return drive(config, run, [Arrival(0, request)])[0]


def bits(outcome: Outcome) -> bytes:
    """Everything numerical of a result, exactly."""
    assert outcome.result is not None, outcome.error
    tokens = getattr(outcome.result, "tokens", ())
    return struct.pack(f"<{len(tokens)}q", *tokens) + selftest.numbers(outcome.result)


def echo(batch: Batch) -> list[RowOutput]:
    """A model for scheduler tests: log P(token) is minus the token wherever it stands; the drawn token is its position modulo 7."""
    return [_echo(row) for row in batch.rows]


def _echo(row: Row) -> RowOutput:
    token = None if row.draw is None else row.commit % 7
    logprobs = array("f", [-float(target) for target in row.targets] or ([-1.0] if row.draw else []))
    if row.extra is None:
        return RowOutput(logprobs, token)
    lines = row.commit - row.start
    ids = () if row.extra.ids is None else (row.extra.ids or tuple(range(11))) * max(0, lines - row.extra.ids_from)
    before = 0.0 if row.extra.pooled is None or not row.extra.pooled else row.extra.pooled[0]
    pooled = None if row.extra.pooled is None else array("d", [before + sum(row.tokens[:lines])])
    extra = ExtraOutput(
        [-float(token) for token in row.extra.lead],
        [-float(token) for _, token in row.extra.forks],
        [-float(i) for i in ids],
        pooled,
    )
    return RowOutput(logprobs, token, extra=extra)


def mixed_requests(seed: int = 5) -> list[Request]:
    """Every kind: scores around tile and block boundaries, generations greedy and drawn, two windows with alternates from one end
    to the other, a scan, next tokens, embeddings.
    """
    generator = random.Random(seed)

    def tokens(length: int) -> tuple[int, ...]:
        return tuple(generator.randrange(11) for _ in range(length))

    scores: list[Request] = [Score(tokens(length)) for length in (2, 3, 17, 18, 33, 63, 64, 65, 66, 90, 128, 129, 130, 145)]
    greedy: list[Request] = [Generate(tokens(length), limit=6) for length in (1, 15, 64)]
    drawn: list[Request] = [
        Generate(tokens(length), limit=7, sampling=Sampling(temperature=1.3, top_k=top_k, seed=length, sample=2))
        for length, top_k in ((4, 0), (31, 5), (70, 3))
    ]
    return scores + greedy + drawn + related(tokens(100), LABORATORY) + related(tokens(49), REFERENCE)


def related(window: tuple[int, ...], sharing: Sharing) -> list[Request]:
    """A window, alternates of it, and everything else that can share its beginning."""
    places = (1, 2, 15, 16, 17, len(window) // 2, len(window) - 1)
    alternates = [Branch(at, ((window[at] + 3) % 11, *window[at + 1 :])) for at in places]
    longer = Branch(20, (*window[30:], *window[:5]))  # a deletion: everything behind it moves
    return [
        Score(window, sharing),
        *(Score(window, sharing, branch) for branch in (*alternates, longer)),
        Score(window, sharing, alternatives=(3, 4, 5), alternatives_from=40),
        NextToken(window, sharing=sharing),
        NextToken(window[:33], wanted=(7, 2), sharing=sharing),
        Generate(window[:40], limit=4, sharing=sharing),
        Embed(window),
        Embed(window[:20], pooling="last"),
    ]
