"""6-mers between tags, as Carbon reads them: the tag before every sequence, the last word filled up with A, both said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.errors import ModelRefused
from engine.tokenizers.choosing import from_folder
from engine.tokenizers.interface import Encoded, Tokenizer
from tests.engine.tokenizers import layouts

FIRST = 151_669


@pytest.fixture(scope="module")
def carbon(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return from_folder(layouts.carbon(tmp_path_factory.mktemp("carbon")))


def test_the_tag_stands_before_every_sequence_and_the_closing_one_ends_it(carbon: Tokenizer) -> None:
    """The end that tokenizer_config.json names is that of English text."""
    assert (carbon.before, carbon.eos, carbon.width) == ((FIRST,), FIRST + 1, 6)
    assert carbon.encode("").ids == ()


def test_words_have_the_published_ids(carbon: Tokenizer) -> None:
    assert carbon.encode("ATCGATCGATCG").ids == (FIRST + 3 + 433, FIRST + 3 + 2843)
    assert carbon.encode("CCCCCC").ids == (154_402,)  # and not the English token of these letters


@pytest.mark.parametrize("length", range(1, 20))
def test_the_last_word_is_filled_up_with_a_on_the_right_and_that_is_counted(carbon: Tokenizer, length: int) -> None:
    bases = layouts.sequence()[:length]
    found = carbon.encode(bases)
    assert (found.padded, found.trimmed) == (-length % 6, 0)
    assert carbon.decode(found.ids) == bases + "A" * found.padded
    assert list(found.starts) == [*range(0, length, 6), length]


def test_a_strange_letter_makes_only_bases_that_were_given_unknown(carbon: Tokenizer) -> None:
    assert carbon.encode("ATCGATN") == Encoded((FIRST + 3 + 433, FIRST + 2), (0, 6, 7), (6,), padded=5)


def test_lower_case_is_upper_case(carbon: Tokenizer) -> None:
    """Soft-masked repeats are bases like others."""
    assert carbon.encode("atcgATCGatcg") == carbon.encode("ATCGATCGATCG")
    assert carbon.encode("ccc") == carbon.encode("CCC")


@pytest.mark.parametrize(
    ("bases", "unknown"),
    [
        ("NTCGATATCGAT", range(6)),
        ("ATCNATATCGAT", range(6)),
        ("ATCGATATCGAN", range(6, 12)),
        ("ATCGATRY", range(6, 8)),
        ("NNNNNNN", range(7)),
        ("ATCGATAUCGAU", range(6, 12)),
    ],
    ids=["first", "inside", "last", "in the word that is filled up", "all", "RNA"],
)
def test_one_strange_letter_makes_its_whole_word_unknown(carbon: Tokenizer, bases: str, unknown: range) -> None:
    found = carbon.encode(bases)
    assert found.unknown == tuple(unknown)
    assert {number == FIRST + 2 for number, start in zip(found.ids, found.starts, strict=False) if start in unknown} == {True}
    assert carbon.decode(found.ids) == bases[: unknown.start] + bases[unknown.stop :]


TAGGED = {
    "tags": "<dna>ATCGAT</dna>",
    "no end": "<dna>ATCGAT",
    "no beginning": "ATCGAT</dna>",
    "nested": "<dna>ATC<dna>GAT</dna></dna>",
    "two": "<dna>ATCGAT</dna><dna>ATCGAT</dna>",
    "empty": "<dna></dna>",
    "text before": "a gene: <dna>ATCGAT</dna>",
    "text behind": "<dna>ATCGAT</dna> ends here",
    "upper case": "<DNA>ATCGAT</DNA>",
}


@pytest.mark.parametrize("text", TAGGED.values(), ids=TAGGED)
def test_no_text_opens_or_closes_a_sequence(carbon: Tokenizer, text: str) -> None:
    """Whoever brings tags of his own would have them twice: they are letters that no word holds, and every one is said."""
    found = carbon.encode(text)
    assert {FIRST, FIRST + 1}.isdisjoint(found.ids)
    strange = {place for place, symbol in enumerate(text.upper()) if symbol not in "ACGT"}
    assert strange <= set(found.unknown)
    assert list(found.starts) == [*range(0, len(text), 6), len(text)]


def test_tokens_that_only_fill_the_vocabulary_up_are_no_words(tmp_path: Path, carbon: Tokenizer) -> None:
    """The published list goes on to a multiple of 128."""
    folder = layouts.carbon(tmp_path)
    described = json.loads((folder / "dna_config.json").read_text())
    described["dna_token_to_id"] |= {f"<unused_{number}>": FIRST + 3 + 4**6 + number for number in range(8)}
    found = from_folder(layouts.write(folder, dna_config=described))
    assert (found.size, found.width, found.before) == (carbon.size, carbon.width, carbon.before)
    assert found.encode("<unused_0>").ids == carbon.encode("<unused_0>").ids


@pytest.mark.parametrize("others", [{}, {"tokenizer": {"model": {"type": "BPE", "vocab": {"A": 0, "C": 1, "G": 2, "T": 3}}}}])
def test_a_folder_that_lost_its_description_is_not_read_as_english(tmp_path: Path, others: dict[str, object]) -> None:
    folder = layouts.write(layouts.carbon(tmp_path), **others)
    (folder / "dna_config.json").unlink()
    with pytest.raises(ModelRefused, match=r"dna_config\.json is missing, .* would read a sequence as English"):
        from_folder(folder)


def test_english_ids_give_no_bases(carbon: Tokenizer) -> None:
    assert carbon.decode((1, FIRST, 154_402, FIRST + 1)) == "CCCCCC"


def test_the_layout_is_computed_where_the_tokens_are_not_listed(tmp_path: Path, carbon: Tokenizer) -> None:
    computed = from_folder(layouts.carbon(tmp_path, listed=False))
    bases = layouts.sequence()[:1001]
    assert (computed.encode(bases), computed.before, computed.eos) == (carbon.encode(bases), carbon.before, carbon.eos)


def test_tags_and_words_in_a_tokenizer_json_are_recognised_too(tmp_path: Path) -> None:
    tokens = ["[UNK]", "A", "C", "AA", "<dna>", "</dna>", "<oov>", *(word for word in layouts.words(3) if word != "AA")]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    model = {"type": "BPE", "vocab": vocabulary, "merges": ["A A"], "unk_token": "[UNK]"}
    found = from_folder(layouts.write(tmp_path, tokenizer={"model": model}))
    assert (found.before, found.eos, found.width) == ((4,), 5, 3)
    assert found.encode("AACA") == Encoded((vocabulary["AAC"], vocabulary["AAA"]), (0, 3, 4), (), padded=2)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"k": 5}, "says k = 5, and its words have 6 bases"),
        ({"dna_start_id": 7}, "says that its tokens begin at 7"),
        ({"dna_token_to_id": {"<dna>": 0, "ACGT": 1}}, "begin"),
        ({"dna_token_to_id": []}, "does not map symbols to ids"),
        ({"dna_token_to_id": None, "k": 1000}, "k between 1 and 8"),
        ({"dna_token_to_id": None, "k": True}, "k between 1 and 8"),
        ({"dna_token_to_id": None, "dna_start_id": None}, "needs dna_start_id"),
        ({"dna_token_to_id": None, "dna_special_tokens": ["<dna>", "<dna>"]}, "different names"),
        ({"dna_token_to_id": None, "dna_special_tokens": ["<dna>", "<oov>"]}, "lacks </dna>"),
        ({"dna_token_to_id": None, "dna_start_id": -5}, "does not map symbols to ids"),
    ],
    ids=["another k", "another start", "few", "no map", "huge k", "k true", "no start", "twice", "no closing tag", "negative"],
)
def test_a_description_that_contradicts_itself_is_refused_in_words(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    folder = layouts.carbon(tmp_path)
    described = json.loads((folder / "dna_config.json").read_text()) | changes
    layouts.write(folder, dna_config={key: value for key, value in described.items() if value is not None})
    with pytest.raises(ModelRefused, match=words):
        from_folder(folder)
