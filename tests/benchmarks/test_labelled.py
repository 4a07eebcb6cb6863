"""Labelled variants by our command and by transformers on the same weights: the same area, and scores that agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.labelled import auroc, closer, compare

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
    assert 0.2 < found.ours < 0.8
    assert found.largest_difference < 1e-3
    assert found.apart <= found.undecided < 1e-3


@pytest.mark.parametrize(
    ("positives", "negatives", "area"), [([2.0, 3.0], [0.0, 1.0], 1.0), ([0.0], [0.0, 1.0], 0.25), ([5.0], [5.0, 5.0], 0.5)]
)
def test_an_area_is_the_share_of_pairs_in_order(positives: list[float], negatives: list[float], area: float) -> None:
    assert auroc(np.array(positives), np.array(negatives)) == area


def test_pairs_that_lie_close_are_counted() -> None:
    assert closer(np.array([0.0, 1.0]), np.array([0.5, 1.5, 9.0]), 0.5) == 0.5
