"""Single characters: our vocab.json, and the tokenizer.json of MarinDNA with 8 ids in lower case."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerFast

from engine.errors import ModelRefused, UnknownSymbol
from engine.tokenizers.choosing import from_folder
from engine.tokenizers.interface import Encoded
from engine.tokenizers.vocab_json import from_symbols
from tests.engine.tokenizers import layouts


@pytest.mark.parametrize("bases", ["ACGTACGT", "acgtACGT", "ACGNRYACGT", "NNNN", "", "A-C*G"])
def test_the_ids_of_marindna_are_those_of_the_published_class(tmp_path: Path, bases: str) -> None:
    ours = from_folder(layouts.marindna(tmp_path))
    published = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    assert [*ours.before, *ours.encode(bases).ids, ours.eos] == published(bases)["input_ids"]
    assert (ours.before, ours.eos, ours.size, ours.width) == ((2,), 3, 8, 1)


def test_a_character_without_an_id_is_unknown_and_every_base_is_one_token(tmp_path: Path) -> None:
    ours = from_folder(layouts.marindna(tmp_path))
    assert ours.encode("acgNtR") == Encoded((4, 5, 6, 1, 7, 1), range(7), (3, 5))
    assert ours.decode((2, 4, 5, 1, 6, 7, 3, 99)) == "ACGT"
    assert [ours.beginning_with(base) for base in "ACGTN"] == [(4,), (5,), (6,), (7,), ()]


def test_merges_that_are_none_make_characters_of_byte_pairs(tmp_path: Path) -> None:
    vocabulary = {"[UNK]": 0, "A": 1, "C": 2, "G": 3, "T": 4, "N": 5}
    raw = {"model": {"type": "BPE", "vocab": vocabulary, "merges": [], "unk_token": "[UNK]"}}
    found = from_folder(layouts.write(tmp_path, tokenizer=raw))
    assert (found.width, found.encode("acgnr")) == (1, Encoded((1, 2, 3, 5, 0), range(6), (4,)))


def test_words_in_a_tokenizer_json_are_trimmed_as_other_words_are(tmp_path: Path) -> None:
    found = from_folder(layouts.write(tmp_path, tokenizer=layouts.single_letters(width=3).to_str()))
    published = PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    assert [*found.before, *found.encode("ACGTTGANA").ids, 3] == published("ACGTTGANA")["input_ids"]
    assert (found.encode("TTACG").trimmed, found.encode("TTACG").ids) == (2, found.encode("ACG").ids)


def test_of_a_vocabulary_in_both_cases_the_upper_one_is_read(tmp_path: Path) -> None:
    vocabulary = {letter: number for number, letter in enumerate("acgtACGT")}
    raw = {"model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"}}
    found = from_folder(layouts.write(tmp_path, tokenizer=raw))
    assert found.encode("acGT").ids == (4, 5, 6, 7)


def test_the_upper_case_of_a_letter_is_one_letter() -> None:
    found = from_symbols({"bos": 0, "A": 1, "C": 2, "unk": 3})
    assert found.encode("ßac") == Encoded((3, 1, 2), range(4), (0,))


def test_without_a_place_for_unknown_characters_the_first_one_is_named() -> None:
    with pytest.raises(UnknownSymbol, match="'N' at position 3"):
        from_symbols({"bos": 0, "A": 1, "C": 2}).encode("acnx")


def test_four_bases_are_needed(tmp_path: Path) -> None:
    raw = {"model": {"type": "WordLevel", "vocab": {"A": 0, "C": 1, "G": 2}}}
    with pytest.raises(ModelRefused, match="no token for T"):
        from_folder(layouts.write(tmp_path, tokenizer=raw))


@pytest.mark.parametrize("letters", ["ACG", "acgt", "acgtN"])
def test_a_vocab_json_without_a_base_is_refused_and_not_read_as_unknown(tmp_path: Path, letters: str) -> None:
    vocabulary = {"bos": 0} | {letter: number for number, letter in enumerate(letters, start=1)}
    with pytest.raises(ModelRefused, match=r"vocab\.json holds no token for [AT]; sequences are read in upper case"):
        from_folder(layouts.write(tmp_path, vocab=vocabulary))
