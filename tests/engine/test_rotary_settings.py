"""Rotary settings, key by key as published config.json files write them: the frequencies that transformers reads from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.errors import ModelRefused
from engine.model_config import read_config
from tests.engine.checkpoints import Shape, config

YARN: dict[str, Any] = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


def scaled(**changes: Any) -> dict[str, Any]:
    """YaRN in the spelling of version 4, with other keys; None is null."""
    return {"rope_theta": 5e5, "rope_scaling": YARN | changes}


def without(key: str, **changes: Any) -> dict[str, Any]:
    return {"rope_theta": 5e5, "rope_scaling": {name: value for name, value in YARN.items() if name != key}} | changes


WRITTEN: dict[str, dict[str, Any]] = {
    "nothing": {},
    "theta": {"rope_theta": 500_000},
    "theta, null": {"rope_theta": 5e5, "rope_scaling": None},
    "default, version 5": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}},
    "default by its old name": {"rope_scaling": {"type": "default"}},
    "linear by its old name": {"rope_scaling": {"type": "linear", "factor": 2.5}},
    "linear, version 5": {"rope_parameters": {"rope_type": "linear", "factor": 2, "rope_theta": 1e6}},
    "llama3": {"rope_theta": 5e5, "rope_scaling": LLAMA3},
    "llama3, version 5": {"rope_parameters": LLAMA3 | {"rope_theta": 5e5, "factor": 32.0}},
    "yarn": scaled(),
    "yarn by both names": scaled(type="yarn"),
    "yarn by its old name alone": {"rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 8192}},
    "yarn, version 5": {"rope_parameters": YARN | {"rope_theta": 5e5}},
    "yarn, original beside": without("original_max_position_embeddings", original_max_position_embeddings=4096),
    "yarn, original in two places": scaled() | {"original_max_position_embeddings": 4096},
    "yarn, no original": without("original_max_position_embeddings"),
    "yarn, factor null": scaled(factor=None),
    "yarn, factor and contexts that disagree": scaled(factor=3.5),
    "yarn, not stretched": scaled(factor=1.0),
    "beta_fast": scaled(beta_fast=20),
    "beta_slow": scaled(beta_slow=2.5),
    "betas null": scaled(beta_fast=None, beta_slow=None),
    "attention_factor": scaled(attention_factor=0.75),
    "attention_factor null": scaled(attention_factor=None),
    "mscale alone": scaled(mscale=0.707),
    "mscale_all_dim alone": scaled(mscale_all_dim=0.707),
    "mscale and mscale_all_dim": scaled(mscale=1.0, mscale_all_dim=0.8),
    "mscale of nothing": scaled(mscale=0, mscale_all_dim=0),
    "mscale beside attention_factor": scaled(mscale=1.0, mscale_all_dim=0.8, attention_factor=1.25),
    "truncate": scaled(truncate=True),
    "not truncated": scaled(truncate=False),
    "all of them": scaled(beta_fast=64, beta_slow=0.5, mscale=0.9, mscale_all_dim=0.7, truncate=False),
}
FAMILIES = {
    "Llama": Shape(context=32_768),
    "Mistral": Shape(context=32_768, window=40, head_dim=32),
    "Qwen2": Shape(context=32_768, biases="qkv"),
    "Qwen3": Shape(context=32_768, head_norms=True, head_dim=128),
}


def written(folder: Path, shape: Shape, rotary: dict[str, Any]) -> Path:
    raw = {key: value for key, value in config(shape).items() if key != "rope_theta"}
    (folder / "config.json").write_text(json.dumps(raw | rotary))
    return folder


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("settings", WRITTEN)
def test_a_published_key_means_what_it_means_to_transformers(tmp_path: Path, settings: str, family: str) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is a development dependency")
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    folder = written(tmp_path, FAMILIES[family], WRITTEN[settings])
    ours = read_config(folder)
    theirs = LlamaRotaryEmbedding(transformers.AutoConfig.from_pretrained(folder))
    assert torch.allclose(ours.frequencies.of(ours.head_dim), theirs.inv_freq, rtol=2e-6, atol=0.0)
    assert ours.frequencies.magnitude == pytest.approx(theirs.attention_scaling, rel=1e-12)


TELLING = ["beta_fast", "beta_slow", "attention_factor", "mscale and mscale_all_dim", "not truncated", "yarn, original beside"]


@pytest.mark.parametrize("settings", [*TELLING, "yarn, no original", "yarn, factor and contexts that disagree"])
def test_every_key_of_yarn_changes_what_is_computed(tmp_path: Path, settings: str) -> None:
    """Otherwise the comparison could not tell a key that is read from one that is not."""
    plain, other = (read_config(written(tmp_path, FAMILIES["Qwen3"], WRITTEN[name])).frequencies for name in ("yarn", settings))
    assert not torch.equal(plain.of(128) * plain.magnitude, other.of(128) * other.magnitude)


@pytest.mark.parametrize("where", ["rope_scaling", "rope_parameters"])
@pytest.mark.parametrize("named", ["type", "rope_type"])
@pytest.mark.parametrize("kind", ["dynamic", "longrope", "su", "proportional", "mrope", "spiral"])
def test_other_kinds_are_refused_by_name_in_either_spelling(tmp_path: Path, where: str, named: str, kind: str) -> None:
    folder = written(tmp_path, FAMILIES["Llama"], {where: {named: kind, "factor": 2.0}})
    with pytest.raises(ModelRefused, match=f"rotary scaling of the kind '{kind}' is not served: "):
        read_config(folder)
