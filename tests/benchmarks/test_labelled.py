"""Labelled variants by our command and by transformers on the same weights: the same area, and scores that agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import labelled
from benchmarks.kept import Kept, Unfinished
from benchmarks.labelled import Agreement, Judged, auroc, compare, judged

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


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """Four silent and four missense changes of lexA."""
    lines = (LEXA / "lexA_every_snv.vcf").read_text().splitlines(keepends=True)
    of_kind = [[line for line in lines if f"EFFECT={kind}" in line] for kind in ("synonymous", "missense")]
    kept = [line for line in lines if line.startswith("#")] + [line for one in of_kind for line in one[::60][:4]]
    (tmp_path / "few.vcf").write_text("".join(kept))
    return tmp_path / "few.vcf"


@pytest.mark.skipif(not (MODEL / "model.safetensors").exists(), reason="the bundled model is not there")
def test_what_is_computed_in_pieces_is_what_is_computed_at_once(few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call ends after one piece of work; nothing is computed twice."""

    def found(keep: Path | None) -> Agreement:
        reference = LEXA / "ecoli536_lexA.fa"
        return compare(MODEL, reference, few, "EFFECT=missense", "EFFECT=synonymous", window=64, strand="forward", keep=keep)

    whole = found(None)
    monkeypatch.setattr(labelled, "_PIECE", 3)
    monkeypatch.setattr(labelled, "_BATCH", 5)
    ended = []
    with monkeypatch.context() as patched:
        patched.setattr(Kept, "go_on", one_piece := _OnePiece())
        while not ended or ended[-1] != whole:
            one_piece.done = 0
            try:
                ended.append(found(tmp_path / "kept"))
            except Unfinished as far:
                ended.append(str(far))
            assert len(ended) < 20
    assert len(ended) > 6
    assert found(tmp_path / "kept") == whole


class _OnePiece:
    """In the place of `Kept.go_on`: the second piece of a call is one too many."""

    done = 0

    def __call__(self, said: str) -> None:
        self.done += 1
        if self.done > 1:
            raise Unfinished(said)


def test_numbers_that_were_kept_are_there_again_and_half_a_line_is_not(tmp_path: Path) -> None:
    Kept(tmp_path / "kept").add({"a": 0.1, "b": -3e-7})
    with (tmp_path / "kept").open("a") as file:
        file.write("c 0x1.8")
    found = Kept(tmp_path / "kept")
    assert (found["a"], found["b"], found.lacking(["c", "a", "c", "d"])) == (0.1, -3e-7, ["c", "d"])
    found.add({"c": 1.0})
    assert Kept(tmp_path / "kept")["c"] == 1.0


def test_where_the_time_is_over_nothing_begins() -> None:
    with pytest.raises(Unfinished, match="half of it"):
        Kept(until=0.0).go_on("half of it")
    Kept().go_on("half of it")
