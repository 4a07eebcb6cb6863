"""The passes over a region: every site once, with the stated context before it."""

import pytest

from benchmarks import agreement, saturation, workloads
from benchmarks.saturation import BOS, SITES, WINDOW

CONTIG = workloads.contig(SITES + 2 * WINDOW)


def test_every_site_is_scored_once_with_at_least_a_window_before_it() -> None:
    scored: list[int] = []
    for tokens in saturation.region_passes(CONTIG):
        assert tokens[0] == BOS
        scored.extend(tokens[WINDOW + 1 :])
    assert tuple(scored) == CONTIG[WINDOW : WINDOW + SITES]


def test_passes_cost_about_two_tokens_a_site() -> None:
    assert sum(len(tokens) - 1 for tokens in saturation.region_passes(CONTIG)) / SITES <= 2.05


@pytest.mark.parametrize(("other", "expected"), [([1.0, 2.0, 9.0], 1.0), ([3.0, 2.0, 1.0], -1.0), ([1.0, 3.0, 2.0], 0.5)])
def test_rank_correlation(other: list[float], expected: float) -> None:
    assert saturation.spearman([10.0, 20.0, 30.0], other) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("theirs", "complaint"),
    [([[0.0, 1.005]], ""), ([[0.0, 1.02]], "differ by 0.020"), ([[0.0]], "another length"), ([[0.0, float("nan")]], "nan")],
)
def test_log_probabilities_are_compared_one_by_one(theirs: list[list[float]], complaint: str) -> None:
    found = agreement.each("fp32")("peer", [[0.0, 1.0]], theirs)
    assert complaint in found and bool(found) is bool(complaint)
