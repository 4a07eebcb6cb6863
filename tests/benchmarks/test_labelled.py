"""Labelled variants by our command and by transformers on the same weights: the same area, and scores that agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.labelled import Judged, auroc, compare, judged

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "models" / "ecoli-orf-2k"
LEXA = ROOT / "demo" / "ecoli"


@pytest.mark.skipif(not (MODEL / "model.safetensors").exists(), reason="the bundled model is not there")
@pytest.mark.parametrize("strand", ["forward", "reverse"])
def test_areas_agree_to_a_millionth_and_scores_to_a_thousandth(tmp_path: Path, strand: str) -> None:
    """Every ninth change of lexA that leaves the protein as it is, and as many that do not: this model cannot tell them apart."""
    lines = (LEXA / "lexA_every_snv.vcf").read_text().splitlines(keepends=True)
    silent, missense = ([line for line in lines if f"EFFECT={kind}" in line] for kind in ("synonymous", "missense"))
    kept = [line for line in lines if line.startswith("#") or line in silent[::9] or line in missense[::26]]
    (tmp_path / "some.vcf").write_text("".join(kept))
    files = (MODEL, LEXA / "ecoli536_lexA.fa", tmp_path / "some.vcf")
    found = compare(*files, "EFFECT=missense", "EFFECT=synonymous", window=128, strand=strand)
    assert (found.variants, found.positives) == (99, 51)
    assert found.apart <= 1e-6
    assert 0.2 < found.exact < 0.8
    for one in (found.ours, found.theirs):
        assert abs(one.area - found.exact) <= 1e-6
        assert 0 < one.largest_difference < 1e-4


@pytest.mark.parametrize(
    ("positives", "negatives", "area"), [([2.0, 3.0], [0.0, 1.0], 1.0), ([0.0], [0.0, 1.0], 0.25), ([5.0], [5.0, 5.0], 0.5)]
)
def test_an_area_is_the_share_of_pairs_in_order(positives: list[float], negatives: list[float], area: float) -> None:
    assert auroc(np.array(positives), np.array(negatives)) == area


def test_pairs_in_another_order_are_counted_with_their_distance() -> None:
    labels = np.array([True, False, False, True])
    exact = np.array([0.0, 0.1, 3.0, -1.0])
    found = judged(np.array([0.2, 0.1, 3.0, -1.0]), exact, labels)
    assert (found.area, found.wrong_pairs, found.furthest) == (0.75, 1, pytest.approx(0.1))
    assert found.largest_difference == 0.2
    assert judged(exact, exact, labels) == Judged(1.0, 0.0, 0, 0.0)
