"""Which set of kernels serves a deployment, and the proof that the fast ones compute what the reference does."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from kernels import frequencies, native, reference
from kernels.errors import KernelsUnavailable
from kernels.layers import KernelSet, LayerWeights, Places, Precision
from kernels.plain import Plain
from kernels.plan import Geometry, Span

log = logging.getLogger(__name__)

Choice = Literal["auto", "reference", "native", "numba"]
# Largest disagreement. In bf16 a sum that differs in its last bit may be rounded to the other neighbour, here and there: then the
# root mean square counts, and a single number may be off by little more than a unit in the last place of the largest.
TOLERANCE: dict[Precision, float] = {"fp32": 1e-5, "bf16": 1e-4}
_PEAK = 64.0  # how much larger than the root mean square one difference in bf16 may be
_PROOFS = 3  # of which one must succeed
_LENGTH, _WIDTH, _INNER, _VOCABULARY = 150, 90, 70, 45  # rows of the proof: two whole tiles and a part; sizes that fill no register


def choose(choice: Choice, geometry: Geometry, level: str, precision: Precision = "fp32") -> KernelSet:
    """The set for a geometry and a precision at an instruction set (`avx2`, `avx512`), for the calling thread's number of threads.

    `auto` takes the compiled kernels where they can be built or were built before, else those that numba compiles, else the
    reference, and says why; `native` and `numba` raise KernelsUnavailable where they cannot be had. Kernels that disagree with the
    reference are never taken.
    """
    if choice == "reference":
        return Plain(geometry, precision)
    if choice != "auto":
        return _native(geometry, level, precision) if choice == "native" else _numba(geometry, precision)
    try:
        return _native(geometry, level, precision)
    except KernelsUnavailable as error:
        _warn("those of numba serve", error)
    try:
        return _numba(geometry, precision)
    except KernelsUnavailable as error:
        _warn("the reference serves", error)
    return Plain(geometry, precision)


def _warn(instead: str, error: KernelsUnavailable) -> None:
    log.warning("without compiled kernels %s, which are slower: %s", instead, error, extra={"event": "kernels_unavailable"})


def _native(geometry: Geometry, level: str, precision: Precision) -> KernelSet:
    reason = KernelsUnavailable(f"there are no compiled kernels for the instruction set {level!r}")
    for candidate in native.levels(level, precision):
        try:
            return _agreeing(native.Native(geometry, candidate, torch.get_num_threads(), precision), geometry, precision)
        except KernelsUnavailable as error:
            reason = error
    raise reason


def _numba(geometry: Geometry, precision: Precision) -> KernelSet:
    try:
        from kernels import numba_set  # here, because it takes a while and few need it
    except ImportError as error:
        raise KernelsUnavailable(f"numba cannot be imported: {error}") from error
    return _agreeing(numba_set.Numba(geometry, precision), geometry, precision)


def _agreeing(found: KernelSet, geometry: Geometry, precision: Precision) -> KernelSet:
    """What is wrong is wrong for any rows; what is right may round one number the other way for some, and then not for others."""
    for seed in range(_PROOFS):
        difference = disagreement(found, geometry, precision, seed)
        if difference <= TOLERANCE[precision]:
            return found
    raise KernelsUnavailable(f"the kernels differ from the reference by {difference:.1e}")


def disagreement(found: KernelSet, geometry: Geometry, precision: Precision, seed: int = 0) -> float:
    """Largest difference to the reference over the stages of a pass on random rows; not a number where one is not finite."""
    plain, differences = Plain(geometry, precision, library=False), []
    pools = [_poisoned(kernels, geometry) for kernels in (found, plain)]
    hidden = [_normal(_LENGTH, _WIDTH, seed) for _ in range(2)]
    places, plan = _places(geometry), [Span(0, 0, _LENGTH, tuple(range(-(-_LENGTH // geometry.block_size))))]
    for extras in (False, True):  # what follows goes on from the second
        weights = _weights(geometry, extras=extras)
        layers = [kernels.layer(weights) for kernels in (found, plain)]
        queries = [layer.project(x, places, *pool) for layer, x, pool in zip(layers, hidden, pools, strict=True)]
        differences.append(_relative(queries, precision))
    attended = [kernels.plan(plan)(queries[1], *pool) for kernels, pool in zip((found, plain), pools, strict=True)]
    differences.append(_relative(attended, precision))
    for layer, x in zip(layers, hidden, strict=True):
        layer.finish(x, attended[1])
    differences.append(_relative(hidden, precision))
    heads = [kernels.head(weights.mlp_norm, _normal(_VOCABULARY, _WIDTH), 1e-5) for kernels in (found, plain)]
    normed = [head.norm(hidden[1]) for head in heads]
    logits = [head.logits(normed[1]) for head in heads]
    tokens = torch.arange(_LENGTH) % _VOCABULARY
    scores = [kernels.log_probabilities(logits[1], tokens) for kernels in (found, plain)]
    differences += [_relative(pair, "fp32") * TOLERANCE[precision] / TOLERANCE["fp32"] for pair in (normed, logits, scores)]
    return max(differences, key=lambda value: math.inf if math.isnan(value) else value)


def _relative(pair: Sequence[Tensor], precision: Precision) -> float:
    found, expected = pair
    difference, scale = (found - expected).abs(), expected.abs().max()
    peak = float(difference.max() / scale)
    if precision == "fp32":
        return peak
    mean = float(difference.square().mean().sqrt() / expected.square().mean().sqrt())
    return mean if mean >= peak / _PEAK else peak / _PEAK  # not `max`, which loses what is not a number


def _normal(rows: int, width: int, seed: int = 0) -> Tensor:
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(rows * width + seed))


def _weights(geometry: Geometry, *, extras: bool) -> LayerWeights:
    """With norms of heads and with biases, or with neither."""

    def matrix(out: int, width: int) -> Tensor:
        return _normal(out, width) / math.sqrt(width)

    g = geometry
    attended = g.heads * g.head_dim
    query_norm, key_norm = (_normal(which, g.head_dim)[0].abs() + 0.5 for which in (2, 3))
    return LayerWeights(
        input_norm=_normal(1, _WIDTH)[0].abs() + 0.5,
        qkv=matrix(attended + 2 * g.kv_heads * g.head_dim, _WIDTH),
        output=matrix(_WIDTH, attended),
        mlp_norm=_normal(1, _WIDTH)[0].abs() + 0.5,
        gate_up=matrix(2 * _INNER, _WIDTH),
        down=matrix(_WIDTH, _INNER),
        eps=1e-5,
        query_norm=query_norm if extras else None,
        key_norm=key_norm if extras else None,
        qkv_bias=_normal(4, attended + 2 * g.kv_heads * g.head_dim)[0] if extras else None,
        output_bias=_normal(5, _WIDTH)[0] if extras else None,
    )


def _places(geometry: Geometry) -> Places:
    g, rows = geometry, torch.arange(_LENGTH)
    slots = (rows[:, None] // g.block_size * g.kv_heads + torch.arange(g.kv_heads)) * g.block_size + rows[:, None] % g.block_size
    return Places(*reference.rotary_tables(_LENGTH, frequencies.Plain(1e4).of(g.head_dim)), slots.reshape(-1))


def _poisoned(kernels: KernelSet, geometry: Geometry) -> tuple[Tensor, Tensor]:
    """Pools for one sequence, not a number where nothing was written."""
    keys, values = kernels.pools(-(-_LENGTH // geometry.block_size))
    return keys.fill_(math.nan), values.fill_(math.nan)
