"""AUROC, placements and the paired test against scipy, brute force and resampling."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from drift import ranking
from drift.measures import NotMeasurable

SCORES = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0, 3.0]), min_size=2, max_size=12)


def delong_by_pairs(before, after):  # type: ignore[no-untyped-def]
    """The covariance form of DeLong et al. over the matrix of all pairs."""
    kernels = []
    for positives, negatives in (before, after):
        kernels.append([[1.0 if p > n else 0.5 if p == n else 0.0 for n in negatives] for p in positives])
    kernel = np.array(kernels)
    rows, columns = kernel.mean(axis=2), kernel.mean(axis=1)
    first, second = np.cov(rows), np.cov(columns)
    joint = first / rows.shape[1] + second / columns.shape[1]
    return float(joint[0, 0] + joint[1, 1] - 2 * joint[0, 1])


class TestAuroc:
    @given(SCORES, SCORES)
    def test_it_is_the_share_of_pairs(self, positives: list[float], negatives: list[float]) -> None:
        pairs = [1.0 if p > n else 0.5 if p == n else 0.0 for p, n in itertools.product(positives, negatives)]
        assert ranking.auroc(positives, negatives) == pytest.approx(np.mean(pairs))
        u = stats.mannwhitneyu(positives, negatives).statistic
        assert ranking.auroc(positives, negatives) == pytest.approx(u / (len(positives) * len(negatives)))

    @pytest.mark.parametrize("bad", [[], [math.nan]], ids=["none", "nan"])
    def test_it_refuses_what_is_no_sample(self, bad: list[float]) -> None:
        with pytest.raises(NotMeasurable):
            ranking.auroc(bad, [1.0])


class TestPaired:
    @given(st.data())
    def test_its_error_is_that_of_the_covariance_form(self, data) -> None:  # type: ignore[no-untyped-def]
        positives, negatives = data.draw(SCORES), data.draw(SCORES)
        moved = st.sampled_from([-1.0, 0.0, 0.5, 2.0, 3.0])
        after = tuple(data.draw(st.lists(moved, min_size=len(group), max_size=len(group))) for group in (positives, negatives))
        found = ranking.paired((positives, negatives), after)
        assert found.error**2 == pytest.approx(delong_by_pairs((positives, negatives), after), abs=1e-12)
        assert found.after == pytest.approx(ranking.auroc(*after))

    def test_the_same_scores_leave_nothing_to_test(self) -> None:
        scores = ([1.0, 2.0, 3.0], [0.0, 1.5])
        found = ranking.paired(scores, scores)
        assert (found.difference, found.z) == (0.0, None)

    def test_pairing_sees_what_two_separate_aurocs_hide(self) -> None:
        generator = np.random.default_rng(8)
        positives, negatives = generator.normal(2.2, 1, 1000), generator.normal(0, 1, 1000)
        after = (positives + generator.normal(0, 0.35, 1000), negatives + generator.normal(0, 0.35, 1000))
        found = ranking.paired((positives, negatives), after)
        assert found.z is not None and found.z < -3
        assert found.error < 0.5 * math.sqrt(2 * 0.0305 / 1000)  # what unpaired scores would have

    @pytest.mark.parametrize(
        ("before", "after"),
        [(([1.0, 2.0], [0.0, 1.0]), ([1.0], [0.0, 1.0])), (([1.0], [0.0, 1.0]), ([1.0], [0.0, 1.0]))],
        ids=["other items", "a single positive"],
    )
    def test_items_must_pair_up(self, before, after) -> None:  # type: ignore[no-untyped-def]
        with pytest.raises(NotMeasurable):
            ranking.paired(before, after)
