"""Byte pairs from tokenizer.json, as METAGENE-1 and GenomeOcean are published: the ids of the package, and nothing by accident."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as Package
from tokenizers import models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from engine.errors import ModelRefused, UnknownSymbol, UnsupportedTokenizer
from engine.tokenizers.choosing import from_folder
from engine.tokenizers.interface import Tokenizer
from tests.engine.tokenizers import layouts

BASES = layouts.sequence()
PIECES = ["", "A", "ACGT", BASES[:1000], BASES[1000:1010], "N" * 7, "ACGTNNACGT", "ACRYKMGT", "TTTTTTTTTTTTTTTTTTTTTTTTT"]
VOCABULARY = {"[UNK]": 0, "A": 1, "C": 2, "G": 3, "T": 4, "AC": 5, "ACG": 6, "TT": 7}
MERGES = [["A", "C"], ["AC", "G"], ["T", "T"]]


def model(**changes: Any) -> dict[str, Any]:
    return {"type": "BPE", "vocab": VOCABULARY, "merges": MERGES, "unk_token": "[UNK]"} | changes


@pytest.fixture(scope="module", params=[layouts.metagene, layouts.genomeocean], ids=["METAGENE-1", "GenomeOcean"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    layout: Callable[[Path], Path] = request.param
    return layout(tmp_path_factory.mktemp("layout"))


@pytest.fixture(scope="module")
def ours(folder: Path) -> Tokenizer:
    return from_folder(folder)


@pytest.fixture(scope="module")
def published(folder: Path) -> PreTrainedTokenizerFast:
    """As the published class reads the same file, with truncation and padding off."""
    found = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    found.backend_tokenizer.no_truncation()
    found.backend_tokenizer.no_padding()
    return found


@pytest.mark.parametrize("bases", PIECES, ids=range(len(PIECES)))
def test_ids_are_those_of_the_published_class(ours: Tokenizer, published: PreTrainedTokenizerFast, bases: str) -> None:
    assert [*ours.before, *ours.encode(bases).ids, ours.eos] == published(bases)["input_ids"]


@pytest.mark.parametrize("bases", PIECES, ids=range(len(PIECES)))
def test_every_base_lies_in_one_token_of_its_letters(ours: Tokenizer, bases: str) -> None:
    found = ours.encode(bases)
    assert (found.trimmed, found.padded, found.starts[0], found.starts[-1]) == (0, 0, 0, len(bases))
    for number, (start, end) in zip(found.ids, pairwise(found.starts), strict=True):
        assert ours.decode((number,)) in (bases[start:end], "")
        assert (ours.decode((number,)) == "") == (start in found.unknown)


def test_letters_without_a_token_are_unknown_and_n_has_one(ours: Tokenizer) -> None:
    assert ours.encode("ACNNACRYGT").unknown == (6, 7)


def test_lower_case_is_upper_case(ours: Tokenizer) -> None:
    assert ours.encode("acgtnACGT") == ours.encode("ACGTNACGT")


@pytest.mark.parametrize("name", ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"])
def test_no_sequence_can_spell_a_name(ours: Tokenizer, folder: Path, name: str) -> None:
    """Each stands in the vocabulary, whole."""
    found = ours.encode("ACGT" + name + "ACGT")
    (unk,) = {number for number, start in zip(found.ids, found.starts, strict=False) if start == 4}
    assert json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]["[UNK]"] == unk
    assert set(range(4, 4 + len(name))) >= set(found.unknown) > {4, 3 + len(name)}


def test_names_and_marks_of_beginnings_decode_to_no_bases(tmp_path: Path) -> None:
    vocabulary = VOCABULARY | {"PAD": 8, "_": 9, "_A": 10, "<0x47>": 11, "<0xzz>": 12}
    special = {"content": "PAD", "id": 8, "special": True}
    raw = {"added_tokens": [special], "model": model(vocab=vocabulary)}
    found = from_folder(layouts.write(tmp_path, tokenizer=raw))
    assert found.decode((8, 9, 10, 0, 6, 11, 12, 999)) == "AACGG"


def test_truncation_padding_and_dropout_of_a_file_are_left_out(tmp_path: Path) -> None:
    folder = layouts.genomeocean(tmp_path)
    raw = json.loads((folder / "tokenizer.json").read_text())
    assert (raw["truncation"]["max_length"], raw["padding"]["direction"]) == (64, "Left")
    plain = from_folder(folder).encode(BASES[:5000])
    raw["model"]["dropout"] = 0.5
    assert from_folder(layouts.write(folder, tokenizer=raw)).encode(BASES[:5000]) == plain
    assert plain.starts[-1] == 5000


def test_a_million_bases_are_cut_into_tokens_that_hold_them_all(ours: Tokenizer) -> None:
    found = ours.encode(BASES[:1_000_000])
    assert (len(found.starts), found.starts[-1]) == (len(found.ids) + 1, 1_000_000)
    assert ours.decode(found.ids) == BASES[:1_000_000]


def test_which_tokens_begin_with_bases_is_refused(ours: Tokenizer) -> None:
    assert ours.width is None
    with pytest.raises(UnsupportedTokenizer, match="no fixed width"):
        ours.beginning_with("A")


@pytest.mark.parametrize("bases", ["ACGR", "RACG", "TTRTT", "R"])
def test_a_letter_the_package_would_drop_is_refused_with_its_place(tmp_path: Path, bases: str) -> None:
    found = from_folder(layouts.write(tmp_path, tokenizer={"model": model(unk_token=None)}))
    with pytest.raises(UnknownSymbol, match=f"'R' at position {bases.index('R') + 1} is not"):
        found.encode(bases)


def test_unknown_letters_that_share_a_token_are_all_reported(tmp_path: Path) -> None:
    found = from_folder(layouts.write(tmp_path, tokenizer={"model": model(fuse_unk=True)}))
    assert (found.encode("ACGRRYTT").ids, found.encode("ACGRRYTT").unknown) == ((6, 0, 7), (3, 4, 5))


@pytest.mark.parametrize("space", [False, True], ids=["as it is", "a space before"])
def test_symbols_that_stand_for_bytes_are_read(tmp_path: Path, space: bool) -> None:
    alphabet = {symbol: number for number, symbol in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    vocabulary = alphabet | {"AC": 256, "ACG": 257, "ĠAC": 258}
    package = Package(models.BPE(vocabulary, [("A", "C"), ("Ġ", "AC"), ("AC", "G")]))
    package.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=space)
    found = from_folder(layouts.write(tmp_path, tokenizer=package.to_str()))
    for bases in ("ACGTACG", "RACG", "T", "acßgt"):
        encoded = found.encode(bases)
        assert list(encoded.ids) == package.encode(bases.upper().replace("SS", "ß")).ids
        assert (encoded.starts[0], encoded.starts[-1], encoded.unknown) == (0, len(bases), ())
        assert found.decode(encoded.ids) == bases.upper().replace("SS", "")


def test_a_lower_case_vocabulary_is_read_in_upper_case(tmp_path: Path) -> None:
    vocabulary = {"[UNK]" if symbol == "[UNK]" else symbol.lower(): number for symbol, number in VOCABULARY.items()}
    merges = [[left.lower(), right.lower()] for left, right in MERGES]
    raw = {"normalizer": {"type": "Lowercase"}, "model": model(vocab=vocabulary, merges=merges)}
    found = from_folder(layouts.write(tmp_path, tokenizer=raw))
    assert found.encode("ACGttNA").ids == (6, 7, 0, 1)
    assert found.decode((6, 7)) == "ACGTT"


def test_added_letters_are_tokens_and_longer_ones_are_refused(tmp_path: Path) -> None:
    raw = {"added_tokens": [{"content": "N", "id": 8, "special": False}], "model": model()}
    assert from_folder(layouts.write(tmp_path, tokenizer=raw)).encode("ACGN").ids == (6, 8)
    raw["added_tokens"] = [{"content": "TATA", "id": 8, "special": False}]
    with pytest.raises(ModelRefused, match="adds the token 'TATA', which would cut sequences"):
        from_folder(layouts.write(tmp_path, tokenizer=raw))
