"""What a set of kernels offers the model: the nouns that all sets share.

Precision `bf16`: weights, keys and values are held in bf16, and what enters a product is rounded to it, to the nearest, ties to
even: activations, scaled queries, softmax weights. Sums, residual stream, softmax, final norm and all after it are float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from torch import Tensor

from kernels.plan import Span

Precision = Literal["fp32", "bf16"]
Attention = Callable[[Tensor, Tensor, Tensor], Tensor]  # queries [T, H, D], pool of keys, pool of values -> [T, H, D]


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One layer as the checkpoint has it, float32; matrices are `[out, in]`."""

    input_norm: Tensor  # [hidden]
    qkv: Tensor  # [(H + 2G) * D, hidden], queries first, then keys, then values
    output: Tensor  # [hidden, H * D]
    mlp_norm: Tensor  # [hidden]
    gate_up: Tensor  # [2 * inner, hidden], gate first
    down: Tensor  # [hidden, inner]
    eps: float
    query_norm: Tensor | None = None  # [D], for every head before it is turned; None where the model has none
    key_norm: Tensor | None = None
    qkv_bias: Tensor | None = None  # [(H + 2G) * D] float32, added to what the product gives, in the order of `qkv`
    output_bias: Tensor | None = None  # [hidden] float32


@dataclass(frozen=True, slots=True)
class Places:
    """Where the T rows of a step stand."""

    cos: Tensor  # [T, D/2] of the rows' absolute positions
    sin: Tensor
    slots: Tensor  # [T * kv_heads] rows of the pool seen as [blocks * kv_heads * block_size]


class Layer(Protocol):
    """One layer, cut where attention stands."""

    def project(self, hidden: Tensor, places: Places, keys: Tensor, values: Tensor) -> Tensor:
        """Norm, projection, norms of heads, rotation: `[T, hidden] -> queries [T, H, D]`; keys and values go into the pools."""
        ...

    def finish(self, hidden: Tensor, attended: Tensor) -> None:
        """Output projection and gated MLP, added to `hidden [T, hidden]` in place; `attended` is `[T, H, D]`."""
        ...


class Head(Protocol):
    """The end of a pass, cut where the kept hidden state of a block comes in."""

    def norm(self, hidden: Tensor) -> Tensor:
        """Final norm: `[n, hidden] -> [n, hidden]` float32."""
        ...

    def logits(self, normed: Tensor) -> Tensor:
        """Vocabulary: what `norm` gave, `[n, hidden] -> [n, V]` float32."""
        ...


class KernelSet(Protocol):
    """Everything numerical of a pass. One set reads no pool that another has written: they may lay out a block differently."""

    @property
    def name(self) -> str:
        """Which kernels these are and how they were made, for the fingerprint."""
        ...

    def layer(self, weights: LayerWeights) -> Layer:
        """Take a layer's weights into the form these kernels want."""
        ...

    def head(self, norm: Tensor, weight: Tensor, eps: float) -> Head:
        """Final norm `[hidden]` and vocabulary `[V, hidden]`."""
        ...

    def pools(self, blocks: int) -> tuple[Tensor, Tensor]:
        """Zeroed keys and values of one layer, `[blocks, …]`: the rest is its own affair, blocks are copied and filled whole."""
        ...

    def plan(self, spans: Sequence[Span]) -> Attention:
        """Attention for the rows of one step, to be called once a layer."""
        ...

    def normalisers(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Of each line its maximum and the log of Σ exp(logit - maximum) over the whole vocabulary: `[n, V] -> [n], [n]`.

        log P of any id is `(logits[line, id] - maximum[line]) - log_total[line]`; not finite where a logit of the line is not.
        """
        ...

    def log_probabilities(self, logits: Tensor, chosen: Tensor) -> Tensor:
        """log softmax(logits)[chosen] by `normalisers`: `[n, V], [n] -> [n]`."""
        ...
