"""How far two distributions lie apart, from the counts of their histograms alone.

A reference is frozen with a model version and cut into bins at its own quantiles; every later window counts into the same
bins, so that windows add up exactly, in SQL as here. There is one bin below the first edge and one from the last edge on:
`len(edges) + 1` counts, numbered as Postgres' `width_bucket(value, edges)` does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

BINS = 64  # between the first edge and the last
SMOOTHING = 0.5  # observations added to each bin where a logarithm is taken of it (Jeffreys)

Values = npt.ArrayLike
Counts = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


class NotMeasurable(ValueError):
    """These counts or values cannot be compared, and why."""


def edges_of(values: Values, bins: int = BINS) -> Reals:
    """Edges between bins that hold equal shares of `values`; fewer where values repeat, as many as there are to tell apart.

    The last edge lies one step above the largest value, so that no reference value overflows. Raises NotMeasurable without values
    or where one of them is not finite.
    """
    sample = _finite(values)
    edges = np.unique(np.quantile(sample, np.linspace(0, 1, bins + 1), method="inverted_cdf"))
    if len(edges) == 1:
        return np.array([edges[0], np.nextafter(edges[0], np.inf)])
    edges[-1] = np.nextafter(edges[-1], np.inf)
    return edges


def counted(values: Values, edges: Values) -> Counts:
    """How many values fall into each of the `len(edges) + 1` bins. Raises NotMeasurable where one is not finite."""
    edge = np.asarray(edges, dtype=np.float64)
    places = np.searchsorted(edge, _finite(values, empty=True), side="right")
    return np.bincount(places, minlength=len(edge) + 1).astype(np.int64)


def kolmogorov_smirnov(now: Values, reference: Values) -> float:
    """The largest distance of the two distribution functions at the edges, in [0, 1].

    Exact at each edge: never above the distance of the raw values, and below it by no more than the share of one bin.
    """
    first, second = _pair(now, reference)
    return float(np.max(np.abs(_cumulated(first) - _cumulated(second))))


def population_stability(now: Values, reference: Values) -> float:
    """PSI = Σ (p − q) ln(p/q) in nats over all bins, each with SMOOTHING observations more."""
    first, second = (_shares(counts + SMOOTHING) for counts in _pair(now, reference))
    return float(np.sum((first - second) * np.log(first / second)))


def stability_of_chance(now: Values, reference: Values, level: float = 0.99) -> float:
    """The PSI that independent samples of one distribution exceed with a chance of 1 − `level`.

    (1/n + 1/m) χ²(level, bins − 1) (Yurdakul 2018), with the quantile of Wilson and Hilferty. Observations of one order are not
    independent: this line is shown, and nothing is decided by it.
    """
    first, second = _pair(now, reference)
    freedom = int(np.count_nonzero(first + second)) - 1
    if freedom < 1:
        return 0.0
    ninth = 2 / (9 * freedom)
    quantile = freedom * (1 - ninth + NormalDist().inv_cdf(level) * math.sqrt(ninth)) ** 3
    return float((1 / first.sum() + 1 / second.sum()) * quantile)


def jensen_shannon(now: Values, reference: Values) -> float:
    """The square root of the Jensen–Shannon divergence in bits, in [0, 1]: 0 for equal shares, 1 where no bin is shared."""
    first, second = (_shares(counts) for counts in _pair(now, reference))
    middle = (first + second) / 2
    bits = (_entropy_against(first, middle) + _entropy_against(second, middle)) / 2
    return math.sqrt(min(max(bits, 0.0), 1.0))


def wasserstein(now: Values, reference: Values, edges: Values, spans: tuple[tuple[float, float], tuple[float, float]]) -> float:
    """The area between the two distribution functions, in the unit of the values: how far the mass has to be moved.

    `spans` gives the smallest and largest value of each sample, in the order of the counts. Within a bin the mass lies evenly; the
    error is at most the widest bin that holds mass. Divide by the standard deviation of the reference for a figure without unit.
    """
    first, second = _pair(now, reference)
    edge = np.asarray(edges, dtype=np.float64)
    if len(edge) + 1 != len(first):
        raise NotMeasurable(f"{len(edge)} edges make {len(edge) + 1} bins, not {len(first)}")
    low = min(edge[0], spans[0][0], spans[1][0])
    high = max(edge[-1], spans[0][1], spans[1][1])
    places = np.concatenate([[low], edge, [high]])
    gaps = np.concatenate([[0.0], _cumulated(first) - _cumulated(second)])
    return float(np.sum(_areas(gaps[:-1], gaps[1:], np.diff(places))))


def estimated_auroc(counts: Values, chances: Values) -> float:
    """AUROC expected of a calibrated model from where its scores lie (CBPE): shown, never acted on.

    `chances[b]` is the calibrated probability of the positive class in bin b, bins in ascending order of score. It follows a
    shift of the inputs and is blind to a changed truth. NaN where only one class is expected.
    """
    amounts = np.asarray(counts, dtype=np.float64)
    chance = np.asarray(chances, dtype=np.float64)
    if amounts.shape != chance.shape or np.any((chance < 0) | (chance > 1)) or np.any(amounts < 0):
        raise NotMeasurable("one chance in [0, 1] and one count are needed for each bin")
    positive, negative = amounts * chance, amounts * (1 - chance)
    pairs = positive.sum() * negative.sum()
    if pairs == 0:
        return math.nan
    below = np.concatenate([[0.0], np.cumsum(negative)[:-1]])
    return float(np.sum(positive * (below + negative / 2)) / pairs)


def added(counts: Sequence[Values]) -> Counts:
    """The counts of several windows together. Raises NotMeasurable for none and for other bins."""
    if not counts:
        raise NotMeasurable("there is no window to add")
    rows = [np.asarray(row, dtype=np.int64) for row in counts]
    if len({row.shape for row in rows}) != 1:
        raise NotMeasurable("windows with other bins cannot be added")
    return np.asarray(np.sum(rows, axis=0), dtype=np.int64)


def _finite(values: Values, *, empty: bool = False) -> Reals:
    sample = np.asarray(values, dtype=np.float64).ravel()
    if not empty and not len(sample):
        raise NotMeasurable("there is no value to measure")
    if not np.all(np.isfinite(sample)):
        raise NotMeasurable("a value is not a finite number")
    return sample


def _pair(now: Values, reference: Values) -> tuple[Counts, Counts]:
    first, second = np.asarray(now, dtype=np.int64), np.asarray(reference, dtype=np.int64)
    if first.ndim != 1 or first.shape != second.shape:
        raise NotMeasurable("both need one count for each bin of one reference")
    if np.any(first < 0) or np.any(second < 0) or not first.sum() or not second.sum():
        raise NotMeasurable("both need observations, and no count below zero")
    return first, second


def _shares(counts: npt.NDArray[np.number]) -> Reals:
    return np.asarray(counts / counts.sum(), dtype=np.float64)


def _cumulated(counts: Counts) -> Reals:
    return np.asarray(np.cumsum(counts) / counts.sum(), dtype=np.float64)


def _entropy_against(shares: Reals, middle: Reals) -> float:
    held = shares > 0
    return float(np.sum(shares[held] * np.log2(shares[held] / middle[held])))


def _areas(left: Reals, right: Reals, widths: Reals) -> Reals:
    """∫|line from left to right| over each width; a line that crosses zero leaves two triangles."""
    total = np.abs(left) + np.abs(right)
    crossing = left * right < 0
    triangles = np.divide(left**2 + right**2, total, out=np.zeros_like(total), where=total > 0)
    return np.asarray(widths / 2 * np.where(crossing, triangles, total), dtype=np.float64)
