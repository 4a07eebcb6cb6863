"""Under a sliding window a state depends on layers · (window - 1) tokens before its own: who lost its blocks computes those again
and no others, and has the bits of one that was never disturbed.
"""

from __future__ import annotations

import dataclasses
import functools
import random
from pathlib import Path

import pytest

from engine.config import Kernels, Precision
from engine.limits import Limits
from engine.loading import load
from engine.request import PRIVATE, REFERENCE, Branch, Embed, Generate, NextToken, Priority, Request, Sampling, Score
from engine.runner import Runner
from engine.scheduler import Scheduler
from tests.engine.checkpoints import Shape, write_checkpoint
from tests.engine.conftest import CONFIG, model
from tests.engine.driving import Arrival, bits, drive, scheduler

pytestmark = pytest.mark.undisturbed("sends everybody away itself, and counts what is computed again")
WINDOW, SHAPE = 20, Shape(window=20, seed=5)
FIELD = SHAPE.layers * (WINDOW - 1)
LIMITS = Limits(vocabulary=11, context=512, window=WINDOW, layers=SHAPE.layers)
SMALL = dataclasses.replace(CONFIG, chunk=16, token_budget=64, blocks=120, slots=4)
TOKENS = tuple(random.Random(8).choices(range(11), k=481))
DRAWN = Generate(TOKENS[:400], 9, Sampling(temperature=1.2, seed=4))
FAST: list[tuple[Kernels, Precision]] = [("native", "fp32"), ("native", "bf16")]
READ = [Score(TOKENS), DRAWN, NextToken(TOKENS[:450])]
ANEW = [Embed(TOKENS[:450]), Score(TOKENS[:450], alternatives=(1, 2), alternatives_from=30)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("field"), SHAPE)


@functools.cache
def runner_of(folder: Path, kernels: Kernels, precision: Precision = "fp32") -> Runner:
    return Runner(model(folder, kernels, precision), CONFIG)


def expected(runner: Runner, requests: list[Request]) -> list[bytes]:
    """The bits of each alone, every block kept."""
    whole = dataclasses.replace(CONFIG, chunk=512, token_budget=512)
    private = [one if isinstance(one, Embed) else dataclasses.replace(one, sharing=PRIVATE) for one in requests]
    return [bits(drive(whole, runner.run, [Arrival(0, one)])[0]) for one in private]


def send_away(policy: Scheduler) -> None:
    """Everybody loses the blocks, and what others could find of them."""
    for sequence in list(policy._slots):
        policy._evict(sequence)
    policy.forget()


def sent_away(
    runner: Runner, requests: list[Request], at: tuple[int, ...], limits: Limits = LIMITS
) -> tuple[list[bytes | None], Scheduler]:
    """All at once; before those steps everybody is sent away. Bits in order, None for one that failed."""
    policy, found, step = scheduler(SMALL, limits), {}, 0
    for handle, request in enumerate(requests):
        policy.add(handle, request, Priority.ROUTINE, 0.0)
    while policy.has_work:
        step += 1
        if step in at:
            send_away(policy)
        batch = policy.schedule(0.0)
        found |= {outcome.handle: outcome for outcome in policy.postprocess(batch, runner.run(batch))}
        policy.check()
    assert policy.evictions >= len(at)
    return [bits(found[place]) if found[place].result else None for place in range(len(requests))], policy


@pytest.mark.parametrize(("kernels", "precision"), [*FAST, ("reference", "fp32"), ("numba", "fp32")])
@pytest.mark.parametrize("at", [(12,), (17, 19, 20), (26,)])
def test_sent_away_it_computes_its_field_again_and_has_the_same_bits(
    folder: Path, kernels: Kernels, precision: Precision, at: tuple[int, ...]
) -> None:
    runner = runner_of(folder, kernels, precision)
    found, policy = sent_away(runner, READ, at)
    assert found == expected(runner, READ)
    assert policy.tokens <= 480 + (400 + 8) + 450 + policy.evictions * (FIELD + SMALL.block_size)


