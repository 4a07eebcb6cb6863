"""The baseline: Markov chains of growing order, each interpolated with the order below it.

p_k(base | context) = (count + strength * p_{k-1}(base | shorter context)) / (count of the context + strength)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.training.genome import OTHER, Codes

STRENGTH = 10.0  # how many observations the shorter context is worth


@dataclass(frozen=True)
class Markov:
    log2: tuple[NDArray[np.float64], ...]  # by order k: (4 ** k, 4)

    @classmethod
    def fit(cls, sequences: Sequence[Codes], order: int) -> "Markov":
        """Counts within sequences, never across the seam between two of them."""
        joined = np.concatenate([np.append(sequence, np.uint8(OTHER)) for sequence in sequences])
        probability = np.full((1, 4), 0.25)
        tables = []
        for k in range(order + 1):
            counts = _counts(joined, k)
            longer = probability if k == 0 else np.tile(probability, (4, 1))  # the oldest base is the highest digit
            probability = (counts + STRENGTH * longer) / (counts.sum(axis=1, keepdims=True) + STRENGTH)
            tables.append(np.log2(probability))
        return cls(tuple(tables))

    def bits(self, windows: Sequence[Codes], order: int) -> NDArray[np.float64]:
        """Bits of every base, (n, length); the first bases have only what precedes them in the window, as the model has."""
        stacked = np.stack(windows).astype(np.int64)
        out = np.empty(stacked.shape)
        for k in range(order + 1):
            last = k + 1 if k < order else stacked.shape[1]
            for position in range(k, last):
                context = _number(stacked[:, position - k : position])
                out[:, position] = -self.log2[k][context, stacked[:, position]]
        return out


def _number(contexts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Contexts (n, k) as base-4 numbers."""
    places: NDArray[Any] = 4 ** np.arange(contexts.shape[1] - 1, -1, -1, dtype=np.int64)
    number: NDArray[np.int64] = contexts @ places
    return number


def _counts(joined: Codes, k: int) -> NDArray[np.float64]:
    """How often each base follows each context of k bases; built place by place, since all runs at once need gigabytes."""
    total = len(joined) - k
    number, known = np.zeros(total, np.int32), np.ones(total, np.bool_)
    for place in range(k + 1):
        codes = joined[place : place + total]
        number = number * 4 + codes
        known &= codes < OTHER
    return np.bincount(number[known], minlength=4 ** (k + 1)).reshape(-1, 4).astype(np.float64)
