"""Which set of kernels serves a deployment, and the proof that the compiled ones compute what the reference does."""

from __future__ import annotations

import logging
import math
from typing import Literal

import torch
from torch import Tensor

from kernels import native, reference
from kernels.errors import KernelsUnavailable
from kernels.layers import KernelSet
from kernels.matmul import TileProduct
from kernels.plain import Plain
from kernels.plan import SLAB, TALL, Geometry, Plan, Span

log = logging.getLogger(__name__)

Choice = Literal["auto", "reference", "native"]
TOLERANCE = 1e-5  # largest difference to the reference, relative to the largest value
_LENGTH = 150  # rows of the proof: two whole tiles and a part


def choose(choice: Choice, geometry: Geometry, level: str) -> KernelSet:
    """The set for a geometry at an instruction set (`avx2`, `avx512`), for the calling thread's number of threads.

    `auto` takes the compiled kernels where they can be built or were built before, and says why where they were not; `native`
    raises KernelsUnavailable then. Kernels that disagree with the reference are never taken.
    """
    if choice == "reference":
        return Plain(geometry)
    try:
        return _native(geometry, level)
    except KernelsUnavailable as error:
        if choice == "native":
            raise
        log.warning("the reference kernels serve, which are slower: %s", error, extra={"event": "kernels_unavailable"})
        return Plain(geometry)


def _native(geometry: Geometry, level: str) -> native.Native:
    if level not in ("avx2", "avx512"):
        raise KernelsUnavailable(f"there are no compiled kernels for the instruction set {level!r}")
    found = native.Native(geometry, "avx2" if level == "avx2" else "avx512", torch.get_num_threads())
    if not (difference := disagreement(found, geometry)) <= TOLERANCE:
        raise KernelsUnavailable(f"the compiled kernels differ from the reference by {difference:.1e}")
    return found


def disagreement(found: native.Native, geometry: Geometry) -> float:
    """Largest relative difference between compiled and reference kernels on random rows; not a number where one is not finite."""
    generator = torch.Generator().manual_seed(geometry.head_dim)
    x = torch.randn(_LENGTH, 90, generator=generator)
    weight, matrix = torch.rand(90, generator=generator), torch.randn(37, 90, generator=generator)
    tokens = torch.randint(45, (_LENGTH,), generator=generator)
    pairs = (
        (found.rms_norm(x, weight, 1e-5), reference.rms_norm(x, weight, 1e-5)),
        (found.silu_mul(x), reference.silu_mul(x)),
        (found.linear(x, native.packed(matrix), 37), (x.double() @ matrix.double().t()).float()),
        (found.log_probabilities(x[:, :45].contiguous(), tokens), reference.log_probabilities(x[:, :45], tokens)),
        _attended(found, geometry, generator),
    )
    return max((_relative(*pair) for pair in pairs), key=lambda value: math.inf if math.isnan(value) else value)


def _relative(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).abs().max() / expected.abs().max())


def _attended(found: native.Native, geometry: Geometry, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """One sequence through both kinds of attention, each with a pool in its own layout, poisoned where nothing was written."""
    g = geometry
    q = torch.randn(_LENGTH, g.heads, g.head_dim, generator=generator)
    k, v = (torch.randn(_LENGTH, g.kv_heads, g.head_dim, generator=generator) for _ in range(2))
    count = -(-_LENGTH // g.block_size)
    pools = torch.full((2, count * g.block_size, g.kv_heads, g.head_dim), math.nan)
    pools[0, :_LENGTH], pools[1, :_LENGTH] = k, v
    keys, values = (pool.view(count, g.block_size, g.kv_heads, g.head_dim).transpose(1, 2).contiguous() for pool in pools)
    spans = [Span(0, 0, _LENGTH, tuple(range(count)))]
    ordered = TileProduct(TALL * g.group, TALL * g.group, tuple(range(max(SLAB, g.kv_heads) + 1)), library=False)
    plan = Plan(spans, g, short=TALL, batches=ordered.batches)
    expected = reference.paged_attention(q, keys, values, plan, g, ordered)
    return found.plan(spans)(q, keys.transpose(2, 3).contiguous(), values), expected
