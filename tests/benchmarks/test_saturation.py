"""The scan of a region and the windows it is held against."""

from pathlib import Path

import pytest

from benchmarks import agreement, models, saturation, workloads
from benchmarks.options import Options
from benchmarks.saturation import SITES, WINDOW, Region
from engine import Protocol
from engine.request import Score
from engine.tokenizers.choosing import from_folder

CONTIG = workloads.contig(SITES + 2 * WINDOW)


@pytest.fixture
def region(tiny_model: Path) -> Region:
    return Region(CONTIG, from_folder(tiny_model))


def test_the_scan_scores_every_site_once_after_the_same_context(region: Region) -> None:
    """What stands in the last site of a pass is not read: only what may stand there is weighed."""
    requests = region.scan().requests
    read = [region.tokenizer.decode(request.tokens[request.alternatives_from : -1]) for request in requests]
    end = WINDOW + SITES
    assert read == [CONTIG[start : min(start + WINDOW, end) - 1] for start in range(WINDOW, end, WINDOW)]
    assert {request.alternatives_from for request in requests} == {WINDOW + 1}


def test_a_site_of_the_sample_has_three_changes_at_the_middle_of_its_window(region: Region) -> None:
    plans = list(region.variants(Protocol("centred", WINDOW), [0, SITES - 1]))
    assert len(plans) == 6
    for plan in plans:
        reference, alternate = plan.requests
        assert isinstance(reference, Score)
        assert isinstance(alternate, Score)
        places = zip(reference.scored, alternate.scored, strict=True)
        assert [at for at, (one, other) in enumerate(places) if one != other] == [WINDOW // 2]


def test_saturation_gives_its_figures(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "folder", lambda _shape=None: tiny_model)
    monkeypatch.setattr(saturation, "WINDOW", 64)
    monkeypatch.setattr(saturation, "SITES", 128)
    figures = saturation.saturation(Options(quick=True)).figures
    assert set(figures) == {"tokens_per_site", "ratio_to_variants", "max_abs_delta", "spearman"}
    assert figures["tokens_per_site"] == 2.0
    assert -1 <= figures["spearman"] <= 1


@pytest.mark.parametrize(("other", "expected"), [([1.0, 2.0, 9.0], 1.0), ([3.0, 2.0, 1.0], -1.0), ([1.0, 3.0, 2.0], 0.5)])
def test_rank_correlation(other: list[float], expected: float) -> None:
    assert saturation.spearman([10.0, 20.0, 30.0], other) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("theirs", "complaint"),
    [([[0.0, 1.015]], ""), ([[0.0, 1.04]], "differ by 0.020"), ([[0.0]], "another length"), ([[0.0, float("nan")]], "nan")],
)
def test_log_probabilities_are_compared_one_by_one(theirs: list[list[float]], complaint: str) -> None:
    found = agreement.each("fp32")("peer", [[0.0, 1.0]], theirs)
    assert complaint in found
    assert bool(found) is bool(complaint)