def test_a_score_computes_its_field_again_and_no_token_more(folder: Path) -> None:
    """It had come to 176, 256 and 288; what it goes on from begins with a block."""
    _, policy = sent_away(runner_of(folder, "native"), READ[:1], (12, 22, 29))
    starts = [(known - FIELD) // SMALL.block_size * SMALL.block_size for known in (176, 256, 288)]
    assert policy.tokens == 480 + sum(known - start for known, start in zip((176, 256, 288), starts, strict=True))


def test_control_a_field_of_one_layer_less_gives_other_bits(folder: Path) -> None:
    runner = runner_of(folder, "native")
    found, _ = sent_away(runner, READ[:1], (20,), dataclasses.replace(LIMITS, layers=SHAPE.layers - 1))
    assert found != expected(runner, READ[:1])


def test_where_the_layers_are_not_known_it_begins_anew(folder: Path) -> None:
    runner = runner_of(folder, "native")
    found, policy = sent_away(runner, READ[:1], (20,), dataclasses.replace(LIMITS, layers=None))
    assert (found, policy.tokens) == (expected(runner, READ[:1]), 480 + 19 * 16)


def test_what_sums_over_all_positions_begins_anew(folder: Path) -> None:
    runner = runner_of(folder, "native")
    found, policy = sent_away(runner, ANEW, (12,))
    assert found == expected(runner, ANEW)
    assert policy.tokens == 450 + 449 + 2 * 11 * 16


def alternate(at: int) -> Score:
    return Score(TOKENS, REFERENCE, Branch(at, ((TOKENS[at] + 1) % 11,) * 9))


@pytest.mark.parametrize("at", [(9,), (12, 14), (22,)])
def test_a_trunk_serves_its_alternates_from_what_it_rebuilt(folder: Path, at: tuple[int, ...]) -> None:
    runner, requests = runner_of(folder, "native"), [Score(TOKENS, REFERENCE), *map(alternate, (160, 161, 300, 350, 470))]
    found, policy = sent_away(runner, requests, at)
    assert found == expected(runner, requests)
    assert policy.trunk_tokens <= 480 + len(at) * (FIELD + SMALL.chunk + SMALL.block_size)


@pytest.mark.parametrize("comes", [17, 18])
@pytest.mark.parametrize("place", [160, 200, 230, 248, 300])
def test_an_alternate_that_comes_to_a_trunk_that_lost_its_blocks_takes_nothing_that_is_not_exact(
    folder: Path, place: int, comes: int
) -> None:
    """The trunk had come to 256, and waits at step 17; then it begins again before what it is wanted for."""
    runner, requests = runner_of(folder, "native"), [Score(TOKENS, REFERENCE), alternate(place)]
    policy, found, step = scheduler(SMALL, LIMITS), {}, 0
    policy.add(0, requests[0], Priority.ROUTINE, 0.0)
    while policy.has_work:
        step += 1
        if step == 17:
            send_away(policy)
            policy.trunks._trunks.update({(REFERENCE, TOKENS): next(iter(policy._waiting))})  # which forgetting has closed
        if step == comes:
            policy.add(1, requests[1], Priority.ROUTINE, 0.0)
        batch = policy.schedule(0.0)
        found |= {outcome.handle: bits(outcome) for outcome in policy.postprocess(batch, runner.run(batch))}
    assert [found[handle] for handle in (0, 1)] == expected(runner, requests)
    assert policy.trunk_tokens < 480 + 256


def test_nobody_finds_what_was_computed_from_blank_blocks(folder: Path) -> None:
    runner = runner_of(folder, "native")
    policy = scheduler(SMALL, LIMITS)
    policy.add(0, NextToken(TOKENS[:450], sharing=REFERENCE), Priority.ROUTINE, 0.0)
    for step in range(60):
        if step == 15:
            send_away(policy)
        batch = policy.schedule(0.0)
        policy.postprocess(batch, runner.run(batch))
    assert (policy.has_work, policy.evictions, len(policy.cache)) == (False, 1, 0)


def test_an_engine_knows_the_layers_of_its_model(folder: Path) -> None:
    engine = load(folder, config=dataclasses.replace(CONFIG, self_test=False))
    assert (engine.scheduler.limits.window, engine.scheduler.limits.layers) == (WINDOW, SHAPE.layers)
