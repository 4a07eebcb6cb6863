"""Rows that draw in every step stand ready for the next: what a step computes, and which blocks it takes, are the same as when each
is cut anew.
"""

from __future__ import annotations

import random

import pytest

from engine.batch import Batch
from engine.config import EngineConfig
from engine.limits import Limits
from engine.request import Generate, Priority, Score
from engine.slots import Slots
from tests.engine.driving import Arrival, echo, scheduler

CONFIG = EngineConfig(slots=12, token_budget=24, chunk=16, grid=4, blocks=96, block_size=4, long=60, deep=64, reserve=8)
LIMITS = {"whole": Limits(vocabulary=11, context=512), "sliding": Limits(vocabulary=11, context=512, window=12)}
Seen = list[tuple[object, ...]]


def arrivals(seed: int) -> list[Arrival]:
    """Generations of all lengths in every class, a few ended early by their end id, and scores between them."""
    generator = random.Random(seed)
    found = []
    for handle in range(40):
        tokens = tuple(generator.randrange(11) for _ in range(generator.randrange(2, 50)))
        generation = Generate(tokens, limit=generator.randrange(1, 60), end=generator.choice((None, None, 5)))
        request = Score(tokens) if generator.random() < 0.2 else generation
        priority = generator.choices(list(Priority), (1, 2, 3, 12))[0]
        found.append(Arrival(handle, request, priority, generator.randrange(150)))
    return found


def seen(policy: object, batch: Batch) -> Seen:
    """Everything that a step computes, and what is left of the pool."""
    rows = [(row.handle, row.start, *row.tokens, *row.blocks, row.commit, row.first, row.draw) for row in batch.rows]
    return [(policy.pool.used, policy.ledger.promised), *rows]


def life(seed: int, limits: Limits) -> tuple[list[Seen], int]:
    """What every step of a life computes, in which some are cancelled, and how many steps took rows as they stood."""
    policy, steps, ready, come = scheduler(CONFIG, limits), [], 0, arrivals(seed)
    while policy.has_work or len(steps) < 150:
        for arrival in come:
            if arrival.step == len(steps):
                policy.add(arrival.handle, arrival.request, arrival.priority, float(len(steps)))
        ready += any(group.drawing for group in policy._slots._groups)
        batch = policy.schedule(float(len(steps)))
        steps.append(seen(policy, batch))
        policy.cancel(len(steps) if len(steps) % 7 == 0 else -1)
        policy.postprocess(batch, echo(batch))
        policy.check()
    return steps, ready


@pytest.mark.parametrize("kind", LIMITS)
def test_every_step_is_as_if_each_row_were_cut_anew(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    fast = [life(seed, LIMITS[kind]) for seed in range(4)]
    monkeypatch.setattr(Slots, "_deal_group", Slots._deal_each)
    assert [steps for steps, _ in fast] == [life(seed, LIMITS[kind])[0] for seed in range(4)]
    assert all(ready for _, ready in fast)
