"""Sent away anywhere, to any tier, a request has the bits of one alone and computes nothing twice that it need not."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.batch import Batch, RowOutput
from engine.request import REFERENCE, Branch, Embed, Generate, Priority, Request, Sampling, Score
from engine.runner import Runner
from engine.swap.arena import Arena
from engine.swap.content import Outside
from engine.swap.tier import FileTier
from tests.engine import driving
from tests.engine.checkpoints import Shape, write_checkpoint
from tests.engine.conftest import CONFIG, model
from tests.engine.driving import LIMITS, alone, bits, scheduler
from tests.engine.test_freezing_bits import LOWER, TIGHT, WINDOW, After, played
from tests.engine.test_loop import WAIT

SMALL = dataclasses.replace(CONFIG, chunk=16, token_budget=64, blocks=70, slots=6, swap_seconds=1e9)
REQUESTS: list[Request] = [
    Score(WINDOW[:50]),
    Generate(WINDOW[:29], 9, Sampling(temperature=1.2, seed=4)),
    Embed(WINDOW[:40]),
    Score(WINDOW[:45], alternatives=(1, 2), alternatives_from=20),
    *(Score(WINDOW, REFERENCE, Branch(at, (4, *WINDOW[at + 1 :]))) for at in (33, 48, 70)),
]
TIERS = ("arena", "file", "recompute")


@pytest.fixture(params=TIERS)
def tier(request: pytest.FixtureRequest) -> str:
    return request.param


@contextlib.contextmanager
def tier_of(runner: Runner, root: Path) -> Iterator[FileTier]:
    made = FileTier(root, runner.arena.memory, "0", cap=1 << 30, encrypted=True)
    yield made
    made.close(WAIT)


@pytest.fixture(scope="module")
def expected(runner: Runner) -> list[bytes]:
    return [bits(alone(CONFIG, runner.run, request)) for request in REQUESTS]


def sent_away(runner: Runner, root: Path, tier: str, at: int) -> tuple[list[bytes], int, int]:
    """All requests, of whom everybody is sent away before step `at`: bits, tokens computed, sequences sent away."""
    with tier_of(runner, root) as files:
        return _sent_away(runner, files, tier, at)


def _sent_away(runner: Runner, files: FileTier, tier: str, at: int) -> tuple[list[bytes], int, int]:
    slots = 0 if tier == "recompute" else runner.arena.memory.shape[0]
    policy = scheduler(SMALL, outside=Outside(slots, runner.arena.block_bytes, files if tier == "file" else None))
    policy.swapping.keep, found, now = 0, {}, 0
    for handle, request in enumerate(REQUESTS):
        policy.add(handle, request, Priority.ROUTINE, 0.0)
    while policy.has_work:
        now += 1
        if now == at:
            for sequence in list(policy._slots):
                policy._evict(sequence)
            policy.admits = Priority.STAT if tier == "file" else policy.admits  # until all of it is there
        elif tier == "file" and not any(content.slots for content in policy.swapping._contents.values()):
            policy.admits = Priority.ROUTINE
        batch = policy.schedule(0.0)
        if not batch.rows and policy.evictions:
            files.wait(0.01)
        found |= {outcome.handle: bits(outcome) for outcome in policy.postprocess(batch, runner.run(batch))}
        policy.check()
    assert policy.swapping.failures.total() == 0
    return [found[handle] for handle in range(len(REQUESTS))], policy.tokens, policy.evictions


def test_before_any_step_and_to_any_tier(runner: Runner, tmp_path: Path, expected: list[bytes], tier: str) -> None:
    _, undisturbed, _ = sent_away(runner, tmp_path, tier, 0)
    sent = 0
    for at in range(2, 20):
        found, tokens, evictions = sent_away(runner, tmp_path, tier, at)
        assert found == expected, at
        assert tier == "recompute" or tokens == undisturbed, at
        sent += evictions
    assert sent > 30


def test_a_pass_that_is_abandoned_is_swapped_where_it_was_last_committed(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driving, "outside_of", lambda config: Outside(config.arena_blocks))
    large = Score(WINDOW + WINDOW[:50])
    wanted = [bits(alone(CONFIG, runner.run, request)) for request in (*LOWER, large)]
    swapped = 0
    for step in range(1, 7):
        signal = After(step, 2)
        outcomes = played(runner.run, signal, config=TIGHT, stat=[large])
        assert {handle: bits(outcome) for handle, outcome in outcomes.items()} == dict(enumerate(wanted)) | {
            handle: wanted[-1] for handle in outcomes if handle >= len(LOWER)
        }, step
        swapped += signal.policy.swapping.blocks_in
    assert swapped > 0


def test_under_a_sliding_window(tmp_path: Path, tier: str) -> None:
    runner = Runner(model(write_checkpoint(tmp_path / "model", Shape(window=40, seed=3)), "native"), CONFIG)
    request, limits = Score(WINDOW * 4), dataclasses.replace(LIMITS, window=40)
    wanted = bits(alone(dataclasses.replace(CONFIG, chunk=512, token_budget=512), runner.run, request))
    for at in (2, 7, 20):
        with tier_of(runner, tmp_path / "swap") as files:
            outside = Outside(0 if tier == "recompute" else 20, 1, files if tier == "file" else None)
            policy = scheduler(SMALL, limits, outside=outside)
            policy.swapping.keep, step, found = 0, 0, {}
            policy.add(0, request, Priority.ROUTINE, 0.0)
            while policy.has_work:
                step += 1
                if step == at:
                    policy._evict(next(iter(policy._slots)))
                batch = policy.schedule(0.0)
                if not batch.rows:
                    files.wait(0.01)
                found |= {outcome.handle: bits(outcome) for outcome in policy.postprocess(batch, runner.run(batch))}
                policy.check()
        assert found == {0: wanted}
        assert tier == "recompute" or policy.tokens == len(WINDOW) * 4 - 1


def test_control_an_arena_that_gives_back_nothing_is_seen(
    runner: Runner, expected: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were it to pass, the tests above would prove nothing."""
    monkeypatch.setattr(Arena, "give", lambda self, moves: None)
    policy = scheduler(SMALL, outside=Outside(40, runner.arena.block_bytes))
    policy.add(0, REQUESTS[0], Priority.ROUTINE, 0.0)
    outcomes = []
    for step in range(40):
        if step == 2 and policy.running:
            policy._evict(next(iter(policy._slots)))
        batch = policy.schedule(0.0)
        outcomes += policy.postprocess(batch, runner.run(batch))
    assert outcomes[0].state == "failed" or bits(outcomes[0]) != expected[0]


def test_control_blocks_that_are_freed_before_they_are_copied_are_seen(runner: Runner, expected: list[bytes]) -> None:
    """The order that `Batch` promises: had the pool been overwritten first, nothing of the request would be left."""

    def wrong(batch: Batch) -> list[RowOutput] | None:
        gone = tuple(block for block, _ in batch.swap_outs)
        runner.run(Batch((), released=gone))
        return runner.run(batch)

    policy, outcomes = scheduler(SMALL, outside=Outside(40, runner.arena.block_bytes)), []
    policy.add(0, REQUESTS[0], Priority.ROUTINE, 0.0)
    for step in range(40):
        if step == 2 and policy.running:
            policy._evict(next(iter(policy._slots)))
        batch = policy.schedule(0.0)
        outcomes += policy.postprocess(batch, wrong(batch))
    assert outcomes[0].state == "failed" or bits(outcomes[0]) != expected[0]
