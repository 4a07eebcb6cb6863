"""A million bases are a request like any other: in constant memory where the model has a window, refused with the blocks it would
need where it has none, and never in the way of short ones.
"""

from __future__ import annotations

import dataclasses
import random

import pytest

from engine.config import EngineConfig
from engine.errors import RequestTooLarge
from engine.limits import Limits
from engine.request import Generate, Outcome, Priority, Score
from engine.scheduler import Scheduler
from tests.engine.driving import echo, scheduler

CONFIG = EngineConfig(
    slots=4, token_budget=512, chunk=256, grid=16, blocks=40, block_size=32, long=4096, long_chunk=256, long_share=0.25
)
WINDOWED, WHOLE = Limits(11, 1 << 24, window=256), Limits(11, 1 << 24)


def bases(length: int) -> tuple[int, ...]:
    return tuple(random.Random(length).choices(range(11), k=length))


def step(policy: Scheduler) -> dict[int, Outcome]:
    batch = policy.schedule(0.0)
    return {outcome.handle: outcome for outcome in policy.postprocess(batch, echo(batch))}


def steps_until(policy: Scheduler, handle: int) -> int:
    """Steps until a request has ended."""
    for count in range(1, 100_000):
        if handle in step(policy):
            return count
    raise AssertionError(handle)


def test_a_million_bases_are_scored_whole_in_constant_memory() -> None:
    policy, tokens, most = scheduler(CONFIG, WINDOWED), bases(1_014_726), 0
    policy.add(0, Score(tokens), Priority.ROUTINE, 0.0)
    found: dict[int, Outcome] = {}
    while not found:
        found = step(policy)
        most = max(most, policy.pool.used)
    assert most <= (256 + 256) // 32 + 2
    assert policy.tokens == len(tokens) - 1
    assert list(found[0].result.logprobs) == [-float(token) for token in tokens[1:]]
    assert policy.pool.available == CONFIG.blocks


def test_without_a_window_it_is_refused_with_the_blocks_it_would_need_and_others_go_on() -> None:
    policy = scheduler(CONFIG, WHOLE)
    policy.add(0, Score(bases(100_001)), Priority.STAT, 0.0)
    policy.add(1, Score(bases(1000)), Priority.ROUTINE, 0.0)
    refused = step(policy)[0]
    assert isinstance(refused.error, RequestTooLarge)
    assert (refused.error.blocks_needed, refused.error.blocks_total) == (3125, 40)
    assert "3125 blocks" in str(refused.error)
    assert steps_until(policy, 1) > 0


def test_twenty_bases_beside_a_hundred_thousand_take_the_step_they_would_take_alone() -> None:
    policy = scheduler(CONFIG, WINDOWED)
    policy.add(0, Score(bases(100_000)), Priority.ROUTINE, 0.0)
    for _ in range(20):
        step(policy)
    policy.add(1, Score(bases(20)), Priority.ROUTINE, 0.0)
    batch = policy.schedule(0.0)
    assert [(row.handle, len(row.tokens)) for row in batch.rows] == [(1, 19), (0, 16)]
    assert {outcome.handle for outcome in policy.postprocess(batch, echo(batch))} == {1}


def test_short_ones_that_arrive_meanwhile_finish_in_as_many_steps_as_if_it_were_not_there() -> None:
    requests = [Score(bases(700)), Generate(bases(100), limit=20), Score(bases(64))]
    taken = []
    for beside in (False, True):
        policy = scheduler(dataclasses.replace(CONFIG, blocks=60), WINDOWED)
        if beside:
            policy.add(99, Score(bases(60_000)), Priority.ROUTINE, 0.0)
            step(policy)
        for handle, request in enumerate(requests):
            policy.add(handle, request, Priority.ROUTINE, 0.0)
        ends: dict[int, int] = {}
        for number in range(1, 100):
            ends |= dict.fromkeys(step(policy), number)
        taken.append([ends[handle] for handle in range(3)])
    assert taken[0] == taken[1]


def test_a_long_one_beside_a_steady_stream_of_short_ones_still_ends() -> None:
    policy = scheduler(CONFIG, WINDOWED)
    policy.add(0, Score(bases(6_000)), Priority.ROUTINE, 0.0)
    for handle in range(1, 2_000):
        policy.add(handle, Score(bases(100)), Priority.ROUTINE, 0.0)
        if 0 in step(policy):
            return
    raise AssertionError(policy.progress(0))


def test_progress_is_told_while_it_runs() -> None:
    policy = scheduler(CONFIG, WINDOWED)
    policy.add(0, Score(bases(10_000)), Priority.ROUTINE, 0.0)
    told = []
    while (progress := policy.progress(0)) is not None:
        told.append(progress)
        step(policy)
    assert told[:3] == [(0, 9_999), (256, 9_999), (512, 9_999)]
    assert len(told) == 40


@pytest.mark.parametrize(("deep", "chunks"), [(1 << 20, [256] * 4), (256, [256, 128, 128, 64])])
def test_chunks_shrink_as_the_context_grows(deep: int, chunks: list[int]) -> None:
    """Attention costs grow with the context: a layer of a deep chunk must not take longer than one of a shallow chunk."""
    policy = scheduler(dataclasses.replace(CONFIG, deep=deep), WHOLE)
    policy.add(0, Score(bases(1200)), Priority.ROUTINE, 0.0)
    seen = []
    for _ in range(4):
        batch = policy.schedule(0.0)
        seen.append(batch.tokens)
        policy.postprocess(batch, echo(batch))
    assert seen == chunks
