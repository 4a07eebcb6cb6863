"""Folders that were not fetched whole, or put together wrongly: the sentence says what to do, and nothing large is read."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.errors import ModelRefused
from engine.model import Model
from tests.engine.checkpoints import Shape, write_checkpoint

INDEX = "model.safetensors.index.json"
SECOND = "model-00002-of-00003.safetensors"


@pytest.fixture
def sharded(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "model", Shape(shards=3, seed=8))


def refusal(folder: Path) -> str:
    with pytest.raises(ModelRefused) as refused:
        Model(folder, 16)
    return str(refused.value)


def header(**tensors: object) -> bytes:
    text = json.dumps(tensors).encode()
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda old: old[:-100], "of the {size:,} that its header speaks of: it is cut off, or not all of it was fetched"),
        (lambda old: old + b"x" * 50, "its header speaks of {size:,}"),
        (lambda old: old[:100], "it is cut off inside its header, at 100 bytes"),
        (lambda old: old[:4], "it is cut off inside its header, at 4 bytes"),
        (lambda old: b"", "it is cut off inside its header, at 0 bytes"),
        (
            lambda old: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n",
            "fetch the file itself with git lfs pull",
        ),
        (lambda old: (1 << 60).to_bytes(8, "little") + b"{}", "its header would have 1,152,921,504,606,846,976 bytes"),
        (lambda old: header(x={"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}), "of the 4,398,046,511,"),
        (lambda old: header(x=[]), f"{SECOND} cannot be read: "),
        (lambda old: header(x={"dtype": "F32", "shape": [1], "data_offsets": "04"}) + b"0000", f"{SECOND} cannot be read: "),
    ],
    ids=["short", "long", "header", "length", "empty", "pointer", "huge", "claims", "no object", "no offsets"],
)
def test_a_shard_that_is_not_whole_is_told_apart(sharded: Path, change: Callable[[bytes], bytes], words: str) -> None:
    path = sharded / SECOND
    old = path.read_bytes()
    path.write_bytes(change(old))
    said = refusal(sharded)
    assert said.startswith(f"{SECOND} cannot be read: ")
    assert words.format(size=len(old)) in said


def test_a_header_of_hundreds_of_megabytes_is_refused_unread(sharded: Path) -> None:
    length = 300 << 20
    with (sharded / SECOND).open("wb") as file:
        file.write(length.to_bytes(8, "little"))
        file.truncate(8 + length)
    tracemalloc.start()
    assert "its header would have 314,572,800 bytes" in refusal(sharded)
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


def test_a_tensor_that_the_index_does_not_name_is_refused(sharded: Path) -> None:
    index = json.loads((sharded / INDEX).read_text())
    place = index["weight_map"].pop("model.norm.weight")
    (sharded / INDEX).write_text(json.dumps(index))
    assert refusal(sharded) == f"{place} holds model.norm.weight, which {INDEX} does not name"


@pytest.mark.parametrize("name", ["consolidated.safetensors", "model-00001-of-00001.safetensors"])
def test_weights_under_a_name_that_says_nothing_are_named(tmp_path: Path, name: str) -> None:
    folder = write_checkpoint(tmp_path / "model", Shape())
    (folder / "model.safetensors").rename(folder / name)
    assert (
        refusal(folder)
        == f"model holds {name} and no {INDEX} that says which files make the model; one file alone is model.safetensors"
    )


def test_an_adapter_beside_a_model_is_no_model(tmp_path: Path) -> None:
    """Others would apply it to whatever model it names, which may not be the one beside it."""
    folder = write_checkpoint(tmp_path / "model", Shape())
    (folder / "adapter_config.json").write_text("{}")
    assert "holds an adapter and not the model it changes" in refusal(folder)


def test_code_that_makes_the_tokenizer_alone_is_not_needed(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "model", Shape())
    raw = json.loads((folder / "config.json").read_text()) | {"auto_map": {"AutoTokenizer": ["tokenizer.Kmers", None]}}
    (folder / "config.json").write_text(json.dumps(raw))
    (folder / "tokenizer.py").write_text("raise SystemExit")
    assert Model(folder, 16).layers == 4


def test_old_leftovers_need_no_line_in_the_index(sharded: Path) -> None:
    found = load_file(sharded / SECOND) | {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(12)}
    save_file(found, sharded / SECOND)
    assert Model(sharded, 16).layers == 4
