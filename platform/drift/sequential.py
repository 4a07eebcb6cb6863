"""Tests that may be looked at after every window and every outcome, for years, and keep their promise about false alarms.

Observations of one order and of one laboratory depend on each other, so a p-value from their number alarms all day. Here the
window is the unit: where windows are exchangeable, whatever their distribution, the mean run to a false alarm is at least
`run_length` windows. States are values: a step returns the next, and an audit can take every step again.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from drift.measures import NotMeasurable
from drift.thresholds import LABELS, WINDOWS, LabelPlan, WindowPlan

_NEAR_ONE = 1e-4  # below this the bet is taken from its series: the formula is 0/0 at p = 1


def bet(p: float) -> float:
    """(1 − p + p ln p) / (p ln² p) for p in (0, 1]: integrates to one, large for a small p (Vovk and Wang 2021)."""
    if not 0 < p <= 1:
        raise NotMeasurable(f"a p-value lies above 0 and not above 1: {p}")
    rest = 1 - p
    if rest < _NEAR_ONE:
        return 0.5 + rest / 6
    logarithm = math.log(p)
    return (rest + p * logarithm) / (p * logarithm**2)


def conformal_p(value: float, earlier: Sequence[float], between: float) -> float:
    """The share of values at least as large, this one among them; ties broken by `between` in (0, 1].

    Uniform on (0, 1] where `value` and `earlier` are exchangeable and `between` is uniform and independent of them.
    """
    larger = sum(other > value for other in earlier)
    equal = sum(other == value for other in earlier) + 1
    return (larger + between * equal) / (len(earlier) + 1)


def chance(*names: object) -> float:
    """A number in (0, 1] that follows from these names alone: an audit that repeats a step breaks its ties the same way."""
    digest = hashlib.sha256("\n".join(map(str, names)).encode()).digest()
    return (int.from_bytes(digest[:8], "big") + 1) / 2**64


@dataclass(frozen=True, slots=True)
class WindowTest:
    """Shiryaev-Roberts over conformal p-values: R ← (1 + R) · bet(p), alarm at R ≥ run_length.

    `evidence` is ln R, minus infinity before the first armed window.
    """

    plan: WindowPlan = WINDOWS
    earlier: tuple[float, ...] = ()
    evidence: float = -math.inf

    @property
    def armed(self) -> bool:
        """Whether it has seen enough windows for its alarms to count."""
        return len(self.earlier) > self.plan.burn_in

    @property
    def raised(self) -> bool:
        """Whether the evidence is beyond its limit."""
        return self.armed and self.evidence >= self.limit

    @property
    def limit(self) -> float:
        """The evidence at which it alarms, ln of the promised mean run length."""
        return math.log(self.plan.run_length)

    def step(self, value: float, between: float) -> WindowTest:
        """After one more window with this distance; `between` from `chance` with the names of stream and window."""
        if not math.isfinite(value):
            raise NotMeasurable("the distance of a window is a finite number")
        p = conformal_p(value, self.earlier, between)
        after = replace(self, earlier=(*self.earlier, value))
        if not after.armed:
            return after
        return replace(after, evidence=float(np.logaddexp(0, self.evidence)) + math.log(bet(p)))

    def restarted(self) -> WindowTest:
        """After people closed the alarm: what was seen stays, the evidence begins anew."""
        return replace(self, evidence=-math.inf)


@dataclass(frozen=True, slots=True)
class Whitened:
    """The same test on what the last window does not foretell of this one: the laboratories' mix wanders slowly.

    The first `fitted` means give level and autocorrelation, once (none where it is not distinct from chance); then the distance of
    a window is |(m − μ) − φ (m₋₁ − μ)|.
    """

    test: WindowTest = field(default_factory=WindowTest)
    means: tuple[float, ...] = ()  # until fitted; afterwards the last one alone
    level: float | None = None
    slope: float = 0.0

    def step(self, mean: float, between: float) -> Whitened:
        """After one more window with this mean."""
        if not math.isfinite(mean):
            raise NotMeasurable("the mean of a window is a finite number")
        if self.level is None:
            return self._gathered((*self.means, mean))
        distance = abs((mean - self.level) - self.slope * (self.means[-1] - self.level))
        return replace(self, test=self.test.step(distance, between), means=(mean,))

    def restarted(self) -> Whitened:
        """After people closed the alarm."""
        return replace(self, test=self.test.restarted())

    def _gathered(self, means: tuple[float, ...]) -> Whitened:
        if len(means) < self.test.plan.fitted:
            return replace(self, means=means)
        off = np.asarray(means) - np.mean(means)
        spread = float(off[:-1] @ off[:-1])
        slope = float(off[1:] @ off[:-1]) / spread if spread > 0 else 0.0
        plan = self.test.plan
        slope = 0.0 if slope < plan.least_slope else min(slope, plan.steepest)
        return replace(self, means=means[-1:], level=float(np.mean(means)), slope=slope)


@dataclass(frozen=True, slots=True)
class LabelTest:
    """Confirmed outcomes against the ranking that was validated: an e-detector (Shin, Ramdas, Rinaldo, doi 10.51387/23-NEJSDS51).

    Every outcome has a placement in [0, 1], whose mean is the AUROC; for each bet λ, R ← (1 + R)(1 + λ (validated − placement)),
    and the mean of the R is the evidence. Where outcomes are independent and rank no worse, the mean run to an alarm is at least
    `run_length`.
    """

    validated: float  # AUROC at validation
    plan: LabelPlan = LABELS
    sums: tuple[float, ...] = ()  # one R for each bet
    seen: int = 0

    def __post_init__(self) -> None:
        """A bet may not cost more than there is: 1 + λ (validated − placement) stays above zero."""
        if not 0 < self.validated < 1:
            raise NotMeasurable("a validated AUROC lies between 0 and 1")

    @property
    def evidence(self) -> float:
        """The mean over the bets."""
        return sum(self.sums) / len(self.sums) if self.sums else 0.0

    @property
    def raised(self) -> bool:
        """Whether the evidence is beyond its limit."""
        return self.evidence >= self.plan.run_length

    def step(self, placement: float) -> LabelTest:
        """After one more confirmed outcome with this placement among the scores of the other class."""
        if not 0 <= placement <= 1:
            raise NotMeasurable("a placement lies between 0 and 1")
        before = self.sums or (0.0,) * len(self.plan.bets)
        gains = (1 + self._fair(bet) * (self.validated - placement) for bet in self.plan.bets)
        return replace(self, sums=tuple((1 + r) * gain for r, gain in zip(before, gains, strict=True)), seen=self.seen + 1)

    def restarted(self) -> LabelTest:
        """After people closed the alarm."""
        return replace(self, sums=())

    def _fair(self, bet: float) -> float:
        return min(bet, 1 / (1 - self.validated))
