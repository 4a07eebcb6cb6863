"""What numba compiles for the set in `numba_set`: functions over rows that several threads may run on different rows at once.

Nothing may be contracted or reordered (no fast mathematics), so each sum is the one that is written here, at any vector width.
Loops go over elements that do not depend on each other; a sum over a row runs in `LANES` sums that are folded by halving.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
from numba.core import config

from kernels import compiler
from kernels.errors import KernelsUnavailable
from kernels.plan import TILE

Function = TypeVar("Function", bound=Callable[..., Any])
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]  # stored numbers: bf16 or float32

LANES = 16
_LOWEST = np.float32(-1e30)
_UNDERFLOW, _OVERFLOW = np.float32(-87.0), np.float32(88.0)
_LOG2E, _HALF, _ONE = np.float32(math.log2(math.e)), np.float32(0.5), np.float32(1.0)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_P0, _P1, _P2 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3), np.float32(8.3334519073e-3)
_P3, _P4, _P5 = np.float32(4.1665795894e-2), np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)


def _cached() -> bool:
    """Whether what is compiled can be kept, beside the libraries of the C++ kernels, for the next process."""
    if config.CACHE_DIR:  # type: ignore[attr-defined]  # the module fills itself from the environment
        return True
    try:
        config.CACHE_DIR = str(compiler.writable() / "numba")  # type: ignore[attr-defined]
    except KernelsUnavailable:
        return False
    return True


_CACHED = _cached()


def jit(function: Function) -> Function:
    """Compile at the first call; the GIL is released while it runs."""
    return cast(Function, numba.njit(nogil=True, cache=_CACHED, error_model="numpy")(function))


@jit
def exp(x: Floats, bits: npt.NDArray[np.int32], powers: Floats) -> None:
    """exp(x) in place, after Cephes expf as in `exact.ordered_exp`; `powers` is the same memory as `bits`, as float32."""
    for j in range(len(x)):
        bounded = min(max(x[j], _UNDERFLOW), _OVERFLOW)
        bits[j] = (np.int32(np.floor(bounded * _LOG2E + _HALF)) + np.int32(127)) << np.int32(23)
    for j in range(len(x)):
        bounded = min(max(x[j], _UNDERFLOW), _OVERFLOW)
        n = np.floor(bounded * _LOG2E + _HALF)
        r = (bounded - n * _LN2_HIGH) - n * _LN2_LOW
        p = ((((_P0 * r + _P1) * r + _P2) * r + _P3) * r + _P4) * r + _P5
        value = ((p * (r * r) + r) + _ONE) * powers[j]
        x[j] = np.float32(0.0) if x[j] < _UNDERFLOW else value + (x[j] - x[j])  # the difference keeps what is not a number


@jit
def lane_sum(x: Floats, lanes: Floats) -> Any:
    """Sum of a row: element i goes to lane i mod 16, ascending."""
    lanes[:] = np.float32(0.0)
    whole = len(x) // LANES * LANES
    for start in range(0, whole, LANES):
        for i in range(LANES):
            lanes[i] += x[start + i]
    for i in range(len(x) - whole):
        lanes[i] += x[whole + i]
    half = LANES // 2
    while half:
        for i in range(half):
            lanes[i] += lanes[i + half]
        half //= 2
    return lanes[0]


@jit
def highest(x: Floats) -> Any:
    """The largest number of a row; not a number is passed over."""
    found = x[0]
    for value in x:
        found = max(found, value)
    return found


@jit
def norm_row(x: Floats, weight: Floats, eps: np.float32, squares: Floats, lanes: Floats, out: Floats) -> None:
    """See `reference.rms_norm`, for one row or one head: `[K] -> [K]`; `squares [K]` and `lanes [LANES]` are overwritten."""
    for i in range(len(x)):
        squares[i] = x[i] * x[i]
    root = np.sqrt(lane_sum(squares, lanes) / np.float32(len(x)) + eps)
    for i in range(len(x)):
        out[i] = (x[i] / root) * weight[i]


@jit
def rms_norm(x: Floats, weight: Floats, eps: np.float32, out: Floats) -> None:
    """See `reference.rms_norm`: `[T, K] -> [T, K]`."""
    squares, lanes = np.empty(x.shape[1], np.float32), np.empty(LANES, np.float32)
    for row in range(len(x)):
        norm_row(x[row], weight, eps, squares, lanes, out[row])


@jit
def silu_mul(gate_up: Floats, out: Floats) -> None:
    """See `reference.silu_mul`: `[T, 2F] -> [T, F]`."""
    inner = out.shape[1]
    bits = np.empty(inner, np.int32)
    powers, denominator = bits.view(np.float32), np.empty(inner, np.float32)
    for row in range(len(out)):
        for i in range(inner):
            denominator[i] = -gate_up[row, i]
        exp(denominator, bits, powers)
        for i in range(inner):
            out[row, i] = gate_up[row, i] / (denominator[i] + _ONE) * gate_up[row, inner + i]


@jit
def totals(logits: Floats, maximum: Floats, total: Floats) -> None:
    """Of each line its maximum and Σ exp(logit - maximum): `[n, V] -> [n], [n]`; the sum is not finite where a logit is not."""
    width = logits.shape[1]
    bits, lanes, weights = np.empty(width, np.int32), np.empty(LANES, np.float32), np.empty(width, np.float32)
    powers = bits.view(np.float32)
    for line in range(len(logits)):
        maximum[line] = highest(logits[line])
        for i in range(width):
            weights[i] = logits[line, i] - maximum[line]
        exp(weights, bits, powers)
        total[line] = lane_sum(weights, lanes)


@jit
def rotate(x: Floats, cos: Floats, sin: Floats, out: Floats) -> None:
    """See `reference.rotary`, for one head: `[D], [D/2], [D/2] -> [D]`."""
    half = len(cos)
    for i in range(half):
        out[i] = x[i] * cos[i] - x[half + i] * sin[i]
        out[half + i] = x[half + i] * cos[i] + x[i] * sin[i]


@jit
def rounded(words: npt.NDArray[np.uint32], drop: np.uint32) -> None:
    """Round float32 to its upper 16 bits, to the nearest, ties to even; nothing where `drop` is 0."""
    if drop:
        for i in range(len(words)):
            up = words[i] + np.uint32(0x7FFF) + ((words[i] >> np.uint32(16)) & np.uint32(1))
            words[i] = up & np.uint32(0xFFFF0000)


@jit
def place(
    mixed: Floats,
    norms: Floats,
    eps: np.float32,
    cos: Floats,
    sin: Floats,
    slots: Ints,
    heads: int,
    keys: Words,
    values: Words,
    queries: Floats,
) -> None:
    """Norm and turn the heads of projected rows; keys go transposed into their block, values as they are.

    `mixed [T, H + 2G, D]`, `slots [T, G]`, `keys [blocks, G, D, block_size]`, `values [blocks, G, block_size, D]`, out `[T, H, D]`;
    `norms` of queries and of keys, `[2, D]`, or `[0, D]` where the model has none.
    """
    kv_heads, depth, size = keys.shape[1], keys.shape[2], keys.shape[3]
    drop = np.uint32(16) if keys.itemsize == 2 else np.uint32(0)
    turned, squares, lanes = np.empty(depth, np.float32), np.empty(depth, np.float32), np.empty(LANES, np.float32)
    words = turned.view(np.uint32)
    for row in range(len(mixed)):
        if len(norms):
            for h in range(heads + kv_heads):
                norm_row(mixed[row, h], norms[0 if h < heads else 1], eps, squares, lanes, mixed[row, h])
        for h in range(heads):
            rotate(mixed[row, h], cos[row], sin[row], queries[row, h])
        for g in range(kv_heads):
            at, offset = slots[row, g] // size, slots[row, g] % size
            block, head = at // kv_heads, at % kv_heads
            rotate(mixed[row, heads + g], cos[row], sin[row], turned)
            rounded(words, drop)
            for d in range(depth):
                keys[block, head, d, offset] = words[d] >> drop
            turned[:] = mixed[row, heads + kv_heads + g]
            rounded(words, drop)
            for d in range(depth):
                values[block, head, offset, d] = words[d] >> drop


@jit
def gather(
    keys: Words,
    values: Words,
    blocks: Ints,
    part: Ints,
    tile: int,
    key_words: npt.NDArray[np.uint32],
    value_words: npt.NDArray[np.uint32],
) -> None:
    """One tile of one head as float32, keys `[D, TILE]`, values `[TILE, D]`; zeros where nothing was written."""
    size, depth = keys.shape[3], keys.shape[2]
    end, at, held, gone, head = part[3], part[4], part[5], part[6], part[7]
    drop = np.uint32(16) if keys.itemsize == 2 else np.uint32(0)
    for piece in range(TILE // size):
        index = tile * (TILE // size) + piece
        known = gone <= index < gone + held
        written = min(max(end - index * size, 0), size) if known else 0
        block = blocks[at + index - gone] if known else 0
        first = piece * size
        for d in range(depth):
            for t in range(written):
                key_words[d, first + t] = np.uint32(keys[block, head, d, t]) << drop
            key_words[d, first + written : first + size] = np.uint32(0)
        for t in range(written):
            for d in range(depth):
                value_words[first + t, d] = np.uint32(values[block, head, t, d]) << drop
        value_words[first + written : first + size] = np.uint32(0)


@jit
def weigh(left: Floats, right: Floats, sums: Floats) -> None:
    """sums += left · right, `[K], [K, N] -> [N]`: for each element one product after the other, K ascending."""
    whole = len(left) // 4 * 4
    for k in range(0, whole, 4):
        a, b, c, d = left[k], left[k + 1], left[k + 2], left[k + 3]
        for j in range(len(sums)):
            sums[j] = (((sums[j] + a * right[k, j]) + b * right[k + 1, j]) + c * right[k + 2, j]) + d * right[k + 3, j]
    for k in range(whole, len(left)):
        for j in range(len(sums)):
            sums[j] += left[k] * right[k, j]


@jit
def attend(q: Floats, keys: Words, values: Words, blocks: Ints, parts: Ints, window: int, out: Floats) -> None:
    """Causal attention of `parts`, rows of {row, start, length, end, where its blocks begin, blocks, blocks gone, KV head}.

    `q` and `out` are `[T, H, D]`, queries scaled and rounded. The online softmax of `reference.paged_attention`, row by row: a row
    meets the tiles that hold a key it may see, ascending, and nothing else.
    """
    group, depth, drop = q.shape[1] // keys.shape[1], q.shape[2], np.uint32(16) if keys.itemsize == 2 else np.uint32(0)
    key_words, value_words = np.empty((depth, TILE), np.uint32), np.empty((TILE, depth), np.uint32)
    tile_keys, tile_values = key_words.view(np.float32), value_words.view(np.float32)
    bits, lanes, weights = np.empty(TILE, np.int32), np.empty(LANES, np.float32), np.empty(TILE, np.float32)
    powers, weight_words = bits.view(np.float32), weights.view(np.uint32)
    one, one_bits = np.empty(1, np.float32), np.empty(1, np.int32)
    one_power = one_bits.view(np.float32)
    for part in parts:
        row, start, length, head = part[0], part[1], part[2], part[7]
        maximum, total = np.full(length * group, _LOWEST), np.zeros(length * group, np.float32)
        mixed = np.zeros((length * group, depth), np.float32)
        first = max(0, start - window + 1) // TILE if window else 0
        for tile in range(first, (start + length - 1) // TILE + 1):
            gather(keys, values, blocks, part, tile, key_words, value_words)
            for r in range(length * group):
                position = start + r // group
                low = max(0, position - window + 1 - tile * TILE) if window else 0
                high = min(TILE, position + 1 - tile * TILE)
                if high <= 0 or low >= TILE:
                    continue
                weights[:] = np.float32(0.0)
                weigh(q[row + r // group, head * group + r % group], tile_keys, weights)
                weights[:low] = np.float32(-np.inf)
                weights[high:] = np.float32(-np.inf)
                higher = max(maximum[r], highest(weights[low:high]))
                for j in range(TILE):
                    weights[j] -= higher
                exp(weights, bits, powers)
                one[0] = maximum[r] - higher
                exp(one, one_bits, one_power)
                total[r] = total[r] * one[0] + lane_sum(weights, lanes)
                rounded(weight_words, drop)
                for d in range(depth):
                    mixed[r, d] *= one[0]
                weigh(weights, tile_values, mixed[r])
                maximum[r] = higher
        for r in range(length * group):
            for d in range(depth):
                out[row + r // group, head * group + r % group, d] = mixed[r, d] / total[r]
