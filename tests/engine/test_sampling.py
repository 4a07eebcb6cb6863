"""Draws depend on logits, seed, sample and position, and on nothing else."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.request import Sampling
from engine.sampling import draw, uniform

LOGITS = np.array([0.5, 2.0, -1.0, 2.0, 1.0], dtype=np.float32)


def test_ties_go_to_the_lowest_id() -> None:
    assert draw(LOGITS, Sampling(), 7) == 1
    assert {draw(LOGITS, Sampling(temperature=1.0, top_k=1, seed=seed), 0) for seed in range(20)} == {1}


@given(st.integers(0, 2**64 - 1), st.integers(0, 1000), st.integers(0, 2**40))
def test_a_uniform_number_is_reproducible_and_below_one(seed: int, sample: int, position: int) -> None:
    value = uniform(seed, sample, position)
    assert 0.0 <= value < 1.0
    assert value == uniform(seed, sample, position)


def test_seed_sample_and_position_each_change_the_number() -> None:
    assert len({uniform(1, 2, 3), uniform(2, 2, 3), uniform(1, 3, 3), uniform(1, 2, 4), uniform(2, 1, 3)}) == 5


def test_philox_numbers_are_pinned() -> None:
    """A library that changed its generator would silently change every stored sample."""
    raw = np.random.Philox(key=np.array([5, 1], dtype=np.uint64), counter=[9, 0, 0, 0]).random_raw()
    assert uniform(5, 1, 9) == (int(raw) >> 11) / 2**53


def test_draws_follow_the_distribution() -> None:
    counts = np.bincount([draw(LOGITS, Sampling(temperature=0.7, seed=3), position) for position in range(4000)], minlength=5)
    expected = np.exp(LOGITS / 0.7) / np.exp(LOGITS / 0.7).sum()
    assert np.abs(counts / 4000 - expected).max() < 0.03


def test_top_k_draws_no_other_token() -> None:
    drawn = {draw(LOGITS, Sampling(temperature=5.0, top_k=3, seed=1), position) for position in range(500)}
    assert drawn == {1, 3, 4}
