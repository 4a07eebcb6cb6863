"""The plan of the monitors: every number that decides an alarm, in one place, fixed before it is tested.

`benchmarks/drift.py` draws its seeds in a later commit than this file was last changed in, and says so when that is not true.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """When a stream of windows may page."""

    least: int = 2_000  # observations a window needs; with fewer it is carried over, and never green
    burn_in: int = 60  # windows before alarms are armed
    run_length: float = 21_900.0  # mean windows to a false alarm where windows are exchangeable: 24 streams, 2.5 years
    merged: int = 5  # windows over which the size of an effect is measured
    gate: float = 0.05  # the Kolmogorov-Smirnov distance of the merged windows that is worth a page
    fitted: int = 60  # windows the autocorrelation is taken from, before the burn-in of the pre-whitened test
    steepest: float = 0.95  # largest autocorrelation that is taken out
    least_slope: float = 0.26  # two standard errors of an autocorrelation of 60 windows; a smaller one is taken for none
    margin: float = 1.25  # a stream's own gate: so many times the largest merged distance of its first windows
    gross: float = 0.25  # distance of a single hour that pages at once


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """When confirmed outcomes say that the model ranks worse than when it was validated."""

    bets: tuple[float, ...] = (0.15, 0.3, 0.6, 1.2, 2.4, 4.8)
    run_length: float = 180_000.0  # mean outcomes to a false alarm: a year of 500 a day


@dataclass(frozen=True, slots=True)
class SentinelPlan:
    """When paired scores of the sentinel set say that what serves is not what was validated."""

    deepest_z: float = -3.3  # paired DeLong, one-sided: 1 in 2,000 for each full set


WINDOWS = WindowPlan()
LABELS = LabelPlan()
SENTINELS = SentinelPlan()
