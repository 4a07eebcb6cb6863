"""What is promised elsewhere, once more with lower work that is stopped or sent away in every second step."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from engine.batch import Batch, RowOutput
from engine.blocks import BlockPool
from engine.config import Kernels, Precision
from engine.freezing import FreezingScheduler
from engine.runner import Runner
from tests.engine import driving
from tests.engine.conftest import CONFIG
from tests.engine.driving import LIMITS, Arrival, bits, drive
from tests.engine.preempting_by_force import Forced, arena
from tests.engine.preempting_out_of_sight import OutOfSight
from tests.engine.test_bits import FAST, PLAIN, REQUESTS, check_mixes, oracle_of, runner_of
from tests.engine.test_freezing_life import FrozenLife, FrozenSlidingLife
from tests.engine.test_sliding_trunks import REFERENCE as SHARED
from tests.engine.test_sliding_trunks import WINDOW, Played, Score, alternate
from tests.engine.test_what_blocks_hold import lived


@pytest.fixture(autouse=True)
def forced(monkeypatch: pytest.MonkeyPatch) -> list[Forced]:
    """Every continuous scheduler that `driving` makes is such a one; they are listed."""
    made: list[Forced] = []

    def make(*arguments: object) -> Forced:
        made.append(Forced(*arguments))
        return made[-1]

    monkeypatch.setattr(driving, "FreezingScheduler", make)
    monkeypatch.setattr(driving, "outside_of", arena)
    return made


@pytest.mark.parametrize(("kernels", "precision", "threads"), [*FAST, *PLAIN[:2]])
def test_random_mixes_give_the_bits_of_the_oracle(
    checkpoint: Path, kernels: Kernels, precision: Precision, threads: int, forced: list[Forced]
) -> None:
    seeds = range(9200, 9215) if kernels == "native" else range(9300, 9304)
    check_mixes(runner_of(checkpoint, kernels, precision, threads), oracle_of(checkpoint, kernels, precision), seeds, most=7)
    assert sum(policy.freezes for policy in forced) > len(seeds)
    assert sum(policy.sent_away for policy in forced) > len(seeds)
    assert sum(policy.swapping.blocks_in for policy in forced) > len(seeds)
    assert len(forced) == len(seeds)


def test_every_kind_at_once_gives_the_bits_of_the_oracle(
    checkpoint: Path, runner: Runner, kernels: Kernels, forced: list[Forced]
) -> None:
    outcomes = drive(CONFIG, runner.run, [Arrival(place, request) for place, request in enumerate(REQUESTS)])
    assert [bits(outcomes[place]) for place in range(len(REQUESTS))] == oracle_of(checkpoint, kernels, "fp32")
    assert forced[0].freezes >= 4


@pytest.mark.parametrize("block", range(3))
def test_whatever_happens_each_reads_its_own_tokens(block: int, forced: list[Forced]) -> None:
    lives = [lived(seed) for seed in range(1000 + block * 40, 1025 + block * 40)]
    assert sum(life.finished for life in lives) > 120
    assert sum(policy.freezes for policy in forced) > 25
    assert sum(policy.abandoned_passes for policy in forced) > 0


def test_trunks_that_slide_end_with_all_their_alternates(forced: list[Forced]) -> None:
    played = Played()
    played.add(Score(WINDOW, SHARED), *(alternate(at) for at in range(20, 380, 6)))
    assert {outcome.state for outcome in played.run().values()} == {"finished"}
    assert forced[0].freezes > 0


def played(kind: type[FreezingScheduler], runner: Runner) -> tuple[FreezingScheduler, dict[int, bytes], list[int]]:
    """What a scheduler of a kind made of all requests at once: their bits, and the rows of every step."""
    policy, rows = kind(CONFIG, BlockPool(CONFIG.blocks), LIMITS, lambda: 0.0), []

    def run(batch: Batch) -> list[RowOutput] | None:
        rows.append([(row.handle, row.start, len(row.tokens)) for row in batch.rows])
        return runner.run(batch)

    arrivals = [Arrival(place, request, step=place // 4) for place, request in enumerate(REQUESTS)]
    outcomes = drive(CONFIG, run, arrivals, planned=policy)
    return policy, {handle: bits(outcome) for handle, outcome in outcomes.items()}, rows


def test_out_of_sight_every_step_has_the_rows_and_every_result_the_bits_that_it_would_have(runner: Runner) -> None:
    plain, results, rows = played(FreezingScheduler, runner)
    disturbed, results_then, rows_then = played(OutOfSight, runner)
    assert (results_then, rows_then) == (results, rows)
    assert (disturbed.steps, disturbed.tokens, disturbed.evictions) == (plain.steps, plain.tokens, plain.evictions)
    assert disturbed.returned >= 3
    assert disturbed.interludes >= 3


class ForcedLife(FrozenLife):
    """The random life of `test_freezing_life`, whose second steps are disturbed as well."""


class ForcedSlidingLife(FrozenSlidingLife):
    """The same with a sliding window."""


TestForcedLife, TestForcedSlidingLife = ForcedLife.TestCase, ForcedSlidingLife.TestCase
TestForcedLife.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
TestForcedSlidingLife.settings = settings(max_examples=20, stateful_step_count=40, deadline=None)
