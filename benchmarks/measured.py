"""What a workload gives back: figures for programs, bars and sentences for people."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

LATE = 5.0  # times ours; who has not finished by then is stopped


class NotMeasured(Exception):
    """This cannot be measured here, and why; its figure is absent, never zero."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One absolute figure of a contestant, with its ratio to ours where there is one (above 1: ours is faster)."""

    label: str
    value: float
    unit: str
    ratio: float | None = None
    late: bool = False  # the value is a lower bound
    runs: tuple[float, ...] = ()  # seconds of each round
    cores: float = 0.0  # median seconds that all cores worked for a round; 0: not known


@dataclass(slots=True)
class Measured:
    """The result of one workload. `figures` has the keys of docs/benchmarks.md."""

    name: str
    title: str
    precision: str
    rounds: int
    figures: dict[str, float] = field(default_factory=dict)
    late: list[str] = field(default_factory=list)  # keys whose figure is only known to be above LATE
    bars: list[Bar] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what was left out or stands behind a figure
    settings: dict[str, object] = field(default_factory=dict)  # of peers and baselines

    def skip(self, key: str, why: object) -> None:
        """Leave a figure out, and say why."""
        self.notes.append(f"{key} was not measured: {why}")


def median(values: Sequence[float]) -> float:
    """The middle one, or the mean of the two in the middle."""
    return statistics.median(values)


def quantile(values: Sequence[float], share: int) -> float:
    """The median for a share of 50, else the value that so many percent are below; of few values the largest."""
    return median(values) if share == 50 else sorted(values)[min(len(values) - 1, len(values) * share // 100)]
