"""The models that speed is measured with: the stated shape, the same weights everywhere, logits worth predicting."""

import dataclasses
import json
import math
import random
import statistics
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from benchmarks import models
from benchmarks.models import SLIDING, SMALL, Shape
from benchmarks.ours import Ours
from engine import EngineConfig, Score, ScoreResult
from engine.tokenizers.choosing import from_folder
from tests.benchmarks.tiny import TINY


def logits(engine: Ours, context: tuple[int, ...], vocabulary: int) -> list[float]:
    """Of the next token, up to a constant: log-probabilities of every id in its place."""
    outcomes = engine.run([Score((*context, last)) for last in range(vocabulary)])
    results = [outcome.result for outcome in outcomes]
    return [result.logprobs[-1] for result in results if isinstance(result, ScoreResult)]


def spread(folder: Path, vocabulary: int) -> float:
    """Standard deviation of the logits, over vocabulary and contexts."""
    engine, draw = Ours(folder, EngineConfig(self_test=False, blocks=64)), random.Random(1)
    contexts = [tuple(draw.choices((4, 5, 6, 7), k=length)) for length in (5, 40)]
    return math.sqrt(statistics.mean(statistics.variance(logits(engine, context, vocabulary)) for context in contexts))


def test_dna_small_has_the_stated_size_and_logits_that_differ(tmp_path: Path) -> None:
    models.write(SMALL, tmp_path / "model")
    tensors = load_file(tmp_path / "model" / "model.safetensors")
    assert 23.5e6 < sum(tensor.numel() for tensor in tensors.values()) < 23.7e6
    assert SMALL.parameters == sum(t.numel() for name, t in tensors.items() if t.dim() == 2 and "embed" not in name)
    assert spread(tmp_path / "model", SMALL.vocabulary) >= 1


def test_the_same_seed_writes_the_same_bytes_and_another_does_not(tmp_path: Path) -> None:
    for name, shape in (("one", TINY), ("two", TINY), ("three", dataclasses.replace(TINY, seed=1))):
        models.write(shape, tmp_path / name)
    one, two, three = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two", "three"))
    assert one == two != three


def test_bfloat16_holds_every_weight_exactly(tmp_path: Path) -> None:
    models.write(TINY, tmp_path / "model")
    tensors = load_file(tmp_path / "model" / "model.safetensors")
    assert all(torch.equal(tensor, tensor.bfloat16().float()) for tensor in tensors.values())


def test_the_vocabulary_has_sixteen_symbols_and_the_four_bases_where_the_workloads_expect_them(tmp_path: Path) -> None:
    models.write(TINY, tmp_path / "model")
    tokenizer = from_folder(tmp_path / "model")
    assert (tokenizer.size, tokenizer.encode("ACGTN").ids) == (16, (4, 5, 6, 7, 8))


@pytest.mark.parametrize(
    ("shape", "architecture", "window"), [(SMALL, "LlamaForCausalLM", None), (SLIDING, "MistralForCausalLM", 1024)]
)
def test_the_configuration_names_architecture_and_window(shape: Shape, architecture: str, window: int | None) -> None:
    config = models.config(shape)
    assert (config["architectures"], config.get("sliding_window")) == ([architecture], window)


def test_the_sliding_model_takes_a_genome() -> None:
    assert models.config(SLIDING)["max_position_embeddings"] == 1 << 23


def test_a_model_that_was_not_written_to_its_end_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "FOLDER", tmp_path)
    place = models.folder(TINY)
    (place / "model.safetensors").unlink()
    assert models.folder(TINY) == place
    assert json.loads((place / "config.json").read_text())["vocab_size"] == 16
    assert (place / "model.safetensors").exists()
