"""`config.json` of a model folder: the numbers that change a result, or one sentence on what this engine cannot run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.architectures import family_of
from engine.architectures.family import Family
from engine.errors import ModelRefused
from engine.numbers import LARGEST, flag, positive, whole
from engine.rotary_settings import frequencies_of
from engine.tokenizers import files
from kernels.frequencies import Frequencies

_DEEPEST = 1 << 12  # layers; the deepest published models have some two hundred
_LONGEST = 1 << 24  # positions: up to here float32 holds each exactly
_WIDEST = 1 << 16  # heads times head_dim, for the same reason as LARGEST
_FIXED = {  # what a key may say, and why nothing else
    "hidden_act": ("silu", "the kernels compute SiLU alone"),
    "mlp_bias": (False, "the kernels add biases around attention and none to the MLP"),
    "is_encoder_decoder": (False, "there is a decoder alone here"),
}


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The numbers of `config.json` that change a result. Sizes in elements."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    context: int
    eps: float
    frequencies: Frequencies
    tied: bool  # the head is the embedding
    head_norms: bool  # queries and keys are normed head by head
    qkv_bias: bool  # added to queries, keys and values before anything else
    output_bias: bool  # added to what attention gives back
    windows: tuple[int | None, ...]  # of each layer: tokens that a position sees, its own included; None: all before it

    @property
    def window(self) -> int | None:
        """The tokens that any layer sees; None where one of them sees all, so that nothing may be forgotten."""
        return None if None in self.windows else max(window for window in self.windows if window is not None)


def read_config(folder: Path) -> ModelConfig:
    """Read and check `config.json`; ModelRefused says in one sentence what this engine cannot run."""
    raw = files.json_object(folder, "config.json")
    family = family_of(raw)
    for key, (served, why) in _FIXED.items():
        if raw.get(key) not in (None, served):
            raise ModelRefused(f"{key} = {str(raw[key])[:40]!r} is not served, only {served!r}: {why}")
    for key in ("quantization_config", "compression_config"):
        if raw.get(key):
            raise ModelRefused(f"config.json has {key}: quantized weights are not read, only float32, bf16 and float16")
    try:
        return _numbers(raw, family)
    except KeyError as missing:
        raise ModelRefused(f"config.json has no {missing.args[0]}") from missing


def _numbers(raw: Mapping[str, Any], family: Family) -> ModelConfig:
    hidden, heads = _size(raw, "hidden_size"), _size(raw, "num_attention_heads")
    layers, context = _size(raw, "num_hidden_layers", _DEEPEST), _size(raw, "max_position_embeddings", _LONGEST)
    biased = family.biases(raw)
    config = ModelConfig(
        hidden=hidden,
        layers=layers,
        heads=heads,
        kv_heads=_size_or(raw, "num_key_value_heads", family.kv_heads, heads),
        head_dim=_size_or(raw, "head_dim", family.head_dim, hidden // heads),
        intermediate=_size(raw, "intermediate_size"),
        vocabulary=_size(raw, "vocab_size"),
        context=context,
        eps=positive("rms_norm_eps", raw.get("rms_norm_eps", 1e-6)),
        frequencies=frequencies_of(raw, context),
        tied=flag("tie_word_embeddings", raw.get("tie_word_embeddings", False)),
        head_norms=family.head_norms,
        qkv_bias=biased.qkv,
        output_bias=biased.output,
        # no position stands so far that it would lose one to a window as long as the context
        windows=tuple(None if window is None or window >= context else window for window in family.windows(raw, layers)),
    )
    if config.heads % config.kv_heads or config.head_dim % 2 or config.head_dim == 0:
        raise ModelRefused("the number of heads must be a multiple of the KV heads, and head_dim even")
    if config.heads * config.head_dim > _WIDEST:
        raise ModelRefused(f"num_attention_heads times head_dim must be at most {_WIDEST}")
    return config


def _size(raw: Mapping[str, Any], key: str, largest: int = LARGEST) -> int:
    return whole(key, raw[key], largest)


def _size_or(raw: Mapping[str, Any], key: str, left_out: int | None, null: int) -> int:
    """A size that may be left out, or null, which means `null`."""
    value = raw.get(key, left_out)
    return null if value is None else whole(key, value)
