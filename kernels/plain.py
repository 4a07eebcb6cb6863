"""The reference kernels as a set: torch operations whose bits follow from IEEE 754, and library products that a probe proved."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from kernels import KERNEL_SET, exact, reference
from kernels.layers import Attention, Head, LayerWeights, Places, Precision
from kernels.matmul import Linear, TileProduct, tile_product
from kernels.plan import SHORT, SLAB, TALL, TILE, Geometry, Plan, Span

STORED = {"fp32": torch.float32, "bf16": torch.bfloat16}  # type of weights, keys and values, and of what enters a product
_PIECE = 512  # rows: what lies between two products then stays in the cache; no bit depends on it


class PlainLayer:
    """One layer; a KV block is `[kv_heads, block_size, head_dim]`, keys as values."""

    def __init__(self, weights: LayerWeights, geometry: Geometry, dtype: torch.dtype, counts: tuple[int, ...] | None) -> None:
        self._geometry, self._dtype, self._eps = geometry, dtype, weights.eps
        self._input_norm, self._mlp_norm = weights.input_norm, weights.mlp_norm
        self._query_norm, self._key_norm = weights.query_norm, weights.key_norm
        self._qkv_bias, self._output_bias = weights.qkv_bias, weights.output_bias
        self._qkv, self._output = (Linear(reference.rounded(w, dtype), counts) for w in (weights.qkv, weights.output))
        self._gate_up, self._down = (Linear(reference.rounded(w, dtype), counts) for w in (weights.gate_up, weights.down))

    @property
    def linears(self) -> tuple[Linear, ...]:
        """The products of this layer."""
        return self._qkv, self._output, self._gate_up, self._down

    def project(self, hidden: Tensor, places: Places, keys: Tensor, values: Tensor) -> Tensor:
        """As `Layer.project`, some rows at a time."""
        geometry = self._geometry
        queries = hidden.new_empty(hidden.shape[0], geometry.heads, geometry.head_dim)
        slots = places.slots.view(-1, geometry.kv_heads)
        first_value = geometry.heads + geometry.kv_heads
        for start in range(0, hidden.shape[0], _PIECE):
            part = slice(start, start + _PIECE)
            cos, sin = places.cos[part], places.sin[part]
            normed = reference.rms_norm(hidden[part], self._input_norm, self._eps)
            projected = reference.biased(self._qkv(reference.rounded(normed, self._dtype)), self._qkv_bias)
            mixed = projected.view(len(cos), -1, geometry.head_dim)
            there = slots[part].reshape(-1)
            turned = self._normed(mixed[:, geometry.heads : first_value], self._key_norm)
            reference.write_kv(keys, reference.rotary(turned, cos, sin), there)
            reference.write_kv(values, mixed[:, first_value:], there)
            queries[part] = reference.rotary(self._normed(mixed[:, : geometry.heads], self._query_norm), cos, sin)
        return queries

    def _normed(self, heads: Tensor, norm: Tensor | None) -> Tensor:
        return heads if norm is None else reference.rms_norm(heads, norm, self._eps)

    def finish(self, hidden: Tensor, attended: Tensor) -> None:
        """As `Layer.finish`, some rows at a time."""
        for start in range(0, hidden.shape[0], _PIECE):
            rows = hidden[start : start + _PIECE]
            mixed = self._output(reference.rounded(attended[start : start + _PIECE].flatten(1), self._dtype))
            rows.add_(reference.biased(mixed, self._output_bias))
            normed = reference.rms_norm(rows, self._mlp_norm, self._eps)
            gate_up = self._gate_up(reference.rounded(normed, self._dtype))
            rows.add_(self._down(reference.rounded(reference.silu_mul(gate_up), self._dtype)))


class PlainHead:
    """Final norm and vocabulary."""

    def __init__(self, norm: Tensor, linear: Linear, eps: float) -> None:
        self._norm, self._linear, self._eps = norm, linear, eps

    def norm(self, hidden: Tensor) -> Tensor:
        """As `Head.norm`."""
        return reference.rms_norm(hidden, self._norm, self._eps)

    def logits(self, normed: Tensor) -> Tensor:
        """As `Head.logits`."""
        return self._linear(normed)


class Plain:
    """Serves the number of threads that the calling thread had when it was made. Implements `KernelSet`.

    Products run in the library on the shapes proven for it; without `library` all run in the written order, which needs no proof.
    """

    def __init__(self, geometry: Geometry, precision: Precision = "fp32", *, library: bool = True) -> None:
        self._geometry, self._precision, self._threads = geometry, precision, torch.get_num_threads()
        self._counts = None if library else ()
        self.product: TileProduct = self._proven() if library else self._ordered()
        self._linears: list[Linear] = []

    def _ordered(self) -> TileProduct:
        tall, largest = TALL * self._geometry.group, max(SLAB, self._geometry.kv_heads)
        return TileProduct(tall, tall, tuple(range(largest + 1)), library=False)

    def _proven(self) -> TileProduct:
        geometry = self._geometry
        return tile_product(
            tall=TALL * geometry.group,
            short=SHORT * geometry.group,
            depth=geometry.head_dim,
            tile=TILE,
            largest=max(SLAB, geometry.kv_heads),
            threads=self._threads,
        )

    @property
    def name(self) -> str:
        """The set and how products and exponentials are computed here: by the library, or in a written order."""
        safe = {bool(linear.counts) for linear in self._linears}
        kind = "mixed" if len(safe) == 2 else ("library" if True in safe else "ordered")
        attention = "library" if self.product.library else "ordered"
        exp = "library" if exact.library_exp_is_safe(self._threads) else "ordered"
        return f"{KERNEL_SET},{self._precision},torch={torch.__version__},linear={kind},attention={attention},exp={exp}"

    def layer(self, weights: LayerWeights) -> PlainLayer:
        """Keep a layer's weights, and prove the row counts of its products."""
        layer = PlainLayer(weights, self._geometry, STORED[self._precision], self._counts)
        self._linears.extend(layer.linears)
        return layer

    def head(self, norm: Tensor, weight: Tensor, eps: float) -> Head:
        """Final norm and vocabulary."""
        linear = Linear(weight, self._counts)
        self._linears.append(linear)
        return PlainHead(norm, linear, eps)

    def pools(self, blocks: int) -> tuple[Tensor, Tensor]:
        """Both `[blocks, kv_heads, block_size, head_dim]`."""
        g = self._geometry
        shape = (blocks, g.kv_heads, g.block_size, g.head_dim)
        return torch.zeros(shape, dtype=STORED[self._precision]), torch.zeros(shape, dtype=STORED[self._precision])

    def plan(self, spans: Sequence[Span]) -> Attention:
        """Cut a step into slabs of equal work."""
        product, geometry = self.product, self._geometry
        plan = Plan(spans, geometry, short=product.short // geometry.group, batches=product.batches)
        return lambda q, keys, values: reference.paged_attention(q, keys, values, plan, geometry, product)

    def normalisers(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """See `reference.normalisers`."""
        return reference.normalisers(logits)

    def log_probabilities(self, logits: Tensor, chosen: Tensor) -> Tensor:
        """See `reference.log_probabilities`."""
        return reference.log_probabilities(logits, chosen)
