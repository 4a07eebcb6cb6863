"""Tokens a step may compute while memory is short."""

from __future__ import annotations

import pytest

from engine.budget import Budget


def clean(budget: Budget, steps: int) -> int:
    for _ in range(steps):
        budget.note(short=False)
    return budget.now


def test_each_shortage_halves_down_to_the_floor() -> None:
    budget, seen = Budget(2048, 16), []
    for _ in range(9):
        budget.note(short=True)
        seen.append(budget.now)
    assert seen == [1024, 512, 256, 128, 64, 32, 16, 16, 16]
    assert budget.shortages == 9


def test_it_doubles_after_a_while_of_clean_steps_and_never_beyond_its_limit() -> None:
    budget = Budget(100, 16, patience=10)
    budget.shrink()
    budget.shrink()
    assert [clean(budget, 9), clean(budget, 1), clean(budget, 10), clean(budget, 100)] == [25, 50, 100, 100]


def test_a_shortage_begins_the_wait_anew() -> None:
    budget = Budget(64, 16, patience=10)
    budget.shrink()
    clean(budget, 9)
    budget.shrink()
    assert [clean(budget, 9), clean(budget, 1)] == [16, 32]


@pytest.mark.parametrize("limit", [1, 5, 16])
def test_a_limit_below_the_floor_is_kept(limit: int) -> None:
    budget = Budget(limit, 16)
    budget.shrink()
    assert budget.now == limit
