"""The compiled kernels as a set: C++ for AVX2 or AVX-512, called through ctypes on the memory of torch tensors.

Every sum has one written order, so the number of rows, the batch, the chunk and the threads cannot change a bit. AVX2 and AVX-512
give the same bits; the BF16 instructions have an order of their own, and so has AMX. What enters a product is laid out in words of
32 bits: a float32 number, or two bf16 numbers that stand next to each other along the depth of the product.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import torch
from torch import Tensor

from kernels import compiler
from kernels.compiler import Level
from kernels.errors import KernelsUnavailable
from kernels.layers import Attention, Head, LayerWeights, Places, Precision
from kernels.plan import Geometry, Span, flattened

NATIVE_SET = "native-2"  # stands in the deployment fingerprint: change it whenever a change of code can change a bit
LANES = 16
_CPUINFO = Path("/proc/cpuinfo")

_Argument: TypeAlias = Tensor | int | float | None
_KINDS = {"t": ctypes.c_void_p, "l": ctypes.c_int64, "i": ctypes.c_int, "f": ctypes.c_float}
_SIGNATURES = {  # t tensor or none, l 64-bit and i 32-bit number, f float
    "advise": "tl",
    "rms_norm": "ttfliti",
    "silu_mul": "tliti",
    "exp": "tlt",
    "linear": "tltiiiti",
    "normalisers": "tlitti",
    "project": "tlitftt" + "ttttt" + "iiiii" + "ttt" + "i",
    "attend": "tttt" + "lt" + "iiiili" + "ti",
    "finish": "ttliitttftt" + "iii",
}


class Library:
    """The entry points of one compiled library; tensors must be contiguous, of the types that `_pointer` lists."""

    def __init__(self, level: Level) -> None:
        path = compiler.library(level)
        try:
            loaded = ctypes.CDLL(str(path))
        except OSError as error:
            raise KernelsUnavailable(f"{path.name} cannot be loaded: {error}") from error
        refused = loaded.native_prepare()
        if refused:
            raise KernelsUnavailable(f"the system does not let this process use {level}: {os.strerror(refused)}")
        self.level = level
        self._functions = {name: getattr(loaded, f"native_{name}") for name in _SIGNATURES}
        for name, kinds in _SIGNATURES.items():
            self._functions[name].argtypes, self._functions[name].restype = [_KINDS[kind] for kind in kinds], None

    def room(self, content: Tensor) -> Tensor:
        """A copy in memory for which large pages were asked before it was first touched."""
        found = torch.empty(content.shape, dtype=content.dtype)
        self.call("advise", found, found.numel() * found.element_size())
        return found.copy_(content)

    def call(self, name: str, *arguments: _Argument) -> None:
        """Call one entry point; the GIL is released while it runs."""
        self._functions[name](*(_pointer(a) if isinstance(a, Tensor) else a for a in arguments))


def _pointer(tensor: Tensor) -> int:
    if not tensor.is_contiguous() or tensor.dtype not in (torch.float32, torch.bfloat16, torch.int64):
        raise ValueError(f"a kernel wants contiguous float32, bf16 or int64 and got {tensor.dtype}, strides {tensor.stride()}")
    return tensor.data_ptr()


@functools.cache
def load(level: Level) -> Library:
    """The library for an instruction set, built if need be. Raises KernelsUnavailable with the reason."""
    return Library(level)


def levels(level: str, precision: Precision) -> tuple[Level, ...]:
    """The instruction sets that serve a precision on this processor, best first, of those up to `level` (`avx2`, `avx512`)."""
    if level == "avx2":
        return ("avx2",)
    if level != "avx512":
        return ()
    flags = set(_CPUINFO.read_text().split()) if _CPUINFO.exists() else set()
    if precision == "fp32" or "avx512_bf16" not in flags:
        return ("avx512",)
    return ("avx512_amx", "avx512_bf16", "avx512") if flags >= {"amx_tile", "amx_bf16"} else ("avx512_bf16", "avx512")


def packed(weight: Tensor, precision: Precision = "fp32") -> Tensor:
    """`[N, K] -> [ceil(N / 16), words of K, 16, numbers a word]`: columns that are computed together lie together.

    The last panel ends in columns of zeros, and an odd depth in bf16 in a zero.
    """
    columns, depth = weight.shape
    per_word = 2 if precision == "bf16" else 1
    panels, words = -(-columns // LANES), -(-depth // per_word)
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    whole = torch.zeros(panels * LANES, words * per_word, dtype=dtype)
    whole[:columns, :depth] = weight
    return whole.view(panels, LANES, words, per_word).transpose(1, 2).contiguous()


def packed_pair(gate_up: Tensor, precision: Precision = "fp32") -> Tensor:
    """`packed` for both halves of `[2F, K]`, the panels of gate and up taking turns."""
    gate, up = (packed(half, precision) for half in gate_up.chunk(2))
    return torch.stack((gate, up), 1).flatten(0, 1).contiguous()


class NativeLayer:
    """One layer; what lies between two products stays in the cache."""

    def __init__(self, kernels: Native, weights: LayerWeights) -> None:
        self._kernels, precision = kernels, kernels.precision
        library, (qkv, output, down) = kernels.library, (packed(w, precision) for w in (weights.qkv, weights.output, weights.down))
        matrices = [library.room(matrix) for matrix in (qkv, output, packed_pair(weights.gate_up, precision), down)]
        self._held, self._eps = (*matrices, weights.input_norm, weights.mlp_norm), weights.eps
        self._qkv, self._output, self._gate_up, self._down, *self._norms = (_pointer(tensor) for tensor in self._held)  # once
        self._head_norms, self._qkv_bias, self._output_bias = (
            (weights.query_norm, weights.key_norm),
            weights.qkv_bias,
            weights.output_bias,
        )
        self._attended, self._inner = weights.output.shape[1], weights.down.shape[1]

    def project(self, hidden: Tensor, places: Places, keys: Tensor, values: Tensor) -> Tensor:
        """As `Layer.project`."""
        k, g = self._kernels, self._kernels.geometry
        rows, width = hidden.shape
        queries = hidden.new_empty(rows, g.heads, g.head_dim)
        layer = (self._norms[0], self._eps, self._qkv, self._qkv_bias, *self._head_norms)
        sizes = (g.heads, g.kv_heads, g.head_dim, g.block_size, k.halves)
        where = (places.cos, places.sin, places.slots)
        k.library.call("project", hidden, rows, width, *layer, *where, *sizes, keys, values, queries, k.threads)
        return queries

    def finish(self, hidden: Tensor, attended: Tensor) -> None:
        """As `Layer.finish`."""
        k = self._kernels
        rows, width = hidden.shape
        matrices = (self._output, self._output_bias, self._norms[1], self._eps, self._gate_up, self._down, self._inner, k.halves)
        k.library.call("finish", hidden, attended, rows, width, self._attended, *matrices, k.threads)


class NativeHead:
    """Final norm and vocabulary, float32 at every precision."""

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

    def __init__(self, geometry: Geometry, level: Level, threads: int, precision: Precision = "fp32") -> None:
        if precision == "bf16" and geometry.block_size % 2:
            raise KernelsUnavailable("in bf16 the compiled kernels hold two tokens a word, and a block of one token is half of it")
        self.geometry, self.threads, self.precision = geometry, threads, precision
        self.halves, self.library = int(precision == "bf16"), load(level)

    @property
    def name(self) -> str:
        """The set, the precision, the version of torch that makes the tables, and the flags, which name the instruction set."""
        level = self.library.level
        return f"{NATIVE_SET},{self.precision},torch={torch.__version__},{level},{' '.join(compiler.flags(level))}"

    def layer(self, weights: LayerWeights) -> NativeLayer:
        """Pack a layer's weights."""
        return NativeLayer(self, weights)

    def head(self, norm: Tensor, weight: Tensor, eps: float) -> Head:
        """Final norm and vocabulary."""
        return NativeHead(self, norm, weight, eps)

    def pools(self, blocks: int) -> tuple[Tensor, Tensor]:
        """Keys `[blocks, G, words of D, block_size, 1 or 2]`, values `[blocks, G, words of a block, lanes of D, 1 or 2]`."""
        g, lanes = self.geometry, -(-self.geometry.head_dim // LANES) * LANES
        dtype, per_word = (torch.bfloat16, 2) if self.halves else (torch.float32, 1)
        zero, several = torch.zeros((), dtype=dtype), (blocks, g.kv_heads)
        keys = self.library.room(zero.expand(*several, g.head_dim // per_word, g.block_size, per_word))
        return keys, self.library.room(zero.expand(*several, g.block_size // per_word, lanes, per_word))

    def plan(self, spans: Sequence[Span]) -> Attention:
        """The spans and their blocks as flat arrays, which serve all layers."""
        rows, blocks = flattened(spans)
        g = self.geometry
        sizes = (g.heads, g.kv_heads, g.head_dim, g.block_size, g.window or 0, self.halves)

        def attend(q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            out = torch.empty_like(q)
            self.library.call("attend", q, keys, values, rows, len(spans), blocks, *sizes, out, self.threads)
            return out

        return attend

    def log_probabilities(self, logits: Tensor, chosen: Tensor) -> Tensor:
        """log softmax(logits)[chosen], normalised over the whole vocabulary: `[n, V], [n] -> [n]`."""
        maximum, log_total = self.normalisers(logits)
        return (logits.gather(1, chosen[:, None])[:, 0] - maximum) - log_total

    def normalisers(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """See `reference.normalisers`: `[n, V] -> [n], [n]`."""
        maximum, log_total = logits.new_empty(logits.shape[0]), logits.new_empty(logits.shape[0])
        self.library.call("normalisers", logits, *logits.shape, maximum, log_total, self.threads)
        return maximum, log_total

    def rms_norm(self, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        """See `reference.rms_norm`: `[T, K] -> [T, K]`."""
        out = torch.empty_like(x)
        self.library.call("rms_norm", x, weight, eps, *x.shape, out, self.threads)
        return out

    def silu_mul(self, gate_up: Tensor) -> Tensor:
        """See `reference.silu_mul`: `[T, 2F] -> [T, F]`."""
        rows, both = gate_up.shape
        out = gate_up.new_empty(rows, both // 2)
        self.library.call("silu_mul", gate_up, rows, both // 2, out, self.threads)
        return out

    def linear(self, x: Tensor, matrix: Tensor, columns: int) -> Tensor:
        """`x [T, K]` times a matrix that `packed` made of `[columns, K]`, in its precision: `[T, columns]`."""
        out = x.new_empty(x.shape[0], columns)
        halves = int(matrix.dtype == torch.bfloat16)
        self.library.call("linear", x, x.shape[0], matrix, x.shape[1], columns, halves, out, self.threads)
        return out

    def exp(self, x: Tensor) -> Tensor:
        """exp(x) element by element, by the polynomial that attention and SiLU use."""
        out = torch.empty_like(x)
        self.library.call("exp", x, x.numel(), out)
        return out
