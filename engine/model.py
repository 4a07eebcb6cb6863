"""The one block that all families share, run layer by layer: norm, attention, norm, gated MLP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from engine.model_config import ModelConfig, read_config
from engine.weights import Weights, shapes
from kernels.choice import Choice, choose
from kernels.errors import KernelsUnavailable
from kernels.layers import Attention, KernelSet, Layer, LayerWeights, Places, Precision
from kernels.plan import Geometry, Span
from kernels.rotary import Rotary


@dataclass(frozen=True, slots=True)
class StepInputs:
    """What all layers of one step share. T rows."""

    ids: Tensor  # [T]
    places: Places
    attend: Sequence[Attention]  # of each layer


class Model:
    """`embed`, `layer(i)` and `head`, so that a pass can stop between two layers. It serves the thread count it was made with.

    `kernels`, `level` (`avx2`, `avx512`) and `precision` choose the set that computes; kernels.errors.KernelsUnavailable where it
    cannot be had. The embedding, which is looked up, and the head stay float32.
    """

    def __init__(
        self, folder: Path, block_size: int, *, kernels: Choice = "reference", level: str = "", precision: Precision = "fp32"
    ) -> None:
        self.config: ModelConfig = read_config(folder)
        config = self.config
        weights = Weights(folder)
        weights.expect(shapes(config), tied=config.tied)  # before anything is made in the sizes that config.json claims
        self._attending = _attending(config, block_size, lambda geometry: choose(kernels, geometry, level, precision))
        self.geometry, self.kernels = self._attending[config.windows[0]]
        self._embedding = weights.take("model.embed_tokens.weight")
        self._layers = [self._layer(weights, f"model.layers.{i}") for i in range(config.layers)]
        head = self._embedding if config.tied else weights.take("lm_head.weight")
        self._head = self.kernels.head(weights.take("model.norm.weight"), head, config.eps)
        self._rotary = Rotary(config.context, config.head_dim, config.frequencies)

    def _layer(self, weights: Weights, prefix: str) -> Layer:
        def take(name: str) -> Tensor:
            return weights.take(f"{prefix}.{name}.weight")

        def bias(name: str) -> Tensor:
            return weights.take(f"{prefix}.self_attn.{name}_proj.bias")

        normed = self.config.head_norms
        found = LayerWeights(
            input_norm=take("input_layernorm"),
            qkv=torch.cat([take(f"self_attn.{name}_proj") for name in "qkv"]),
            output=take("self_attn.o_proj"),
            mlp_norm=take("post_attention_layernorm"),
            gate_up=torch.cat([take(f"mlp.{name}_proj") for name in ("gate", "up")]),
            down=take("mlp.down_proj"),
            eps=self.config.eps,
            query_norm=take("self_attn.q_norm") if normed else None,
            key_norm=take("self_attn.k_norm") if normed else None,
            qkv_bias=torch.cat([bias(name) for name in "qkv"]) if self.config.qkv_bias else None,
            output_bias=bias("o") if self.config.output_bias else None,
        )
        return self.kernels.layer(found)

    @property
    def layers(self) -> int:
        """Number of layers."""
        return self.config.layers

    def plan(self, spans: Sequence[Span]) -> tuple[Attention, ...]:
        """Attention of each layer for the rows of one step: one plan for all layers of one window."""
        made = {window: kernels.plan(spans) for window, (_, kernels) in self._attending.items()}
        return tuple(made[window] for window in self.config.windows)

    def inputs(self, ids: Tensor, positions: Tensor, slots: Tensor, attend: Sequence[Attention]) -> StepInputs:
        """Bundle a step: `ids` and `positions` `[T]`, `slots` `[T * kv_heads]`, `attend` from `plan`."""
        return StepInputs(ids, Places(*self._rotary.rows(positions), slots), attend)

    def embed(self, step: StepInputs) -> Tensor:
        """`[T] -> [T, hidden]`."""
        return self._embedding.index_select(0, step.ids)

    def layer(self, index: int, hidden: Tensor, step: StepInputs, keys: Tensor, values: Tensor) -> Tensor:
        """One layer, in place: `[T, hidden] -> [T, hidden]`; writes the step's keys and values into the layer's pools first."""
        layer = self._layers[index]
        queries = layer.project(hidden, step.places, keys, values)
        layer.finish(hidden, step.attend[index](queries, keys, values))
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


def _attending(
    config: ModelConfig, block_size: int, choose: Callable[[Geometry], KernelSet]
) -> dict[int | None, tuple[Geometry, KernelSet]]:
    """Kernels for every window that a layer has; all lay out a block alike, so that any of them reads what another has written."""
    found = {}
    for window in config.windows:
        if window not in found:
            geometry = Geometry(config.heads, config.kv_heads, config.head_dim, block_size, window)
            found[window] = geometry, choose(geometry)
    kinds = {type(kernels) for _, kernels in found.values()}
    if len(kinds) > 1:
        raise KernelsUnavailable("one set of kernels does not serve both the layers with a window and those without")
    return found
