"""What is broken, absurd or hostile meets one sentence, never a traceback, a crash or a silent number."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.__main__ import main
from engine.config import LARGEST_THREADS, EngineConfig
from engine.errors import ConfigRefused, ModelRefused
from engine.loading import load
from engine.model_config import read_config
from engine.tokenizers.choosing import from_folder
from engine.weights import weight_files
from tests.engine.checkpoints import SYMBOLS, Shape, config

SMALL = EngineConfig(blocks=96, self_test=False)


@pytest.fixture
def folder(tmp_path: Path, checkpoint: Path) -> Path:
    """A copy of the checkpoint, to be broken."""
    return Path(shutil.copytree(checkpoint, tmp_path / "model"))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("max_position_embeddings", -1),
        ("max_position_embeddings", 10**12),
        ("num_hidden_layers", 1.5),
        ("num_hidden_layers", 0),
        ("num_hidden_layers", True),
        ("num_attention_heads", 0),
        ("num_key_value_heads", 0),
        ("head_dim", "24"),
        ("hidden_size", None),
        ("vocab_size", []),
        ("sliding_window", -4),
        ("rms_norm_eps", "small"),
        ("rms_norm_eps", 0),
        ("rope_theta", 0),
        ("rope_theta", 10**400),
        ("tie_word_embeddings", "no"),
    ],
)
def test_a_number_that_is_none_or_out_of_range_is_named(tmp_path: Path, key: str, value: object) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config(Shape(window=40)) | {key: value}))
    with pytest.raises(ModelRefused, match=f"^{key} must be"):
        read_config(tmp_path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"architectures": [{}]}, "this engine runs"),
        ({"architectures": 5}, "this engine runs"),
        ({"rope_scaling": "x"}, "must be an object"),
        ({"rope_theta": float("nan")}, "NaN is no number"),
        ({"rope_parameters": [1]}, "must be an object"),
        ({"num_attention_heads": 1 << 12, "head_dim": 1 << 12}, "times head_dim"),
        ({"hidden_size": 2, "num_attention_heads": 4, "head_dim": None}, "head_dim even"),
    ],
)
def test_a_configuration_of_the_wrong_kind_is_refused(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config(Shape()) | changes))
    with pytest.raises(ModelRefused, match=words):
        read_config(tmp_path)


def test_a_file_nested_too_deep_is_refused(tmp_path: Path) -> None:
    for name in ("config.json", "vocab.json"):
        (tmp_path / name).write_text("[" * 200_000)
    with pytest.raises(ModelRefused, match="not valid JSON"):
        read_config(tmp_path)
    with pytest.raises(ModelRefused, match="not valid JSON"):
        from_folder(tmp_path)


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    for name in ("config.json", "vocab.json"):
        (tmp_path / name).mkdir()
    with pytest.raises(ModelRefused, match="cannot be read"):
        read_config(tmp_path)
    with pytest.raises(ModelRefused, match="cannot be read"):
        from_folder(tmp_path)


@pytest.mark.parametrize("index", [{}, {"weight_map": []}, {"weight_map": {"a": 1}}, {"weight_map": {"a": "x\0y"}}])
def test_an_index_without_a_map_is_refused(tmp_path: Path, index: dict[str, object]) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelRefused, match="no weight_map"):
        weight_files(tmp_path)


@pytest.mark.parametrize("kept", [0, 4, 8, 100, -1])
def test_weights_cut_anywhere_are_refused(folder: Path, kept: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ModelRefused, match=r"model\.safetensors cannot be read"):
        load(folder, config=SMALL)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused_by_name(folder: Path, number: float) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["model.layers.2.mlp.up_proj.weight"][3, 4] = number
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(ModelRefused, match=r"layers\.2\.mlp\.up_proj\.weight holds numbers that are not finite"):
        load(folder, config=SMALL)


@pytest.mark.parametrize("kind", [torch.int32, torch.complex64])
def test_weights_that_are_no_floating_point_numbers_are_refused(folder: Path, kind: torch.dtype) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"] = weights["model.norm.weight"].to(kind)
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(ModelRefused, match=r"model\.norm\.weight holds (I32|C64) and no floating"):
        load(folder, config=SMALL)


@pytest.mark.parametrize(
    ("symbols", "words"),
    [
        (dict.fromkeys(SYMBOLS, 0), "same id"),
        (SYMBOLS | {"T": 3}, "same id"),
        (SYMBOLS | {"T": True}, "does not map"),
        (SYMBOLS | {"T": 11}, "ids up to 11"),
    ],
)
def test_ids_must_be_distinct_and_in_the_vocabulary(folder: Path, symbols: dict[str, int], words: str) -> None:
    (folder / "vocab.json").write_text(json.dumps(symbols))
    with pytest.raises(ModelRefused, match=words):
        load(folder, config=SMALL)


@pytest.mark.parametrize("threads", [0, -1, LARGEST_THREADS + 1, 100_000])
def test_threads_beyond_the_range_are_refused_before_anything_starts(threads: int) -> None:
    with pytest.raises(ConfigRefused, match="threads"):
        EngineConfig(threads=threads)


@pytest.mark.parametrize("size", [1.5, "2", None, True])
def test_a_size_that_is_no_whole_number_is_refused(size: object) -> None:
    with pytest.raises(ConfigRefused, match="must be whole"):
        dataclasses.replace(SMALL, threads=size)  # type: ignore[arg-type] — what a stored pin may hold


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--temperature", "nan"], "temperature must be"),
        (["--temperature", "inf"], "temperature must be"),
        (["--temperature", "-1"], "temperature must be"),
        (["--temperature", "1e-320"], "temperature must be"),
        (["--top-k", "-3"], "top_k must be at least 0"),
        (["--tokens", "-1"], "limit must be at least 1"),
        (["--threads", "100000"], "between 1 and 256"),
    ],
)
def test_what_cannot_be_drawn_is_one_line_and_status_two(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["generate", "--model", str(checkpoint), "--sequence", "ACGT", *arguments]) == 2
    captured = capsys.readouterr()
    assert (captured.out, len(captured.err.splitlines()), words in captured.err) == ("", 1, True)


def test_the_command_line_chooses_the_kernels(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["score", "--model", str(checkpoint), "--sequence", "ACGTACGT", "--json", "--kernels", "reference"]
    assert main(command) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["fingerprint"] == load(checkpoint, config=EngineConfig(kernels="reference", self_test=False)).fingerprint
