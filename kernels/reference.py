"""The plain kernels of a Llama layer. They define the bits; every faster set is tested against them.

Shapes: T rows of a step, H query heads, G KV heads, D elements a head, V vocabulary. Everything is float32 and contiguous.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from kernels import exact
from kernels.matmul import TileProduct
from kernels.plan import TILE, Geometry, Plan, Slab

_LOWEST = -1e30  # start of the running maximum: finite, so that exp(old - new) is 0 or 1 and never not a number


def biased(x: Tensor, bias: Tensor | None) -> Tensor:
    """What a product gave, `[T, N]`, with its bias `[N]` in place; as it is where there is none."""
    return x if bias is None else x.add_(bias)


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x / sqrt(mean(x²) + eps) · weight over the last dimension (Zhang and Sennrich 2019): `[T, K] -> [T, K]`."""
    mean = exact.ordered_sum(x * x) / x.shape[-1]
    return (x / torch.sqrt(mean + eps)) * weight


def silu_mul(gate_up: Tensor) -> Tensor:
    """silu(gate) · up, silu(g) = g / (1 + exp(-g)) (Shazeer 2020): `[T, 2F] -> [T, F]`, gate first."""
    gate, up = gate_up.chunk(2, dim=-1)
    denominator = exact.exp_(-gate).add_(1.0)
    return torch.div(gate, denominator, out=denominator).mul_(up)


def rotary_tables(positions: int, frequencies: Tensor, first: int = 0, magnitude: float = 1.0) -> tuple[Tensor, Tensor]:
    """Cosine and sine of position · frequency from position `first` on, times `magnitude`, each `[positions, D/2]`.

    `frequencies [D/2]` are those of `kernels.frequencies`. Angles are rounded to float32 first, as the published checkpoints were
    trained; the functions are computed in double precision.
    """
    angles = (torch.arange(first, first + positions, dtype=torch.float32)[:, None] * frequencies).to(torch.float64)
    return (angles.cos() * magnitude).to(torch.float32), (angles.sin() * magnitude).to(torch.float32)


def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate the halves of each head: `x [T, heads, D]`, `cos` and `sin` `[T, D/2]` of the rows' absolute positions."""
    first, second = x.chunk(2, dim=-1)
    cos, sin = cos[:, None, :], sin[:, None, :]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def rounded(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Float32 numbers that `dtype` can hold, to the nearest, ties to even."""
    return x if dtype == torch.float32 else x.to(dtype).to(torch.float32)


def write_kv(pool: Tensor, values: Tensor, slots: Tensor) -> None:
    """Copy `values [T, G, D]` into `pool [blocks, G, block_size, D]`; `slots [T * G]` are rows of the pool seen as `[-1, D]`."""
    pool.view(-1, pool.shape[-1]).index_copy_(0, slots, values.reshape(-1, values.shape[-1]).to(pool.dtype))


def paged_attention(q: Tensor, keys: Tensor, values: Tensor, plan: Plan, geometry: Geometry, product: TileProduct) -> Tensor:
    """Causal attention over the block pool: `q [T, H, D]`, pools `[blocks, G, block_size, D]` -> `[T, H, D]`.

    A blocked online softmax (Milakov and Gimelshein 2018): tiles of `TILE` keys at absolute positions, ascending, accumulated in
    float32. A tile that is void for a row changes no bit of it: the maximum stays, exp(0) = 1 scales, zeros are added.
    Scaled queries and softmax weights are rounded to the type that the pools hold; the weights are summed before that.
    """
    out = torch.empty_like(q)
    scaled = rounded(q * (1.0 / math.sqrt(geometry.head_dim)), keys.dtype)
    for slab in plan.slabs:
        _attend(scaled, keys, values, slab, geometry, product, out)
    return out


def _attend(q: Tensor, keys: Tensor, values: Tensor, slab: Slab, geometry: Geometry, product: TileProduct, out: Tensor) -> None:
    heads, group, depth = geometry.kv_heads, geometry.group, geometry.head_dim
    height = slab.height * group
    rows = q.index_select(0, slab.rows.reshape(-1)).view(slab.parts, slab.height, heads, group, depth)
    queries = q.new_zeros(slab.items, height, depth)
    queries[: slab.parts * heads] = rows.transpose(1, 2).reshape(slab.parts * heads, height, depth)
    flat_keys = keys.view(-1, geometry.block_size, depth)
    flat_values = values.view(-1, geometry.block_size, depth)
    maximum = q.new_full((slab.items, height, 1), _LOWEST)
    total = q.new_zeros(slab.items, height, 1)
    mixed = q.new_zeros(slab.items, height, depth)
    for tile in slab.tiles:
        k = flat_keys.index_select(0, tile.gather).view(slab.items, TILE, depth).float()
        v = flat_values.index_select(0, tile.gather).view(slab.items, TILE, depth).float()
        scores = product(queries, k.transpose(1, 2))
        if tile.void_scores is not None:
            scores.masked_fill_(tile.void_scores, -math.inf)
        if tile.void_values is not None:
            v.masked_fill_(tile.void_values, 0.0)  # memory not yet written may hold anything, and 0 · NaN is NaN
        higher = torch.maximum(maximum, scores.amax(-1, keepdim=True))
        weights = exact.exp_(scores.sub_(higher))
        shrink = exact.exp_(maximum.sub_(higher))
        total.mul_(shrink).add_(exact.ordered_sum(weights))
        mixed.mul_(shrink).add_(product(rounded(weights, keys.dtype), v))
        maximum = higher
    mixed.div_(total)
    by_row = mixed[: slab.parts * heads].view(slab.parts, heads, slab.height, group, depth).transpose(1, 2)
    flat = by_row.reshape(slab.parts * slab.height, heads * group, depth)
    out.index_copy_(0, slab.target, flat.index_select(0, slab.source))


def normalisers(logits: Tensor) -> tuple[Tensor, Tensor]:
    """The maximum of each line and log Σ exp(logit - maximum): `[T, V] -> [T], [T]`; the log is not finite where a logit is not."""
    maximum = logits.amax(-1, keepdim=True)
    weights = exact.exp_(logits - maximum)
    return maximum[:, 0], exact.log_of(exact.ordered_sum(weights)[:, 0])


def log_probabilities(logits: Tensor, chosen: Tensor) -> Tensor:
    """log softmax(logits)[chosen], normalised over the whole vocabulary: `[T, V], [T] -> [T]`; not finite where a logit is not."""
    maximum, log_total = normalisers(logits)
    return (logits.gather(1, chosen[:, None])[:, 0] - maximum) - log_total
