"""How fast each pair of a head's elements turns with the position: plain rotary frequencies and the published ways to stretch them.

All are functions of the model alone. A kind whose angles depend on the length of a sequence (dynamic NTK, longrope) cannot be one
of them: the same position would get other bits in longer company.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Frequencies(Protocol):
    """What the table of angles is made from."""

    @property
    def magnitude(self) -> float:
        """What cosine and sine are multiplied by."""
        ...

    def of(self, head_dim: int) -> Tensor:
        """Radians a position for each pair of a head, `[head_dim / 2]` float32, fastest first."""
        ...


@dataclass(frozen=True, slots=True)
class Plain:
    """theta^(-2i/D) (Su et al. 2021), in float32 as published checkpoints were trained."""

    theta: float
    magnitude: float = 1.0

    def of(self, head_dim: int) -> Tensor:
        """See `Frequencies.of`."""
        exponents = torch.arange(0, head_dim, 2, dtype=torch.int64).to(torch.float32) / head_dim
        return 1.0 / torch.tensor([self.theta**exponent for exponent in exponents.tolist()], dtype=torch.float32)


@dataclass(frozen=True, slots=True)
class Linear:
    """Every frequency divided by `factor` (Chen et al. 2023, position interpolation)."""

    theta: float
    factor: float
    magnitude: float = 1.0

    def of(self, head_dim: int) -> Tensor:
        """See `Frequencies.of`."""
        return Plain(self.theta).of(head_dim) / self.factor


@dataclass(frozen=True, slots=True)
class Llama3:
    """Slow frequencies divided by `factor`, fast ones kept, a ramp between (Llama 3.1).

    Slow is what turns less than `low` times in the `original` context, fast what turns more than `high` times.
    """

    theta: float
    factor: float
    low: float
    high: float
    original: int
    magnitude: float = 1.0

    def of(self, head_dim: int) -> Tensor:
        """See `Frequencies.of`."""
        plain = Plain(self.theta).of(head_dim).double()
        turns = self.original * plain / (2 * math.pi)
        kept = ((turns - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
        return (kept * plain + (1.0 - kept) * plain / self.factor).float()


@dataclass(frozen=True, slots=True)
class Yarn:
    """As `Llama3`, with the ramp over the numbers of the pairs, and a `magnitude` of its own (Peng et al. 2023, YaRN).

    The ramp begins at the pair that turns `fast` times in the `original` context and ends at the one that turns `slow` times, both
    moved outwards to whole numbers where `truncate` is set.
    """

    theta: float
    factor: float
    original: int
    magnitude: float
    fast: float = 32.0
    slow: float = 1.0
    truncate: bool = True

    def of(self, head_dim: int) -> Tensor:
        """See `Frequencies.of`."""
        plain = Plain(self.theta).of(head_dim).double()
        first, last = self._pair(self.fast, head_dim), self._pair(self.slow, head_dim)
        if self.truncate:
            first, last = math.floor(first), math.ceil(last)
        first, last = max(first, 0), min(last, head_dim - 1)
        width = last - first or 0.001  # a step instead of a ramp
        stretched = ((torch.arange(head_dim // 2) - first).double() / width).clamp(0.0, 1.0)
        return ((1.0 - stretched) * plain + stretched * plain / self.factor).float()

    def _pair(self, turns: float, head_dim: int) -> float:
        """The pair, not rounded, that turns so many times in the original context."""
        return head_dim * math.log(self.original / (turns * 2 * math.pi)) / (2 * math.log(self.theta))


def yarn_magnitude(factor: float, scale: float = 1.0) -> float:
    """0.1 · scale · ln(factor) + 1 for a context stretched by `factor` (Peng et al. 2023, equation 22)."""
    return 0.1 * scale * math.log(factor) + 1.0 if factor > 1.0 else 1.0
