"""The set for machines without a compiler: attention and all that is not a product by numba, products by torch where proven.

Keys lie transposed in their block, `[kv_heads, head_dim, block_size]`, so that a tile's scores are computed side by side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from kernels import exact, jitted, reference
from kernels.jitted import Ints
from kernels.layers import Attention, Head, LayerWeights, Places, Precision
from kernels.matmul import Linear
from kernels.plain import STORED
from kernels.plan import TALL, Geometry, Span, flattened

NUMBA_SET = "numba-1"  # stands in the deployment fingerprint: change it whenever a change of code can change a bit
_WORTH = 1 << 15  # elements for which other threads are called
_PIECE = 512  # rows that pass through half a layer together; no bit depends on it


def _words(pool: Tensor) -> npt.NDArray[Any]:
    """The numbers of a pool as unsigned integers of their size."""
    return pool.view(torch.uint16 if pool.dtype == torch.bfloat16 else torch.uint32).numpy()


def _run(threads: int, rows: int, elements: int, work: Callable[[slice], None]) -> None:
    """`work` for all rows, on several threads where there is enough to do; it must release the GIL."""
    workers = min(threads, rows) if elements >= _WORTH else 1
    if workers == 1:
        return work(slice(0, rows))
    edges = [rows * i // workers for i in range(workers + 1)]
    with ThreadPoolExecutor(workers - 1) as pool:
        others = [pool.submit(work, slice(edges[i], edges[i + 1])) for i in range(1, workers)]
        work(slice(0, edges[1]))
        for other in others:
            other.result()
    return None


def _head_norms(weights: LayerWeights) -> npt.NDArray[np.float32]:
    norms = [norm.numpy() for norm in (weights.query_norm, weights.key_norm) if norm is not None]
    return np.stack(norms) if norms else np.empty((0, 0), np.float32)


class NumbaLayer:
    """One layer: products by torch on proven row counts, what lies between them fused."""

    def __init__(self, kernels: Numba, weights: LayerWeights, counts: tuple[int, ...] | None) -> None:
        self._kernels, dtype = kernels, STORED[kernels.precision]
        self._dtype, self._eps = dtype, weights.eps
        self._input_norm, self._mlp_norm, self._head_norms = weights.input_norm, weights.mlp_norm, _head_norms(weights)
        self._qkv_bias, self._output_bias = weights.qkv_bias, weights.output_bias
        self._qkv, self._output = (Linear(reference.rounded(w, dtype), counts) for w in (weights.qkv, weights.output))
        self._gate_up, self._down = (Linear(reference.rounded(w, dtype), counts) for w in (weights.gate_up, weights.down))

    @property
    def linears(self) -> tuple[Linear, ...]:
        """The products of this layer."""
        return self._qkv, self._output, self._gate_up, self._down

    def project(self, hidden: Tensor, places: Places, keys: Tensor, values: Tensor) -> Tensor:
        """As `Layer.project`, some rows at a time."""
        k, g = self._kernels, self._kernels.geometry
        queries = hidden.new_empty(hidden.shape[0], g.heads, g.head_dim)
        slots, stored = places.slots.view(-1, g.kv_heads).numpy(), (_words(keys), _words(values))
        for start in range(0, hidden.shape[0], _PIECE):
            normed = k.rms_norm(hidden[start : start + _PIECE], self._input_norm, self._eps)
            projected = reference.biased(self._qkv(reference.rounded(normed, self._dtype)), self._qkv_bias)
            mixed = projected.view(len(normed), -1, g.head_dim).numpy()

            def placed(rows: slice, first: int = start, mixed: npt.NDArray[np.float32] = mixed) -> None:
                there = slice(first + rows.start, first + rows.stop)
                cos, sin = places.cos[there].numpy(), places.sin[there].numpy()
                norms = self._head_norms, np.float32(self._eps)
                jitted.place(mixed[rows], *norms, cos, sin, slots[there], g.heads, *stored, queries[there].numpy())

            _run(k.threads, len(normed), mixed.size, placed)
        return queries

    def finish(self, hidden: Tensor, attended: Tensor) -> None:
        """As `Layer.finish`, some rows at a time."""
        k = self._kernels
        for start in range(0, hidden.shape[0], _PIECE):
            rows = hidden[start : start + _PIECE]
            mixed = self._output(reference.rounded(attended[start : start + _PIECE].flatten(1), self._dtype))
            rows.add_(reference.biased(mixed, self._output_bias))
            normed = reference.rounded(k.rms_norm(rows, self._mlp_norm, self._eps), self._dtype)
            rows.add_(self._down(reference.rounded(k.silu_mul(self._gate_up(normed)), self._dtype)))


class NumbaHead:
    """Final norm and vocabulary."""

    def __init__(self, kernels: Numba, norm: Tensor, linear: Linear, eps: float) -> None:
        self._kernels, self._norm, self._linear, self._eps = kernels, norm, linear, eps

    def norm(self, hidden: Tensor) -> Tensor:
        """As `Head.norm`."""
        return self._kernels.rms_norm(hidden, self._norm, self._eps)

    def logits(self, normed: Tensor) -> Tensor:
        """As `Head.logits`."""
        return self._linear(normed)


class Numba:
    """Serves the number of threads that the calling thread had when it was made. Implements `KernelSet`."""

    def __init__(self, geometry: Geometry, precision: Precision = "fp32", *, library: bool = True) -> None:
        self.geometry, self.precision, self.threads = geometry, precision, torch.get_num_threads()
        self._counts = None if library else ()
        self._linears: list[Linear] = []

    @property
    def name(self) -> str:
        """The set, what compiles it, and how products are computed here: by the library, or in a written order."""
        safe = {bool(linear.counts) for linear in self._linears}
        kind = "mixed" if len(safe) == 2 else ("library" if True in safe else "ordered")
        return f"{NUMBA_SET},{self.precision},numba={numba.__version__},torch={torch.__version__},linear={kind}"

    def layer(self, weights: LayerWeights) -> NumbaLayer:
        """Keep a layer's weights, and prove the row counts of its products."""
        layer = NumbaLayer(self, weights, self._counts)
        self._linears.extend(layer.linears)
        return layer

    def head(self, norm: Tensor, weight: Tensor, eps: float) -> Head:
        """Final norm and vocabulary."""
        self._linears.append(Linear(weight, self._counts))
        return NumbaHead(self, norm, self._linears[-1], eps)

    def pools(self, blocks: int) -> tuple[Tensor, Tensor]:
        """Keys `[blocks, kv_heads, head_dim, block_size]` and values `[blocks, kv_heads, block_size, head_dim]`."""
        g, dtype = self.geometry, STORED[self.precision]
        keys = torch.zeros(blocks, g.kv_heads, g.head_dim, g.block_size, dtype=dtype)
        return keys, torch.zeros(blocks, g.kv_heads, g.block_size, g.head_dim, dtype=dtype)

    def plan(self, spans: Sequence[Span]) -> Attention:
        """Parts of at most `TALL` rows of one KV head, dealt out so that all threads have about the same to do."""
        g, parts, blocks = self.geometry, self._parts(spans), flattened(spans)[1].numpy()
        elements = int((parts[:, 3] * parts[:, 2]).sum()) * g.head_dim
        shares = [np.ascontiguousarray(parts[i :: self.threads]) for i in range(min(self.threads, len(parts)))]

        def attend(q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            out = torch.empty_like(q)
            scaled = reference.rounded(q * (1.0 / math.sqrt(g.head_dim)), keys.dtype).numpy()
            stored, result = (_words(keys), _words(values)), out.numpy()

            def work(some: slice) -> None:
                for share in shares[some]:
                    jitted.attend(scaled, *stored, blocks, share, g.window or 0, result)

            _run(self.threads, len(shares), elements, work)
            return out

        return attend

    def _parts(self, spans: Sequence[Span]) -> Ints:
        parts, table = [], flattened(spans)[0].tolist()
        for row, start, length, at, held, gone in table:
            for offset in range(0, length, TALL):
                rows = min(TALL, length - offset)
                for head in range(self.geometry.kv_heads):
                    parts.append((row + offset, start + offset, rows, start + length, at, held, gone, head))
        found = np.array(parts, dtype=np.int64)
        return found[np.argsort(-found[:, 2] * (found[:, 1] + found[:, 2]), kind="stable")]

    def normalisers(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """See `reference.normalisers`: `[n, V] -> [n], [n]`."""
        maximum, total = logits.new_empty(logits.shape[0]), logits.new_empty(logits.shape[0])
        source, *targets = (tensor.numpy() for tensor in (logits, maximum, total))
        work = lambda rows: jitted.totals(source[rows], *(target[rows] for target in targets))  # noqa: E731 — one expression, passed on
        _run(self.threads, logits.shape[0], logits.numel(), work)
        return maximum, exact.log_of(total)

    def log_probabilities(self, logits: Tensor, chosen: Tensor) -> Tensor:
        """log softmax(logits)[chosen], normalised over the whole vocabulary: `[n, V], [n] -> [n]`."""
        maximum, log_total = self.normalisers(logits)
        return (logits.gather(1, chosen[:, None])[:, 0] - maximum) - log_total

    def rms_norm(self, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        """See `reference.rms_norm`: `[T, K] -> [T, K]`."""
        out = torch.empty_like(x)
        source, scale, target = x.numpy(), weight.numpy(), out.numpy()
        _run(self.threads, len(x), x.numel(), lambda rows: jitted.rms_norm(source[rows], scale, np.float32(eps), target[rows]))
        return out

    def silu_mul(self, gate_up: Tensor) -> Tensor:
        """See `reference.silu_mul`: `[T, 2F] -> [T, F]`."""
        out = gate_up.new_empty(gate_up.shape[0], gate_up.shape[1] // 2)
        source, target = gate_up.numpy(), out.numpy()
        _run(self.threads, len(source), source.size, lambda rows: jitted.silu_mul(source[rows], target[rows]))
        return out
