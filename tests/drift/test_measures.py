"""Measures from counts against scipy and against the raw values."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial import distance

from drift import measures
from drift.measures import NotMeasurable

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)
SAMPLES = st.lists(NUMBERS, min_size=1, max_size=80)
WITH_TIES = st.lists(st.sampled_from([-2.5, 0.0, 0.25, 1.0, 7.0]), min_size=1, max_size=80)
COUNTS = st.lists(st.integers(0, 1000), min_size=6, max_size=6).filter(any)


def samples(shift: float = 0.3, size: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(20261201)
    return generator.normal(shift, 1.1, size), generator.normal(0, 1, size)


class TestEdges:
    def test_bins_of_a_reference_hold_equal_shares_and_none_overflows(self) -> None:
        _, reference = samples()
        counts = measures.counted(reference, measures.edges_of(reference))
        assert len(counts) == 66 and counts[0] == counts[-1] == 0
        assert counts[1:-1].min() >= 20_000 // 64 - 1 and counts[1:-1].max() <= 20_000 // 64 + 2

    @given(SAMPLES | WITH_TIES)
    def test_every_value_of_the_reference_is_inside(self, values: list[float]) -> None:
        counts = measures.counted(values, measures.edges_of(values))
        assert counts.sum() == len(values) and counts[0] == counts[-1] == 0

    @given(SAMPLES | WITH_TIES, SAMPLES | WITH_TIES)
    def test_counts_are_those_of_a_loop(self, values: list[float], reference: list[float]) -> None:
        """As Postgres' width_bucket(value, thresholds): 0 below the first, otherwise the number of thresholds at or below."""
        edges = measures.edges_of(reference)
        brute = [0] * (len(edges) + 1)
        for value in values:
            brute[sum(edge <= value for edge in edges)] += 1
        assert measures.counted(values, edges).tolist() == brute

    @given(SAMPLES, SAMPLES)
    def test_windows_add_up_exactly(self, first: list[float], second: list[float]) -> None:
        edges = measures.edges_of([*first, *second])
        parts = [measures.counted(part, edges) for part in (first, second)]
        assert measures.added(parts).tolist() == measures.counted([*first, *second], edges).tolist()

    @pytest.mark.parametrize("bad", [[], [1.0, math.nan], [math.inf, 2.0]], ids=["none", "nan", "inf"])
    def test_nothing_and_no_number_are_refused(self, bad: list[float]) -> None:
        with pytest.raises(NotMeasurable):
            measures.edges_of(bad)

    def test_an_empty_window_counts_nothing(self) -> None:
        assert measures.counted([], [0.0, 1.0]).tolist() == [0, 0, 0]


class TestKolmogorovSmirnov:
    @pytest.mark.parametrize("shift", [0.0, 0.02, 0.3, 2.0])
    def test_it_is_below_the_raw_distance_by_less_than_a_bin(self, shift: float) -> None:
        now, reference = samples(shift)
        edges = measures.edges_of(reference)
        binned = measures.kolmogorov_smirnov(measures.counted(now, edges), measures.counted(reference, edges))
        raw = stats.ks_2samp(now, reference).statistic
        assert raw - 1.2 / 64 <= binned <= raw + 1e-12

    @given(WITH_TIES, WITH_TIES)
    def test_with_an_edge_at_every_value_it_is_the_raw_distance(self, now: list[float], reference: list[float]) -> None:
        edges = np.unique([*now, *reference])
        binned = measures.kolmogorov_smirnov(measures.counted(now, edges), measures.counted(reference, edges))
        raw = max(abs(np.mean(np.array(now) <= place) - np.mean(np.array(reference) <= place)) for place in edges)
        assert binned == pytest.approx(raw, abs=1e-12)

    def test_it_is_one_where_nothing_overlaps(self) -> None:
        assert measures.kolmogorov_smirnov([5, 0, 0], [0, 0, 9]) == 1.0


class TestPopulationStability:
    @given(COUNTS, COUNTS)
    def test_it_is_the_sum_of_both_relative_entropies(self, now: list[int], reference: list[int]) -> None:
        first, second = (np.array(counts) + measures.SMOOTHING for counts in (now, reference))
        both = stats.entropy(first, second) + stats.entropy(second, first)
        assert measures.population_stability(now, reference) == pytest.approx(both, abs=1e-12)

    @pytest.mark.parametrize("bins", [3, 10, 66])
    @pytest.mark.parametrize("level", [0.95, 0.99, 0.999])
    def test_the_line_of_chance_is_the_quantile_of_chi_square(self, bins: int, level: float) -> None:
        counts = [100] * bins
        exact = 2 / (100 * bins) * stats.chi2.ppf(level, bins - 1)
        assert measures.stability_of_chance(counts, counts, level) == pytest.approx(exact, rel=0.01 if bins > 3 else 0.03)

    def test_independent_samples_stay_below_the_line_of_chance_as_often_as_it_says(self) -> None:
        generator = np.random.default_rng(3)
        reference = generator.multinomial(1_000_000, [1 / 64] * 64)
        above = 0
        for _ in range(500):
            now = generator.multinomial(20_000, [1 / 64] * 64)
            above += measures.population_stability(now, reference) > measures.stability_of_chance(now, reference, 0.9)
        assert 30 <= above <= 70  # 50 expected


