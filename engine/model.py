"""Llama-family models from a safetensors folder in the Hugging Face layout, run layer by layer.

Only data is read: `config.json` and safetensors. Pickled weights are refused and no code of the folder is ever run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from engine.errors import ModelRefused
from kernels.choice import Choice, choose
from kernels.layers import Attention, Layer, LayerWeights, Places, Precision
from kernels.plan import Geometry
from kernels.rotary import Rotary

_ARCHITECTURES = ("LlamaForCausalLM", "MistralForCausalLM")
_LARGEST = 1 << 20  # of any size in config.json: far above real models, and the tables made from it still fit into memory
_LONGEST = 1 << 24  # positions: up to here float32 holds each exactly
_WIDEST = 1 << 16  # heads times head_dim, for the same reason
_INDEX, _SINGLE = "model.safetensors.index.json", "model.safetensors"


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
    theta: float
    tied: bool
    window: int | None


def read_config(folder: Path) -> ModelConfig:
    """Read and check `config.json`; ModelRefused says in one sentence what this engine cannot run."""
    raw = _read_json(folder / "config.json")
    architectures = raw.get("architectures") or [raw.get("model_type")]
    if not isinstance(architectures, list) or not all(name in _ARCHITECTURES for name in architectures):
        raise ModelRefused(f"this engine runs {' and '.join(_ARCHITECTURES)}, and the folder holds {architectures}")
    rope = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
    if not isinstance(rope, dict):
        raise ModelRefused(f"the rotary parameters must be an object, not {rope!r}")
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind != "default":
        raise ModelRefused(f"rotary scaling of the kind {kind!r} is not supported")
    for key, supported in (("hidden_act", "silu"), ("attention_bias", False), ("mlp_bias", False)):
        if raw.get(key, supported) != supported:
            raise ModelRefused(f"{key} = {raw[key]!r} is not supported, only {supported!r}")
    if raw.get("quantization_config"):
        raise ModelRefused("quantized weights are not supported")
    try:
        return _numbers(raw, rope)
    except KeyError as missing:
        raise ModelRefused(f"config.json has no {missing.args[0]}") from missing


def _numbers(raw: Mapping[str, Any], rope: Mapping[str, Any]) -> ModelConfig:
    hidden, heads = _size(raw, "hidden_size"), _size(raw, "num_attention_heads")
    config = ModelConfig(
        hidden=hidden,
        layers=_size(raw, "num_hidden_layers"),
        heads=heads,
        kv_heads=heads if raw.get("num_key_value_heads") is None else _size(raw, "num_key_value_heads"),
        head_dim=hidden // heads if raw.get("head_dim") is None else _size(raw, "head_dim"),
        intermediate=_size(raw, "intermediate_size"),
        vocabulary=_size(raw, "vocab_size"),
        context=_size(raw, "max_position_embeddings", _LONGEST),
        eps=_positive("rms_norm_eps", raw.get("rms_norm_eps", 1e-6)),
        theta=_positive("rope_theta", raw.get("rope_theta", rope.get("rope_theta", 10_000.0))),
        tied=raw.get("tie_word_embeddings", False),
        window=None if raw.get("sliding_window") is None else _size(raw, "sliding_window"),
    )
    if not isinstance(config.tied, bool):
        raise ModelRefused(f"tie_word_embeddings must be true or false, not {config.tied!r}")
    if config.heads % config.kv_heads or config.head_dim % 2 or config.head_dim == 0:
        raise ModelRefused("the number of heads must be a multiple of the KV heads, and head_dim even")
    if config.heads * config.head_dim > _WIDEST:
        raise ModelRefused(f"num_attention_heads times head_dim must be at most {_WIDEST}")
    return config


def _size(raw: Mapping[str, Any], key: str, largest: int = _LARGEST) -> int:
    value = raw[key]
    if type(value) is not int or not 1 <= value <= largest:  # bool is an int, and no size
        raise ModelRefused(f"{key} must be a whole number between 1 and {largest}, not {value!r}")
    return value


def _positive(key: str, value: object) -> float:
    if type(value) not in (int, float) or not 0 < float(str(value)) < math.inf:
        raise ModelRefused(f"{key} must be a finite number above 0, not {value!r}")
    return float(str(value))


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of a folder, sharded or not, in name order."""
    if (folder / _INDEX).exists():
        places = _read_json(folder / _INDEX).get("weight_map")
        if not isinstance(places, dict) or not all(isinstance(name, str) and name.isprintable() for name in places.values()):
            raise ModelRefused(f"{_INDEX} has no weight_map of tensors and files")
        return [folder / name for name in sorted(set(places.values()))]
    if (folder / _SINGLE).exists():
        return [folder / _SINGLE]
    raise ModelRefused(f"{folder.name} holds neither {_SINGLE} nor {_INDEX}; other formats are not read")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelRefused(f"{path.name} is missing") from error
    except (ValueError, RecursionError) as error:
        raise ModelRefused(f"{path.name} is not valid JSON: {error}") from error
    except OSError as error:
        raise ModelRefused(f"{path.name} cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise ModelRefused(f"{path.name} holds no object")
    return content


class _Weights:
    """Tensors by name, each taken once, checked for shape and finite numbers, as float32."""

    def __init__(self, folder: Path) -> None:
        self._tensors: dict[str, Tensor] = {}
        for path in weight_files(folder):
            if path.resolve().parent != folder.resolve():
                raise ModelRefused(f"{path.name} lies outside the folder")
            try:
                with safe_open(path, framework="pt") as file:
                    self._tensors.update({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118 — no mapping
            except (SafetensorError, OSError, ValueError) as error:
                raise ModelRefused(f"{path.name} cannot be read: {error}") from error

    def take(self, name: str, *shape: int) -> Tensor:
        tensor = self._tensors.get(name)
        if tensor is None:
            raise ModelRefused(f"the weights have no {name}")
        if tensor.shape != shape:
            raise ModelRefused(f"{name} has shape {tuple(tensor.shape)} and config.json says {shape}")
        if not tensor.is_floating_point():
            raise ModelRefused(f"{name} holds {tensor.dtype} and no floating-point numbers")
        taken = tensor.to(torch.float32, copy=True)  # aligned memory: the bits of a library may depend on the address
        if not bool(taken.isfinite().all()):
            raise ModelRefused(f"{name} holds numbers that are not finite")
        return taken


@dataclass(frozen=True, slots=True)
class StepInputs:
    """What all layers of one step share. T rows."""

    ids: Tensor  # [T]
    places: Places
    attend: Attention


class Model:
    """`embed`, `layer(i)` and `head`, so that a pass can stop between two layers. It serves the thread count it was made with.

    `kernels`, `level` (`avx2`, `avx512`) and `precision` choose the set that computes; kernels.errors.KernelsUnavailable where it
    cannot be had. The embedding, which is looked up, and the head stay float32.
    """

    def __init__(
        self, folder: Path, block_size: int, *, kernels: Choice = "reference", level: str = "", precision: Precision = "fp32"
    ) -> None:
        self.config = config = read_config(folder)
        self.geometry = Geometry(config.heads, config.kv_heads, config.head_dim, block_size, config.window)
        self.kernels = choose(kernels, self.geometry, level, precision)
        weights = _Weights(folder)
        self._embedding = weights.take("model.embed_tokens.weight", config.vocabulary, config.hidden)
        self._layers = [self._layer(weights, f"model.layers.{i}") for i in range(config.layers)]
        norm = weights.take("model.norm.weight", config.hidden)
        head = self._embedding if config.tied else weights.take("lm_head.weight", config.vocabulary, config.hidden)
        self._head = self.kernels.head(norm, head, config.eps)
        self._rotary = Rotary(config.context, config.head_dim, config.theta)

    def _layer(self, weights: _Weights, prefix: str) -> Layer:
        c = self.config
        q, kv = c.heads * c.head_dim, c.kv_heads * c.head_dim
        attention, mlp = f"{prefix}.self_attn", f"{prefix}.mlp"
        qkv = [weights.take(f"{attention}.{name}_proj.weight", rows, c.hidden) for name, rows in (("q", q), ("k", kv), ("v", kv))]
        gate_up = [weights.take(f"{mlp}.{name}_proj.weight", c.intermediate, c.hidden) for name in ("gate", "up")]
        found = LayerWeights(
            input_norm=weights.take(f"{prefix}.input_layernorm.weight", c.hidden),
            qkv=torch.cat(qkv),
            output=weights.take(f"{attention}.o_proj.weight", c.hidden, q),
            mlp_norm=weights.take(f"{prefix}.post_attention_layernorm.weight", c.hidden),
            gate_up=torch.cat(gate_up),
            down=weights.take(f"{mlp}.down_proj.weight", c.hidden, c.intermediate),
            eps=c.eps,
        )
        return self.kernels.layer(found)

    @property
    def layers(self) -> int:
        """Number of layers."""
        return self.config.layers

    def inputs(self, ids: Tensor, positions: Tensor, slots: Tensor, attend: Attention) -> StepInputs:
        """Bundle a step: `ids` and `positions` `[T]`, `slots` `[T * kv_heads]`."""
        return StepInputs(ids, Places(*self._rotary.rows(positions), slots), attend)

    def embed(self, step: StepInputs) -> Tensor:
        """`[T] -> [T, hidden]`."""
        return self._embedding.index_select(0, step.ids)

    def layer(self, index: int, hidden: Tensor, step: StepInputs, keys: Tensor, values: Tensor) -> Tensor:
        """One layer, in place: `[T, hidden] -> [T, hidden]`; writes the step's keys and values into the layer's pools first."""
        layer = self._layers[index]
        queries = layer.project(hidden, step.places, keys, values)
        layer.finish(hidden, step.attend(queries, keys, values))
        return hidden

    def norm(self, hidden: Tensor) -> Tensor:
        """Final norm: `[n, hidden] -> [n, hidden]`; a row of it is what a block keeps of its last position."""
        return self._head.norm(hidden)

    def logits(self, normed: Tensor) -> Tensor:
        """Vocabulary, for rows that `norm` gave: `[n, hidden] -> [n, V]`."""
        return self._head.logits(normed)

    def head(self, hidden: Tensor) -> Tensor:
        """Both together: `[n, hidden] -> [n, V]`."""
        return self.logits(self.norm(hidden))
