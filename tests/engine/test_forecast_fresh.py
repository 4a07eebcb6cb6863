"""What is foretold holds for loads that nothing was tuned on: at least eight in ten requests end in the range they were told."""

from __future__ import annotations

import statistics

import pytest

from engine.forecast import Coming
from engine.request import Priority
from tests.engine.random_loads import KINDS, Load, Told

pytestmark = pytest.mark.undisturbed("counts steps")

FIRST, LOADS = 314_159, 16  # seeds; those for mending began elsewhere


def played(kind: str) -> list[Told]:
    return [one for seed in range(FIRST, FIRST + LOADS) for one in Load(seed, KINDS[kind]).play()]


@pytest.mark.parametrize("kind", KINDS)
def test_eight_in_ten_end_in_the_range_they_were_told(kind: str) -> None:
    """And the range is no wider than what is to come, give or take: one that holds everything says nothing."""
    told = played(kind)
    assert len(told) > 100
    assert statistics.mean(one.held for one in told) >= 0.8
    assert statistics.median((one.forecast.latest - one.forecast.earliest) / (one.forecast.finish - one.at) for one in told) < 1.5
    assert 0.6 < statistics.median((one.ended - one.at) / (one.forecast.finish - one.at) for one in told) < 1.25


def test_control_without_what_comes_before_it_the_range_would_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Coming, "add", lambda self, tokens: None)
    waited = [one for one in played("others come before") if one.priority is Priority.ROUTINE]
    assert statistics.mean(one.held for one in waited) < 0.8


def test_what_came_once_is_not_expected_again_and_what_comes_often_is() -> None:
    once, often = Coming(), Coming()
    for step in range(400):
        if step == 0:
            once.add(10_000)
        if step % 20 == 0:
            often.add(100)
        for coming in (once, often):
            coming.step()
    assert (once.tokens, once.pieces) == (0.0, 0.0)
    assert often.tokens == pytest.approx(5.0, rel=0.3)
    assert often.each == pytest.approx(100.0)
