"""Operations whose result cannot depend on how many rows a call has or on how threads share them.

Additions, products, quotients, square roots and maxima of IEEE 754 are correctly rounded, so an elementwise call gives the
same bits in a vector lane and in a scalar tail. A reduction is safe once its order is written down; a library's `exp` is
safe only where a probe has shown it, because vector body and tail may be two different functions.
"""

from __future__ import annotations

import functools
import math

import torch
from torch import Tensor

# Cephes expf: argument reduction by a split ln 2, then a polynomial of degree five in r.
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
_EXP_POLYNOMIAL = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
_EXP_UNDERFLOW, _EXP_OVERFLOW = -87.0, 88.0


def ordered_sum(x: Tensor) -> Tensor:
    """Sum of the last dimension by halving: `[..., n] -> [..., 1]`, the same tree for every row.

    Consumes nothing; an odd element is added to the first sum of its round.
    """
    while (n := x.shape[-1]) > 1:
        half = n // 2
        folded = x[..., :half] + x[..., half : 2 * half]
        if n % 2:
            folded[..., 0] += x[..., -1]
        x = folded
    return x


def ordered_exp(x: Tensor) -> Tensor:
    """exp(x) in float32 from additions and products alone (Cephes expf); about ten times slower than the library.

    Results below exp(-87) become 0, so exp(-inf) = 0 and exp(0) = 1 hold exactly; not a number stays one.
    """
    bounded = x.clamp(_EXP_UNDERFLOW, _EXP_OVERFLOW)
    n = torch.floor(bounded * math.log2(math.e) + 0.5)
    r = (bounded - n * _LN2_HIGH) - n * _LN2_LOW
    p = torch.full_like(r, _EXP_POLYNOMIAL[0])
    for coefficient in _EXP_POLYNOMIAL[1:]:
        p = p * r + coefficient
    p = (p * (r * r) + r) + 1.0
    power = ((torch.nan_to_num(n).to(torch.int32) + 127) << 23).view(torch.float32)
    return torch.where(x < _EXP_UNDERFLOW, torch.zeros_like(x), p * power)


@functools.cache
def library_exp_is_safe(threads: int) -> bool:
    """Whether `torch.exp` gives one value the same bits at every length, offset and share of `threads` threads."""
    generator = torch.Generator().manual_seed(20)
    values = torch.randn(70_001, generator=generator) * 8.0 - 6.0
    whole = values.exp()
    limits = torch.tensor([-math.inf, 0.0]).exp()
    if threads != torch.get_num_threads() or limits.tolist() != [0.0, 1.0]:
        return False
    short = (
        torch.equal(values[offset : offset + length].exp(), whole[offset : offset + length])
        for offset in range(0, 33, 3)
        for length in (*range(1, 70), 33_333, 65_537)
    )
    strided = torch.equal(values[:70_000].view(100, 700)[:, :333].exp(), whole[:70_000].view(100, 700)[:, :333])
    return strided and all(short)


def exp_(x: Tensor) -> Tensor:
    """exp in place, by the library where it was proven safe, else by `ordered_exp`. Float32, any shape."""
    if library_exp_is_safe(torch.get_num_threads()):
        return x.exp_()
    return x.copy_(ordered_exp(x))


def log_of(column: Tensor) -> Tensor:
    """Natural logarithm, element by element in double precision, rounded once to float32: `[n] -> [n]`.

    A Python loop on purpose: it runs once per scored row and has no vector tail. log(0) is -inf, not a number stays one.
    """
    logs = [math.log(value) if value > 0.0 else (-math.inf if value == 0.0 else math.nan) for value in column.tolist()]
    return torch.tensor(logs, dtype=torch.float64).to(torch.float32)
