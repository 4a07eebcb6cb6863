"""How well scores rank positives above negatives, and whether two scorings of the same items rank equally well."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from drift.measures import NotMeasurable, Reals, Values


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """AUROC of two scorings of the same items. `z` is None where every item is ranked alike: there is nothing to test."""

    before: float
    after: float
    difference: float  # after − before
    error: float  # standard error of the difference
    z: float | None


def auroc(positives: Values, negatives: Values) -> float:
    """The chance that a positive scores above a negative, ties counted half (Mann and Whitney)."""
    first, second = _sample(positives), _sample(negatives)
    return float(np.mean(placements(first, second)))


def placements(scores: Values, negatives: Values) -> Reals:
    """For each score the share of `negatives` below it, ties counted half; its mean over positives is the AUROC."""
    ordered = np.sort(_sample(negatives))
    first = _sample(scores)
    below = np.searchsorted(ordered, first, side="left") + np.searchsorted(ordered, first, side="right")
    return np.asarray(below / (2 * len(ordered)), dtype=np.float64)


def paired(before: tuple[Values, Values], after: tuple[Values, Values]) -> PairedDifference:
    """Compare two scorings of the same positives and negatives, item by item, in the same order.

    DeLong, DeLong and Clarke-Pearson (Biometrics 44, 1988): the variance of the difference of two correlated AUROCs from the
    placement values. Raises NotMeasurable where the items do not pair up, or fewer than two of a class are there.
    """
    (first_positives, first_negatives), (second_positives, second_negatives) = map(_classes, (before, after))
    if first_positives.shape != second_positives.shape or first_negatives.shape != second_negatives.shape:
        raise NotMeasurable("both scorings need the same items")
    if min(len(first_positives), len(first_negatives)) < 2:
        raise NotMeasurable("two positives and two negatives are the least")
    moved_positives = placements(second_positives, second_negatives) - placements(first_positives, first_negatives)
    moved_negatives = placements(first_negatives, first_positives) - placements(second_negatives, second_positives)
    difference = float(np.mean(moved_positives))
    variance = np.var(moved_positives, ddof=1) / len(moved_positives) + np.var(moved_negatives, ddof=1) / len(moved_negatives)
    error = math.sqrt(float(variance))
    ranked = auroc(first_positives, first_negatives)
    z = difference / error if error > 0 else (None if difference == 0 else math.copysign(math.inf, difference))
    return PairedDifference(ranked, ranked + difference, difference, error, z)


def _classes(scored: tuple[Values, Values]) -> tuple[Reals, Reals]:
    return _sample(scored[0]), _sample(scored[1])


def _sample(values: Values) -> Reals:
    sample = np.asarray(values, dtype=np.float64).ravel()
    if not len(sample):
        raise NotMeasurable("each class needs a score")
    if np.any(np.isnan(sample)):
        raise NotMeasurable("a score is not a number")
    return sample
