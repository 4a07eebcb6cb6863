"""Drawing a token: a pure function of the logits, the seed, the sample's number and the absolute position."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from engine.request import Sampling

_MASK = (1 << 64) - 1


def draw(logits: npt.NDArray[np.float32], sampling: Sampling, position: int) -> int:
    """The token at `position` from `logits [V]`, all finite. Greedy at temperature 0; ties go to the lowest id.

    Otherwise the inverse of the cumulative distribution over the kept ids, ascending, at one uniform number.
    """
    if sampling.temperature == 0.0:
        return int(np.argmax(logits))  # the first of equals
    kept = np.arange(len(logits))
    if 0 < sampling.top_k < len(logits):
        kept = np.sort(np.argsort(-logits, kind="stable")[: sampling.top_k])
    scaled = logits[kept].astype(np.float64) / sampling.temperature
    cumulative = np.cumsum(np.exp(scaled - scaled.max()))
    index = np.searchsorted(cumulative, uniform(sampling.seed, sampling.sample, position) * cumulative[-1], side="right")
    return int(kept[min(int(index), len(kept) - 1)])


def uniform(seed: int, sample: int, position: int) -> float:
    """A number in [0, 1) from the counter-based Philox 4x64 (Salmon et al. 2011): key (seed, sample), counter position."""
    generator = np.random.Philox(key=np.array([seed & _MASK, sample & _MASK], dtype=np.uint64), counter=[position, 0, 0, 0])
    return (int(generator.random_raw()) >> 11) * 2.0**-53
