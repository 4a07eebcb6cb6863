"""The BRCA1 measure reads its table right and tells the classes apart when a model does."""

import gzip

import numpy as np
import pytest

from models.training import brca1
from models.training.genome import decode, encode, reverse_complement

BASES = np.random.default_rng(3).integers(4, size=2_000).astype(np.uint8)
COLUMNS = ("pos_grch37", "ref", "alt", "func.class", "consequence", "CADD.score", "phyloP (mammalian)")


@pytest.fixture
def data(tmp_path):
    """Four variants 900 bases into a made-up reference; the lost ones have the higher CADD score and the lower phyloP."""
    for name in (brca1.TABLE, brca1.REFERENCE):
        (tmp_path / name).parent.mkdir()
    with gzip.open(tmp_path / brca1.REFERENCE, "wt") as file:
        file.write(f">made up\n{decode(BASES)}\n")
    rows = [COLUMNS]
    for place, kind, effect, score in (
        (900, "LOF", "Nonsense", 9),
        (901, "LOF", "Missense", 8),
        (902, "FUNC", "Missense", 1),
        (903, "INT", "Intronic", 2),
    ):
        ref = decode(BASES[place : place + 1])
        rows.append((brca1.REFERENCE_START + place, ref, "A" if ref != "A" else "C", kind, effect, score, -score))
    (tmp_path / brca1.TABLE).write_text("\n".join("\t".join(map(str, row)) for row in rows) + "\n")
    return tmp_path


def test_each_score_is_compared_on_the_same_variants(data, monkeypatch):
    monkeypatch.setattr(brca1, "model_deltas", lambda network, reference, changes: -np.arange(len(changes), dtype=float))
    figures = brca1.brca1(None, data, seed=0)
    assert (figures["variants"], figures["lost"]) == (4, 2)
    assert [figures[name]["auroc"] for name in ("model", "CADD", "phyloP", "consequence")] == [0.0, 1.0, 0.0, 0.875]


def test_a_table_that_disagrees_with_the_reference_is_refused(data):
    reference = brca1.read_reference(data / brca1.REFERENCE)
    reference[900] = (reference[900] + 1) % 4
    with pytest.raises(brca1.ReferenceMismatch):
        brca1.read_table(data / brca1.TABLE, reference)


def test_windows_are_read_on_the_minus_strand_with_the_variant_in_them():
    window = reverse_complement(brca1.sense_window(BASES, 900, "N"))
    assert np.flatnonzero(window == encode("N")[0]).tolist() == [brca1.WINDOW // 2]
    assert window[:100].tolist() == BASES[900 - brca1.WINDOW // 2 :][:100].tolist()
