"""Area under the ROC curve, with an interval that respects that variants of one gene are not independent."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
RESAMPLES = 2_000


@dataclass(frozen=True)
class Scored:
    score: Reals  # (n,), higher means more like the positives
    gene: NDArray[np.int64]  # (n,), which held-out gene each comes from


@dataclass(frozen=True)
class Auroc:
    auroc: float
    low: float  # 95 % interval
    high: float
    positives: int
    negatives: int
    genes: int


def auroc(positives: Scored, negatives: Scored, *, seed: int) -> Auroc:
    """Share of pairs in which the positive scores higher, ties half; percentile bootstrap over whole genes."""
    wins = np.sign(positives.score[:, None] - negatives.score[None, :]) / 2 + 0.5
    genes, numbered = np.unique(np.concatenate([positives.gene, negatives.gene]), return_inverse=True)
    drawn = np.random.default_rng(seed).multinomial(len(genes), np.full(len(genes), 1 / len(genes)), size=RESAMPLES)
    weight = drawn[:, numbered].astype(np.float64)
    left, right = weight[:, : len(positives.score)], weight[:, len(positives.score) :]
    pairs = left.sum(axis=1) * right.sum(axis=1)
    resampled = ((left @ wins) * right).sum(axis=1)[pairs > 0] / pairs[pairs > 0]
    low, high = np.percentile(resampled, [2.5, 97.5])
    return Auroc(float(wins.mean()), float(low), float(high), len(positives.score), len(negatives.score), len(genes))
