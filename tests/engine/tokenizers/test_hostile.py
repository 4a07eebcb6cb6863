"""Whatever the files hold, the answer is one sentence: no panic of the package, no hang, no traceback."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ModelRefused
from engine.tokenizers import files
from engine.tokenizers.choosing import from_folder
from tests.engine.tokenizers import layouts

VOCABULARY = {"[UNK]": 0, "[BOS]": 1, "A": 2, "C": 3, "G": 4, "T": 5, "AC": 6}
MODEL: dict[str, Any] = {"type": "BPE", "vocab": VOCABULARY, "merges": [["A", "C"]], "unk_token": "[UNK]"}
TEMPLATE = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[BOS]"}}, {"Sequence": {"id": "A"}}]}
NAMES = ["dna_config.json", "tokenizer.json", "vocab.txt", "vocab.json"]


def deep(step: str, key: str) -> dict[str, Any]:
    """Lists in lists, as deep as JSON is read."""
    found: dict[str, Any] = {"type": "Lowercase"}
    for _ in range(200):
        found = {"type": "Sequence", key: [found]}
    return {step: found}


def refused(folder: Path) -> str:
    with pytest.raises(ModelRefused) as error:
        from_folder(folder)
    assert len(str(error.value).splitlines()) == 1
    assert len(str(error.value)) < 300
    return str(error.value)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "3", '"x"', "{", "\0", "[" * 200_000, '{"a":' * 100_000, '{"model": NaN}', '{"model": 1e999999}'],
    ids=["empty", "list", "null", "number", "text", "torn", "zero", "deep", "deep objects", "NaN", "infinite"],
)
@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("json")])
def test_what_is_no_object_of_json_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert refused(tmp_path)


@pytest.mark.parametrize(
    ("valid", "changed", "words"),
    [('"A": 2', '"A": 2, "A": 7', "the key 'A' stands twice"), ('"model"', '"version": NaN, "model"', "NaN is no number")],
    ids=["a key twice", "NaN"],
)
def test_what_another_reader_would_read_otherwise_is_refused(tmp_path: Path, valid: str, changed: str, words: str) -> None:
    text = json.dumps({"model": MODEL})
    assert valid in text
    assert words in refused(layouts.write(tmp_path, tokenizer=text.replace(valid, changed)))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_text_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xff\xfe\x00A")
    assert "is not UTF-8 text" in refused(tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_a_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    assert "no regular file" in refused(tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_larger_than_any_tokenizer_is_not_read(tmp_path: Path, name: str) -> None:
    with (tmp_path / name).open("wb") as file:
        file.truncate(files.LARGEST + 1)  # takes no space
    assert "no tokenizer needs" in refused(tmp_path)


@pytest.mark.parametrize(
    "vocabulary",
    [
        None,
        [],
        {},
        "A",
        VOCABULARY | {"T": 2},
        VOCABULARY | {"T": -1},
        VOCABULARY | {"T": 2.5},
        VOCABULARY | {"T": "5"},
        VOCABULARY | {"T": True},
        VOCABULARY | {"T": None},
        VOCABULARY | {"T": 2**32},
        VOCABULARY | {"T": 10**4000},
        VOCABULARY | {"T\ud800": 7},
    ],
    ids=["none", "list", "empty", "text", "twice", "below 0", "half", "text id", "true", "null", "beyond", "huge", "half a pair"],
)
@pytest.mark.parametrize("kind", ["BPE", "WordLevel"])
def test_a_vocabulary_that_is_none_is_refused(tmp_path: Path, kind: str, vocabulary: object) -> None:
    raw = {"model": MODEL | {"type": kind, "vocab": vocabulary}}
    assert "tokenizer.json" in refused(layouts.write(tmp_path, tokenizer=raw))


@pytest.mark.parametrize(
    "changes",
    [
        {"merges": None},
        {"merges": {}},
        {"merges": ["AC"]},
        {"merges": ["A C G"]},
        {"merges": [["A"]]},
        {"merges": [["A", "C", "G"]]},
        {"merges": [[1, 2]]},
        {"merges": [["A", "X"]]},
        {"merges": [["A", "T"]]},
        {"merges": ["A " * 1000]},
        {"unk_token": "[NO]"},
        {"unk_token": ["[UNK]"]},
        {"unk_token": 0},
        {"fuse_unk": "yes"},
        {"byte_fallback": 3},
        {"continuing_subword_prefix": "##"},
        {"end_of_word_suffix": "</w>"},
    ],
    ids=json.dumps,
)
def test_a_model_that_contradicts_itself_is_refused(tmp_path: Path, changes: dict[str, object]) -> None:
    assert refused(layouts.write(tmp_path, tokenizer={"model": MODEL | changes}))


@pytest.mark.parametrize(
    "step",
    [
        {"added_tokens": {"A": 1}},
        {"added_tokens": [1]},
        {"added_tokens": [{"id": 9}]},
        {"added_tokens": [{"id": 9, "content": "A"}]},
        {"added_tokens": [{"id": 2, "content": "[PAD]"}]},
        {"added_tokens": [{"id": [], "content": "[PAD]"}]},
        {"added_tokens": [{"content": "[PAD]"}]},
        {"post_processor": TEMPLATE | {"special_tokens": {}}},
        {"post_processor": TEMPLATE | {"special_tokens": {"[BOS]": {"ids": [3], "tokens": ["[BOS]"]}}}},
        {"post_processor": TEMPLATE | {"special_tokens": {"[BOS]": {"ids": [1, 2], "tokens": ["[BOS]"]}}}},
        {"post_processor": TEMPLATE | {"special_tokens": {"[BOS]": {"ids": "1", "tokens": ["[BOS]"]}}}},
        {"post_processor": TEMPLATE | {"single": [], "special_tokens": {}}},
        {"post_processor": {"type": "BertProcessing", "cls": ["[BOS]", 1], "sep": ["[SEP]", 9]}},
        deep("normalizer", "normalizers"),
        deep("pre_tokenizer", "pretokenizers"),
        deep("post_processor", "processors"),
    ],
    ids=range(16),
)
def test_steps_that_contradict_the_vocabulary_are_refused(tmp_path: Path, step: dict[str, object]) -> None:
    assert refused(layouts.write(tmp_path, tokenizer={"model": MODEL} | step))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tokenizer_config", []),
        ("tokenizer_config", {"added_tokens_decoder": []}),
        ("tokenizer_config", {"added_tokens_decoder": {"x": {"content": "[PAD]"}}}),
        ("tokenizer_config", {"added_tokens_decoder": {"9": {"content": "A"}}}),
        ("tokenizer_config", {"added_tokens_decoder": {"2": {"content": "[PAD]"}}}),
        ("tokenizer_config", {"added_tokens_decoder": {"9" * 5000: {"content": "[PAD]"}}}),
        ("added_tokens", {"[PAD]": "7"}),
        ("added_tokens", {"[PAD]": 2}),
        ("added_tokens", {"A": 7}),
        ("special_tokens_map", "x"),
    ],
    ids=range(10),
)
def test_files_that_contradict_each_other_are_refused(tmp_path: Path, name: str, content: object) -> None:
    assert refused(layouts.write(tmp_path, tokenizer={"model": MODEL}, **{name: content}))


@pytest.mark.parametrize(
    "content", [{"bos_token": 5, "eos_token": [], "unk_token": {"content": 3}}, {"eos_token": "[GONE]"}], ids=[0, 1]
)
def test_names_that_are_none_name_nothing(tmp_path: Path, content: object) -> None:
    found = from_folder(layouts.write(tmp_path, tokenizer={"model": MODEL}, tokenizer_config=content))
    assert (found.before, found.eos) == ((), None)
