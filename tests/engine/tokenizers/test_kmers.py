"""k-mers from vocab.txt, as GENERator reads them: trimmed on the left, unknown as a whole word, nothing lost in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import InvalidRequest, ModelRefused, UnknownSymbol
from engine.tokenizers.choosing import from_folder
from engine.tokenizers.interface import Encoded, Tokenizer
from tests.engine.tokenizers import layouts


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return from_folder(layouts.generator(tmp_path_factory.mktemp("generator")))


def test_names_and_words_have_the_published_ids(generator: Tokenizer) -> None:
    assert (generator.before, generator.eos, generator.size, generator.width) == ((1,), 2, 4128, 6)
    assert generator.encode("AAAAAATTTTTT").ids == (32, 1397)
    assert generator.encode("GGGGGG").ids == (4127,)


@pytest.mark.parametrize("length", range(20))
def test_what_is_no_multiple_of_k_is_trimmed_on_the_left_and_counted(generator: Tokenizer, length: int) -> None:
    bases = layouts.sequence()[:length]
    found = generator.encode(bases)
    assert found.trimmed == length % 6
    assert generator.decode(found.ids) == bases[found.trimmed :]
    assert list(found.starts) == list(range(found.trimmed, length + 1, 6))


def test_what_is_shorter_than_a_word_is_trimmed_whole(generator: Tokenizer) -> None:
    assert generator.encode("ACGTA") == Encoded((), range(5, 6, 6), (), trimmed=5)


@pytest.mark.parametrize(
    ("bases", "unknown"),
    [
        ("NCGTACACGTAC", range(6)),
        ("ACGNACACGTAC", range(6)),
        ("ACGTACACGTAN", range(6, 12)),
        ("ACGTARYCGTAC", range(12)),
        ("TTNACGTACACGTAC", range(0)),
        ("TTACGTACACGTA-", range(8, 14)),
    ],
    ids=["first", "inside", "last", "both", "trimmed away", "a gap behind trimmed ones"],
)
def test_one_strange_letter_makes_its_whole_word_unknown(generator: Tokenizer, bases: str, unknown: range) -> None:
    found = generator.encode(bases)
    assert found.unknown == tuple(unknown)
    assert {number for number, start in zip(found.ids, found.starts, strict=False) if start in unknown} <= {0}
    assert (
        generator.decode(found.ids)
        == bases[found.trimmed : min(unknown, default=len(bases))] + bases[max(unknown, default=len(bases)) + 1 :]
    )


def test_lower_case_is_upper_case(generator: Tokenizer) -> None:
    assert generator.encode("acgtacNNacgt") == generator.encode("ACGTACnnACGT")


def test_letters_of_other_alphabets_move_no_base(generator: Tokenizer) -> None:
    """The upper case of ß is SS."""
    assert generator.encode("ßCGTACACGTAC").unknown == (0, 1, 2, 3, 4, 5)
    assert generator.encode("ßCGTACACGTAC").ids[1:] == generator.encode("ACGTAC").ids


def test_no_sequence_can_spell_a_name(generator: Tokenizer) -> None:
    assert set(generator.encode("<s></s><pad>").ids) == {0}


def test_tokens_that_begin_with_bases_are_all_their_completions(generator: Tokenizer) -> None:
    assert generator.beginning_with("ACGTAC") == generator.encode("ACGTAC").ids
    assert [len(generator.beginning_with("ACGTAC"[:length])) for length in range(1, 7)] == [1024, 256, 64, 16, 4, 1]
    with pytest.raises(InvalidRequest, match="holds 6 bases, and 7 were asked for"):
        generator.beginning_with("ACGTACG")


def test_a_list_without_ids_counts_its_lines(tmp_path: Path, generator: Tokenizer) -> None:
    plain = from_folder(layouts.generator(tmp_path, with_ids=False))
    bases = layouts.sequence()[:1000]
    assert (plain.encode(bases), plain.before, plain.eos) == (generator.encode(bases), generator.before, generator.eos)


def test_line_ends_of_windows_and_a_byte_order_mark_change_nothing(tmp_path: Path, generator: Tokenizer) -> None:
    lines = (layouts.generator(tmp_path) / "vocab.txt").read_text()
    (tmp_path / "vocab.txt").write_bytes(b"\xef\xbb\xbf" + lines.replace("\n", "\r\n").encode())
    assert from_folder(tmp_path).encode("ACGTACGTACGT") == generator.encode("ACGTACGTACGT")


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_k_is_what_the_words_have(tmp_path: Path, k: int) -> None:
    found = from_folder(layouts.generator(tmp_path, k))
    assert found.width == k
    assert found.decode(found.encode("ACGT" * 3).ids) == "ACGT" * 3


def test_bos_stands_before_a_sequence_unless_the_files_say_no(tmp_path: Path) -> None:
    assert from_folder(layouts.generator(tmp_path / "one", add_bos_token=False)).before == ()
    lines = "".join(f"{word}\n" for word in ["<oov>", *layouts.words(2)])
    assert from_folder(layouts.write(tmp_path / "two", vocab_txt=lines)).before == ()


def test_without_a_token_for_unknown_a_strange_letter_is_refused_with_its_place(tmp_path: Path) -> None:
    found = from_folder(layouts.write(tmp_path, vocab_txt="".join(f"{word}\n" for word in layouts.words(2))))
    with pytest.raises(UnknownSymbol, match="'TN' at position 6"):
        found.encode("AACGTTN")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("\n".join(layouts.words(3)[:-1]), "holds 63 words of 3 bases"),
        ("\n".join([*layouts.words(2), *layouts.words(1)]), "words of 1 and 2 bases"),
        ("\n".join([*layouts.words(2), "AA"]), "holds the token 'AA' twice"),
        ("\n".join(f"{word} {7}" for word in layouts.words(2)), "the same id"),
        ("AA 1\nAC", "one token a line"),
        ("AA\n\nAC", "one token a line"),
        ("AA -1\nAC 2", "does not map symbols to ids"),
        ("AA 99999999999999999999\nAC 2", "does not map symbols to ids"),
        ("", "one token a line"),
        ("[PAD]\n[UNK]", "no token that is made of A, C, G and T"),
    ],
    ids=["incomplete", "two widths", "twice", "one id", "half an id", "a blank line", "negative", "huge", "empty", "no bases"],
)
def test_a_list_that_is_no_vocabulary_of_words_is_refused_in_words(tmp_path: Path, lines: str, words: str) -> None:
    with pytest.raises(ModelRefused, match=words):
        from_folder(layouts.write(tmp_path, vocab_txt=lines))


def test_a_k_that_its_words_do_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelRefused, match=r"says k = 6, and the words of vocab\.txt have 3 bases"):
        from_folder(layouts.write(layouts.generator(tmp_path, 3), tokenizer_config={"k": 6}))
