"""What the drift monitors are tried on, and that calls are counted where they belong."""

import math
from collections.abc import Iterator

import numpy as np
import pytest

from benchmarks import drift as measured
from benchmarks import drift_labels
from benchmarks.drift_worlds import Change, Replayed, Simulated
from drift import measures
from drift.streams import Window
from drift.thresholds import WINDOWS


@pytest.mark.parametrize("world", [Simulated, Replayed])
class TestWorlds:
    def test_the_same_seed_gives_the_same_traffic(self, world: type[Simulated] | type[Replayed]) -> None:
        first, second = (list(world(5).windows("w", 2000, 2, Change())) for _ in range(2))
        assert first == second
        assert [sum(window.counts) for window in first] == [2000, 2000]

    def test_a_change_begins_where_it_says(self, world: type[Simulated] | type[Replayed]) -> None:
        made = world(5)
        windows = list(made.windows("w", 2000, 4, Change(shift=0.5, since=2)))
        distances = [measures.kolmogorov_smirnov(window.counts, made.reference.tolist()) for window in windows]
        assert max(distances[:2]) < 0.12 < min(distances[2:])


class Scripted:
    """A world whose every window lies where it is told to."""

    edges = np.array([-1.0, 0.0, 1.0])
    reference = np.array([0, 5000, 5000, 0])

    def __init__(self, far: set[int]) -> None:
        self._far = far

    def windows(self, name: str, size: int, number: int, _change: Change) -> Iterator[Window]:
        for place in range(number):
            share = 1.0 if place in self._far else 0.5
            yield Window(f"{name} {place}", (0, round(size * (1 - share)), round(size * share), 0), share)


class TestCounting:
    LEARN = WINDOWS.fitted + WINDOWS.burn_in

    def follow(self, far: set[int], change: Change) -> measured.Seen:
        seen = measured.Seen()
        measured._one(seen, Scripted(far), "s", 2000, 10, change)  # type: ignore[arg-type]
        return seen

    def test_a_call_before_the_change_is_false_and_one_after_it_a_delay(self) -> None:
        seen = self.follow({self.LEARN + 1, self.LEARN + 6}, Change(shift=1, since=self.LEARN + 4))
        assert (seen.windows, seen.calls, seen.delays) == (4, 1, [3])

    def test_where_nothing_calls_the_delay_has_no_end(self) -> None:
        seen = self.follow(set(), Change(shift=1, since=self.LEARN + 4))
        assert (seen.calls, seen.delays) == (0, [math.inf])
        assert seen.within(0.9) == math.inf

    def test_calls_while_it_learns_are_not_counted(self) -> None:
        assert self.follow({3}, Change()).calls == 0


class TestLabels:
    def test_more_items_find_more(self) -> None:
        few, many = (drift_labels.paired_power(np.random.default_rng(3), 0.94, 0.93, size, 40) for size in (250, 2000))
        assert few < 0.5 < many

    def test_the_bundled_model_has_the_auroc_of_its_card(self) -> None:
        assert 0.99 < drift_labels.bundled_auroc() <= 1

    def test_a_loss_is_found_and_none_is_not(self) -> None:
        assert drift_labels.followed(np.random.default_rng(1), 0.89, 2000) <= 2000
        assert drift_labels.followed(np.random.default_rng(1), drift_labels.VALIDATED, 500) == 501
