"""The files of a folder decide, none of its code is ever run, and what is not supported is named."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from engine.errors import ModelRefused
from engine.tokenizers.byte_pairs import BytePairTokenizer
from engine.tokenizers.character import CharacterTokenizer
from engine.tokenizers.choosing import from_folder
from engine.tokenizers.kmers import KmerTokenizer
from tests.engine.checkpoints import SYMBOLS
from tests.engine.tokenizers import layouts


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os._exit, ("a pickle was read",)


@pytest.mark.parametrize(
    ("layout", "kind"),
    [
        (layouts.generator, KmerTokenizer),
        (layouts.carbon, KmerTokenizer),
        (layouts.metagene, BytePairTokenizer),
        (layouts.genomeocean, BytePairTokenizer),
        (layouts.marindna, CharacterTokenizer),
        (lambda folder: layouts.write(folder, vocab=SYMBOLS), CharacterTokenizer),
    ],
    ids=["GENERator", "Carbon", "METAGENE-1", "GenomeOcean", "MarinDNA", "ours"],
)
def test_a_published_folder_is_recognised_without_its_code_and_pickles(tmp_path: Path, layout: object, kind: type) -> None:
    (tmp_path / "tokenizer.py").write_text("raise SystemExit('the code of a folder was run')")
    (tmp_path / "tokenizer.pkl").write_bytes(pickle.dumps(Bomb()))
    assert callable(layout)
    assert type(from_folder(layout(tmp_path))) is kind


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tokenizer.model", r"vocab\.json is missing; not supported: tokenizer\.model \(a sentencepiece model\)"),
        ("tokenizer.py", r"not supported: tokenizer\.py \(a tokenizer in Python, and no code of a folder is run\)"),
        ("merges.txt", r"not supported: merges\.txt \(merges without a tokenizer\.json\)"),
        ("README.md", r"dna_config\.json, tokenizer\.json, vocab\.txt or vocab\.json is missing$"),
    ],
)
def test_a_folder_without_a_tokenizer_says_what_was_seen_and_what_is_read(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / name).write_text("raise SystemExit('read')")
    with pytest.raises(ModelRefused, match=words):
        from_folder(tmp_path)


def test_the_symbols_of_another_scheme_are_not_taken_for_ours(tmp_path: Path) -> None:
    """A vocab.json beside merges.txt is the older form of byte pairs."""
    with pytest.raises(ModelRefused, match="merges without a tokenizer"):
        from_folder(layouts.write(tmp_path, vocab=SYMBOLS, merges_txt="A C\n"))


@pytest.mark.parametrize("kind", ["Unigram", "WordPiece", None, 5, ["BPE"]], ids=str)
def test_other_models_of_a_tokenizer_json_are_refused_by_name(tmp_path: Path, kind: object) -> None:
    with pytest.raises(ModelRefused, match="only BPE and WordLevel are read"):
        from_folder(layouts.write(tmp_path, tokenizer={"model": {"type": kind, "vocab": {"A": 0}}}))


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        ({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated"}}, "pre-tokenizer 'Split'"),
        ({"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}}, "pre-tokenizer 'Metaspace'"),
        ({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split"}]}}, "pre-tokenizer 'Split'"),
        ({"normalizer": {"type": "Replace", "pattern": {"String": "U"}, "content": "T"}}, "normalizer 'Replace'"),
        ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, {"type": "Prepend"}]}}, "normalizer 'Prepend'"),
        ({"post_processor": {"type": "Strange"}}, "post-processor 'Strange'"),
        ({"post_processor": 7}, "post-processor '7'"),
    ],
    ids=["a pattern", "a mark", "in a list", "a base changed", "a prefix", "a strange one", "a number"],
)
def test_a_step_that_would_change_or_cut_bases_is_refused_by_name(tmp_path: Path, step: dict[str, object], kind: str) -> None:
    model = {"type": "BPE", "vocab": {"A": 0, "C": 1, "AC": 2}, "merges": ["A C"]}
    with pytest.raises(ModelRefused, match=f"the {kind} of tokenizer.json"):
        from_folder(layouts.write(tmp_path, tokenizer={"model": model} | step))