class TestJensenShannon:
    @given(COUNTS, COUNTS)
    def test_it_is_the_distance_of_scipy(self, now: list[int], reference: list[int]) -> None:
        expected = distance.jensenshannon(now, reference, base=2)
        assert measures.jensen_shannon(now, reference) == pytest.approx(0.0 if math.isnan(expected) else expected, abs=1e-7)

    def test_it_is_one_where_no_bin_is_shared(self) -> None:
        assert measures.jensen_shannon([3, 0], [0, 8]) == 1.0


class TestWasserstein:
    @pytest.mark.parametrize(("shift", "within"), [(0.0, 0.01), (0.05, 0.01), (0.3, 0.02), (2.0, 0.15)])
    def test_it_is_near_the_raw_distance(self, shift: float, within: float) -> None:
        """Farther off where much mass lies in the bin beyond the last edge, whose inside nobody counted."""
        now, reference = samples(shift)
        edges = measures.edges_of(reference)
        spans = ((now.min(), now.max()), (reference.min(), reference.max()))
        binned = measures.wasserstein(measures.counted(now, edges), measures.counted(reference, edges), edges, spans)
        assert binned == pytest.approx(stats.wasserstein_distance(now, reference), abs=within)

    @settings(max_examples=60)
    @given(SAMPLES, SAMPLES)
    def test_it_is_the_area_between_two_broken_lines(self, now: list[float], reference: list[float]) -> None:
        """Against the integral taken piece by piece in a fine grid that holds every crossing."""
        edges = measures.edges_of(reference, bins=5)
        spans = ((min(now), max(now)), (min(reference), max(reference)))
        counts = [measures.counted(values, edges) for values in (now, reference)]
        places = np.array([min(edges[0], min(now)), *edges, max(edges[-1], max(now))])
        grid = np.linspace(0, 1, 2001)
        brute = 0.0
        lines = [np.concatenate([[0.0], np.cumsum(c) / c.sum()]) for c in counts]
        for place in range(len(places) - 1):
            width = places[place + 1] - places[place]
            gap = np.interp(grid, [0, 1], (lines[0] - lines[1])[place : place + 2])
            brute += width * float(np.trapezoid(np.abs(gap), grid))
        found = measures.wasserstein(*counts, edges, spans)
        assert found == pytest.approx(brute, rel=1e-5, abs=1e-9)

    def test_edges_of_another_reference_are_refused(self) -> None:
        with pytest.raises(NotMeasurable, match="bins"):
            measures.wasserstein([1, 2], [1, 2], [0.0, 1.0], ((0, 1), (0, 1)))


class TestEstimatedAuroc:
    def test_it_is_the_true_one_where_chances_are_calibrated(self) -> None:
        generator = np.random.default_rng(5)
        truth = generator.random(200_000) < 0.3
        scores = np.where(truth, generator.normal(2.2, 1, 200_000), generator.normal(0, 1, 200_000))
        edges = measures.edges_of(scores)
        counts = measures.counted(scores, edges)
        positive = measures.counted(scores[truth], edges)
        chances = np.divide(positive, counts, out=np.zeros(len(counts)), where=counts > 0)
        true = stats.mannwhitneyu(scores[truth], scores[~truth]).statistic / (truth.sum() * (~truth).sum())
        assert measures.estimated_auroc(counts, chances) == pytest.approx(true, abs=0.001)

    def test_one_class_has_none(self) -> None:
        assert math.isnan(measures.estimated_auroc([4, 5], [1.0, 1.0]))

    @pytest.mark.parametrize("chances", [[0.5], [0.5, 1.5], [-0.1, 0.2]], ids=["fewer", "above", "below"])
    def test_what_is_no_chance_is_refused(self, chances: list[float]) -> None:
        with pytest.raises(NotMeasurable):
            measures.estimated_auroc([4, 5], chances)


@pytest.mark.parametrize("measure", [measures.kolmogorov_smirnov, measures.population_stability, measures.jensen_shannon])
class TestWhatCannotBeCompared:
    def test_equal_counts_have_no_distance(self, measure) -> None:  # type: ignore[no-untyped-def]
        assert measure([3, 0, 9], [3, 0, 9]) == 0

    @pytest.mark.parametrize(
        ("now", "reference"), [([1, 2], [1, 2, 3]), ([0, 0], [1, 2]), ([1, -1], [1, 2])], ids=["other bins", "empty", "below zero"]
    )
    def test_it_is_refused(self, measure, now: list[int], reference: list[int]) -> None:  # type: ignore[no-untyped-def]
        with pytest.raises(NotMeasurable):
            measure(now, reference)
