"""The compiled kernels as a set: C++ for AVX2 or AVX-512, called through ctypes on the memory of torch tensors.

Every sum has one written order, so the number of rows, the batch, the chunk and the threads cannot change a bit, and both
instruction sets give the same. Shapes as in `reference`; a block of keys lies transposed, `[kv_heads, head_dim, block_size]`.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from kernels import compiler
from kernels.compiler import Level
from kernels.errors import KernelsUnavailable
from kernels.layers import Attention, Head, LayerWeights, Places
from kernels.plan import Geometry, Span

NATIVE_SET = "native-1"  # stands in the deployment fingerprint: change it whenever a change of code can change a bit
LANES = 16

_Argument: TypeAlias = Tensor | int | float
_KINDS = {"t": ctypes.c_void_p, "l": ctypes.c_int64, "i": ctypes.c_int, "f": ctypes.c_float}
_SIGNATURES = {  # t tensor, l 64-bit and i 32-bit number, f float
    "rms_norm": "ttfliti",
    "silu_mul": "tliti",
    "exp": "tlt",
    "linear": "tltiiti",
    "normalisers": "tlitti",
    "project": "tlitftttt" + "iiii" + "ttt" + "i",
    "attend": "tttt" + "lt" + "iiiil" + "ti",
    "finish": "ttliittftti" + "i",
}


class Library:
    """The entry points of one compiled library; tensors must be contiguous, float32, and int64 where they are indices."""

    def __init__(self, level: Level) -> None:
        path = compiler.library(level)
        try:
            loaded = ctypes.CDLL(str(path))  # torch was imported above, so both share one OpenMP
        except OSError as error:
            raise KernelsUnavailable(f"{path.name} cannot be loaded: {error}") from error
        self.level = level
        self._functions = {name: getattr(loaded, f"native_{name}") for name in _SIGNATURES}
        for name, kinds in _SIGNATURES.items():
            self._functions[name].argtypes, self._functions[name].restype = [_KINDS[kind] for kind in kinds], None

    def call(self, name: str, *arguments: _Argument) -> None:
        """Call one entry point; the GIL is released while it runs."""
        self._functions[name](*(_pointer(a) if isinstance(a, Tensor) else a for a in arguments))


def _pointer(tensor: Tensor) -> int:
    if not tensor.is_contiguous() or tensor.dtype not in (torch.float32, torch.int64):
        raise ValueError(f"a kernel wants contiguous float32 or int64 and got {tensor.dtype} with strides {tensor.stride()}")
    return tensor.data_ptr()


@functools.cache
def load(level: Level) -> Library:
    """The library for an instruction set, built if need be. Raises KernelsUnavailable with the reason."""
    return Library(level)


def packed(weight: Tensor) -> Tensor:
    """`[N, K] -> [ceil(N / 16), K, 16]`: columns that are computed together lie together; the last panel ends in zeros."""
    columns, depth = weight.shape
    panels = -(-columns // LANES)
    whole = weight.new_zeros(panels * LANES, depth)
    whole[:columns] = weight
    return whole.view(panels, LANES, depth).transpose(1, 2).contiguous()


class NativeLayer:
    """One layer; what lies between two products never leaves the cache."""

    def __init__(self, library: Library, threads: int, geometry: Geometry, weights: LayerWeights) -> None:
        self._library, self._threads, self._geometry, self._weights = library, threads, geometry, weights
        self._qkv, self._output = packed(weights.qkv), packed(weights.output)
        self._gate_up, self._down = packed(weights.gate_up), packed(weights.down)

    def project(self, hidden: Tensor, places: Places, keys: Tensor, values: Tensor) -> Tensor:
        """As `Layer.project`."""
        g, w = self._geometry, self._weights
        rows, width = hidden.shape
        queries = hidden.new_empty(rows, g.heads, g.head_dim)
        inputs = (hidden, rows, width, w.input_norm, w.eps, self._qkv, places.cos, places.sin, places.slots)
        sizes = (g.heads, g.kv_heads, g.head_dim, g.block_size)
        self._library.call("project", *inputs, *sizes, keys, values, queries, self._threads)
        return queries

    def finish(self, hidden: Tensor, attended: Tensor) -> None:
        """As `Layer.finish`."""
        w = self._weights
        rows, width = hidden.shape
        matrices = (self._output, w.mlp_norm, w.eps, self._gate_up, self._down, w.down.shape[1])
        self._library.call("finish", hidden, attended, rows, width, w.output.shape[1], *matrices, self._threads)


class NativeHead:
    """Final norm and vocabulary."""

    def __init__(self, kernels: Native, norm: Tensor, weight: Tensor, eps: float) -> None:
        self._kernels, self._norm, self._eps = kernels, norm, eps
        self._matrix, self._columns = packed(weight), weight.shape[0]

    def norm(self, hidden: Tensor) -> Tensor:
        """As `Head.norm`."""
        return self._kernels.rms_norm(hidden, self._norm, self._eps)

    def logits(self, normed: Tensor) -> Tensor:
        """As `Head.logits`."""
        return self._kernels.linear(normed, self._matrix, self._columns)


class Native:
    """Serves a number of threads, no bit depends on which. Raises KernelsUnavailable. Implements `KernelSet`."""

    def __init__(self, geometry: Geometry, level: Level, threads: int) -> None:
        self._geometry, self._threads, self._library = geometry, threads, load(level)

    @property
    def name(self) -> str:
        """The set, the version of torch that makes the tables, and the flags, which name the instruction set."""
        level = self._library.level
        return f"{NATIVE_SET},torch={torch.__version__},{level},{' '.join(compiler.flags(level))}"

    def layer(self, weights: LayerWeights) -> NativeLayer:
        """Pack a layer's weights."""
        return NativeLayer(self._library, self._threads, self._geometry, weights)

    def head(self, norm: Tensor, weight: Tensor, eps: float) -> Head:
        """Final norm and vocabulary."""
        return NativeHead(self, norm, weight, eps)

    def pools(self, blocks: int) -> tuple[Tensor, Tensor]:
        """Keys `[blocks, kv_heads, head_dim, block_size]` and values `[blocks, kv_heads, block_size, head_dim]`."""
        g = self._geometry
        keys = torch.zeros(blocks, g.kv_heads, g.head_dim, g.block_size)
        return keys, torch.zeros(blocks, g.kv_heads, g.block_size, g.head_dim)

    def plan(self, spans: Sequence[Span]) -> Attention:
        """The spans and their blocks as flat arrays, which serve all layers."""
        starts = np.cumsum([0, *(len(span.blocks) for span in spans)])
        table = [(s.row, s.start, s.length, at, len(s.blocks), s.first) for s, at in zip(spans, starts.tolist(), strict=False)]
        rows = torch.tensor(table, dtype=torch.int64)
        blocks = torch.tensor([block for span in spans for block in span.blocks], dtype=torch.int64)
        g = self._geometry
        sizes = (g.heads, g.kv_heads, g.head_dim, g.block_size, g.window or 0)

        def attend(q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            out = torch.empty_like(q)
            self._library.call("attend", q, keys, values, rows, len(spans), blocks, *sizes, out, self._threads)
            return out

        return attend

    def log_probabilities(self, logits: Tensor, chosen: Tensor) -> Tensor:
        """log softmax(logits)[chosen], normalised over the whole vocabulary: `[n, V], [n] -> [n]`."""
        maximum, log_total = self.normalisers(logits)
        return (logits.gather(1, chosen[:, None])[:, 0] - maximum) - log_total

    def normalisers(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """See `reference.normalisers`: `[n, V] -> [n], [n]`."""
        maximum, log_total = logits.new_empty(logits.shape[0]), logits.new_empty(logits.shape[0])
        self._library.call("normalisers", logits, *logits.shape, maximum, log_total, self._threads)
        return maximum, log_total

    def rms_norm(self, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        """See `reference.rms_norm`: `[T, K] -> [T, K]`."""
        out = torch.empty_like(x)
        self._library.call("rms_norm", x, weight, eps, *x.shape, out, self._threads)
        return out

    def silu_mul(self, gate_up: Tensor) -> Tensor:
        """See `reference.silu_mul`: `[T, 2F] -> [T, F]`."""
        rows, both = gate_up.shape
        out = gate_up.new_empty(rows, both // 2)
        self._library.call("silu_mul", gate_up, rows, both // 2, out, self._threads)
        return out

    def linear(self, x: Tensor, matrix: Tensor, columns: int) -> Tensor:
        """`x [T, K]` times a matrix that `packed` made of `[columns, K]`: `[T, columns]`."""
        out = x.new_empty(x.shape[0], columns)
        self._library.call("linear", x, x.shape[0], matrix, x.shape[1], columns, out, self._threads)
        return out

    def exp(self, x: Tensor) -> Tensor:
        """exp(x) element by element, by the polynomial that attention and SiLU use."""
        out = torch.empty_like(x)
        self._library.call("exp", x, x.numel(), out)
        return out
