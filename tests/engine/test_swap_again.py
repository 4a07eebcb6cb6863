"""What is promised elsewhere, once more with an arena and files, and with everybody sent away in every second step."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from engine.config import Kernels, Precision
from engine.runner import Runner
from engine.swap.content import Outside
from tests.engine import driving
from tests.engine.conftest import CONFIG
from tests.engine.driving import Arrival, bits, drive
from tests.engine.swapping_by_force import Shelf, Shoved
from tests.engine.test_bits import FAST, PLAIN, REQUESTS, check_mixes, oracle_of, runner_of
from tests.engine.test_conservation import CONFIG as TINY
from tests.engine.test_conservation import Life, SlidingLife
from tests.engine.test_freezing_life import FrozenLife
from tests.engine.test_what_blocks_hold import STEPS
from tests.engine.test_what_blocks_hold import Life as RememberingLife


@pytest.fixture
def shoved(monkeypatch: pytest.MonkeyPatch) -> list[Shoved]:
    """Every continuous scheduler that `driving` makes is such a one, with an arena; they are listed."""
    made: list[Shoved] = []

    def make(*arguments: object) -> Shoved:
        made.append(Shoved(*arguments))
        return made[-1]

    monkeypatch.setattr(driving, "FreezingScheduler", make)
    monkeypatch.setattr(driving, "outside_of", lambda config: Outside(config.arena_blocks))
    return made


@pytest.mark.parametrize(("kernels", "precision", "threads"), [FAST[0], FAST[-1], PLAIN[0]])
def test_random_mixes_give_the_bits_of_the_oracle(
    checkpoint: Path, kernels: Kernels, precision: Precision, threads: int, shoved: list[Shoved]
) -> None:
    seeds = range(9400, 9410) if kernels == "native" else range(9500, 9503)
    check_mixes(runner_of(checkpoint, kernels, precision, threads), oracle_of(checkpoint, kernels, precision), seeds, most=7)
    assert sum(policy.swapping.blocks_in for policy in shoved) > 20 * len(seeds)


def test_every_kind_at_once_gives_the_bits_of_the_oracle(
    checkpoint: Path, runner: Runner, kernels: Kernels, shoved: list[Shoved]
) -> None:
    outcomes = drive(CONFIG, runner.run, [Arrival(place, request) for place, request in enumerate(REQUESTS)])
    assert [bits(outcomes[place]) for place in range(len(REQUESTS))] == oracle_of(checkpoint, kernels, "fp32")
    assert shoved[0].swapping.blocks_in > 50


class Kept(RememberingLife):
    """A life of a model that reads its blocks, with an arena and files of any size that work or not."""

    def outside(self) -> Outside:
        slots = self.generator.choice((4, 12, 40, 100))
        faults, cap = self.generator.choice((0.0, 0.0, 0.2)), self.generator.choice((1, 3, 99))
        self.shelf = Shelf(self.generator, faults=faults, cap=cap)
        self.shelf.model = self.model
        return Outside(slots, files=self.generator.choice((None, self.shelf, self.shelf)))

    def happen(self, share: float) -> None:
        """Somebody is put on hold, or goes on, too; also while a step computes."""
        super().happen(share)
        if self.added and self.generator.random() < 0.1:
            self.policy.hold(self.generator.randrange(self.added))
        for handle in list(self.policy._resting):
            if self.generator.random() < 0.3:
                self.policy.release(handle)


def kept(seed: int, *, force: bool) -> Kept:
    life = Kept(seed, "continuous")
    life.policy.swapping.keep = life.generator.choice((0, life.policy.swapping.slots.total // 2))
    for turn in range(STEPS):
        if force and turn % 3 == 2:
            for sequence in list(life.policy._slots):
                life.policy._evict(sequence)
        life.step(open_to_all=True)
    for handle in list(life.policy._resting):
        life.policy.release(handle)
    life.end()
    for _ in range(20):  # what the shelf was still doing for nobody
        life.policy.schedule(0.0)
    assert (life.policy.swapping.slots.used, life.shelf.count) == (0, 0)
    return life


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("block", range(2))
def test_whatever_happens_each_reads_its_own_tokens(block: int, force: bool) -> None:
    lives = [kept(seed, force=force) for seed in range(2000 + block * 30, 2030 + block * 30)]
    assert sum(life.finished for life in lives) > 150
    assert sum(life.policy.swapping.blocks_in for life in lives) > (200 if force else 0)
    assert sum(life.shelf.read_files for life in lives) > (10 if force else 0)
    assert sum(life.policy.swapping.recomputed for life in lives) > 0


class SwappedLife(Life):
    """A random life with an arena of six slots and files that fail at times."""

    def outside(self) -> Outside:
        self.shelf = Shelf(random.Random(1), faults=0.1, cap=4)
        return Outside(6, files=self.shelf)

    @rule(handle=st.integers(0, 60))
    def shove(self, handle: int) -> None:
        sequence = self.policy._by_handle.get(handle)
        if sequence is not None and sequence.running and handle not in self.policy.held:
            self.policy._evict(sequence)

    @rule(keep=st.integers(0, 6))
    def fill(self, keep: int) -> None:
        self.policy.swapping.keep = keep

    @rule()
    def forget(self) -> None:
        self.policy.forget()

    def teardown(self) -> None:
        super().teardown()
        for _ in range(40):
            self.policy.schedule(0.0)
        assert (self.policy.swapping.slots.used, self.policy.pool.draining, self.shelf.count) == (0, 0, 0)
        assert self.policy.config.blocks == TINY.blocks


class SwappedSlidingLife(SwappedLife):
    """The same with a sliding window."""

    limits = SlidingLife.limits


class SwappedFrozenLife(SwappedLife, FrozenLife):
    """The same with passes that are stopped."""


TestSwappedLife, TestSwappedSlidingLife = SwappedLife.TestCase, SwappedSlidingLife.TestCase
TestSwappedFrozenLife = SwappedFrozenLife.TestCase
TestSwappedLife.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestSwappedSlidingLife.settings = settings(max_examples=20, stateful_step_count=40, deadline=None)
TestSwappedFrozenLife.settings = settings(max_examples=20, stateful_step_count=40, deadline=None)
