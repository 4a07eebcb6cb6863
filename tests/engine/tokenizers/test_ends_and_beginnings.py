"""What stands before a sequence, what ends one, how long one may be: which file wins over a wrong number in another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.config import EngineConfig
from engine.errors import ModelRefused
from engine.fingerprint import digest
from engine.loading import load
from engine.tokenizers import files
from engine.tokenizers.choosing import from_folder
from tests.engine.checkpoints import Shape, write_checkpoint
from tests.engine.tokenizers import layouts

SMALL = EngineConfig(blocks=96, self_test=False)
VOCABULARY = {"[UNK]": 0, "<s>": 1, "</s>": 2, "<|end|>": 3, "A": 4, "C": 5, "G": 6, "T": 7, "N": 8, "AC": 9}
MODEL = {"type": "BPE", "vocab": VOCABULARY, "merges": [["A", "C"]], "unk_token": "[UNK]"}


def template(front: str, behind: str) -> dict[str, Any]:
    special = {name: {"id": name, "ids": [VOCABULARY[name]], "tokens": [name]} for name in (front, behind) if name}
    pieces = [{"SpecialToken": {"id": name}} if name else None for name in (front, behind)]
    single = [piece for piece in (pieces[0], {"Sequence": {"id": "A"}}, pieces[1]) if piece]
    return {"type": "TemplateProcessing", "single": single, "special_tokens": special}


@pytest.mark.parametrize(
    ("contents", "eos"),
    [
        ({"tokenizer_config": {"eos_token": "</s>"}, "special_tokens_map": {"eos_token": "<|end|>"}}, 2),
        ({"special_tokens_map": {"eos_token": {"content": "<|end|>"}}, "generation_config": {"eos_token_id": 2}}, 3),
        ({"tokenizer_config": {"eos_token": "[GONE]"}, "special_tokens_map": {"eos_token": "</s>"}}, 2),
        ({"generation_config": {"eos_token_id": 3}, "config": {"eos_token_id": 2}}, 3),
        ({"generation_config": {"eos_token_id": [900, 2, 3]}, "config": {"eos_token_id": 3}}, 2),
        ({"config": {"eos_token_id": 2}}, 2),
        ({"config": {"eos_token_id": 4}}, None),
        ({"config": {"eos_token_id": 8}}, None),
        ({"config": {"eos_token_id": 900}}, None),
        ({"config": {"eos_token_id": -1}}, None),
        ({"config": {"eos_token_id": True}}, None),
        ({"config": {"eos_token_id": None}}, None),
        ({}, None),
    ],
    ids=[
        "config names",
        "map names",
        "gone",
        "generation",
        "first known",
        "config",
        "a base",
        "N",
        "beyond",
        "-1",
        "true",
        "null",
        "none",
    ],
)
def test_a_named_end_wins_over_a_number_and_no_base_is_an_end(tmp_path: Path, contents: dict[str, Any], eos: int | None) -> None:
    """The numbers of configurations have pointed at bases and beyond the vocabulary."""
    assert from_folder(layouts.write(tmp_path, tokenizer={"model": MODEL}, **contents)).eos == eos


@pytest.mark.parametrize(
    ("behind", "contents", "eos"),
    [("<|end|>", {"config": {"eos_token_id": 2}}, 3), ("<|end|>", {"tokenizer_config": {"eos_token": "</s>"}}, 2)],
    ids=["over a number", "under a name"],
)
def test_what_a_tokenizer_puts_behind_a_sequence_is_its_end(
    tmp_path: Path, behind: str, contents: dict[str, Any], eos: int
) -> None:
    raw = {"model": MODEL, "post_processor": template("", behind)}
    assert from_folder(layouts.write(tmp_path, tokenizer=raw, **contents)).eos == eos


@pytest.mark.parametrize(
    ("post_processor", "said", "before"),
    [
        (template("<s>", "</s>"), {}, (1,)),
        (template("<s>", "</s>"), {"bos_token": "<s>", "add_bos_token": False}, (1,)),
        (template("<|end|>", "</s>"), {"bos_token": "<s>", "add_bos_token": True}, (3,)),
        (template("", "</s>"), {"bos_token": "<s>"}, ()),
        (template("", "</s>"), {"bos_token": "<s>", "add_bos_token": True}, (1,)),
        (None, {"bos_token": "<s>", "add_bos_token": True}, (1,)),
        (None, {"bos_token": "<s>", "add_bos_token": "yes"}, ()),
        (None, {"add_bos_token": True}, ()),
        ({"type": "BertProcessing", "cls": ["<s>", 1], "sep": ["</s>", 2]}, {}, (1,)),
        ({"type": "Sequence", "processors": [{"type": "ByteLevel"}, template("<s>", "</s>")]}, {}, (1,)),
    ],
    ids=[
        "template",
        "template over false",
        "template over another",
        "named only",
        "said",
        "said alone",
        "no truth value",
        "no name",
        "Bert",
        "in a list",
    ],
)
def test_what_the_files_say_stands_before_a_sequence(
    tmp_path: Path, post_processor: object, said: dict[str, object], before: tuple[int, ...]
) -> None:
    raw = {"model": MODEL, "post_processor": post_processor}
    assert from_folder(layouts.write(tmp_path, tokenizer=raw, tokenizer_config=said)).before == before


def test_the_end_is_never_put_behind_a_sequence(tmp_path: Path) -> None:
    raw = {"model": MODEL, "post_processor": template("<s>", "</s>")}
    assert from_folder(layouts.write(tmp_path, tokenizer=raw)).encode("ACGT").ids == (9, 6, 7)


@pytest.fixture
def metagene(tmp_path: Path) -> Path:
    """A checkpoint of METAGENE-1's layout, with a context of 512 and a stray length of 2,048 in its tokenizer."""
    folder = write_checkpoint(tmp_path, Shape(vocabulary=300, context=512))
    (folder / "vocab.json").unlink()
    assert json.loads((layouts.metagene(folder) / "tokenizer_config.json").read_text())["model_max_length"] == 2048
    return folder


def test_the_length_of_the_model_counts_and_not_that_of_its_tokenizer(metagene: Path) -> None:
    engine = load(metagene, config=SMALL)
    assert (engine.context, engine.tokenizer.before, engine.tokenizer.eos) == (512, (4,), 5)


def test_ids_beyond_the_vocabulary_of_the_model_are_refused(metagene: Path) -> None:
    layouts.genomeocean(metagene)
    with pytest.raises(ModelRefused, match="ids up to 399 and the model a vocabulary of 300"):
        load(metagene, config=SMALL)


@pytest.mark.parametrize("name", files.THAT_CHANGE_IDS)
def test_every_file_that_may_change_an_id_changes_the_digest(metagene: Path, name: str) -> None:
    before = digest(files.present(metagene))
    path = metagene / name
    path.write_text(path.read_text() + " " if path.exists() else "{}")
    assert digest(files.present(metagene)) != before


def test_the_digest_of_those_files_is_that_of_the_fingerprint(metagene: Path) -> None:
    before = load(metagene, config=SMALL)
    layouts.write(metagene, generation_config={"eos_token_id": 2})
    after = load(metagene, config=SMALL)
    assert after.deployment.tokenizer_sha256 == digest(files.present(metagene))
    assert before.deployment.tokenizer_sha256 != after.deployment.tokenizer_sha256
    assert before.fingerprint != after.fingerprint
