"""One stream of windows: how far it lies from its reference, what the tests over time say of that, and whether somebody is called.

Two tests run side by side. The plain one sees every change, and takes a slow wander of the laboratories' mix for one: it makes a
note. The pre-whitened one follows the mean alone and is quiet under wander: it pages, and only where the effect is beyond the
stream's own gate. A window with too few observations is carried into the next; it is never green.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from drift import measures, sequential
from drift.measures import NotMeasurable
from drift.sequential import Whitened, WindowTest
from drift.thresholds import WINDOWS, WindowPlan


class Light(StrEnum):
    """What a stream says after its last window."""

    FEW = "few"  # too few observations: nothing is known of this window
    LEARNING = "learning"  # the first windows of a reference: no alarm counts yet
    STEADY = "steady"
    MOVED = "moved"  # a change, or a wander: a note
    PAGE = "page"  # a change of the mean beyond the gate: people are called
    GROSS = "gross"  # one window alone is far off: people are called at once


@dataclass(frozen=True, slots=True)
class Window:
    """What was counted between two moments: one count for each bin, and the mean of the raw values."""

    name: str  # of stream and window: breaks ties the same way each time
    counts: tuple[int, ...]
    mean: float


@dataclass(frozen=True, slots=True)
class Stream:
    """The state after the windows so far. `step` gives the next one and changes nothing."""

    reference: tuple[int, ...]
    plan: WindowPlan = WINDOWS
    plain: WindowTest = field(default_factory=WindowTest)
    whitened: Whitened = field(default_factory=Whitened)
    latest: tuple[tuple[int, ...], ...] = ()  # counts of the last `merged` windows
    carried: Window | None = None  # observations that wait for more
    windows: int = 0  # that had enough observations
    distance: float = 0.0  # of the last one
    merged: float = 0.0  # of the last `merged` together
    widest: float = 0.0  # the largest merged distance while learning
    light: Light = Light.FEW

    @classmethod
    def begun(cls, reference: tuple[int, ...], plan: WindowPlan = WINDOWS) -> Stream:
        """A stream that has seen no window."""
        return cls(reference, plan, WindowTest(plan), Whitened(WindowTest(plan)))

    @property
    def learning(self) -> bool:
        """Whether its alarms do not count yet."""
        return self.windows <= self.plan.fitted + self.plan.burn_in

    @property
    def gate(self) -> float:
        """The merged distance that is worth a call: what the plan says, or more where the stream moved as far while learning."""
        return max(self.plan.gate, self.plan.margin * self.widest)

    def step(self, window: Window) -> Stream:
        """After one more window. Raises NotMeasurable for other bins than the reference's."""
        whole = window if self.carried is None else _joined(self.carried, window)
        if len(whole.counts) != len(self.reference):
            raise NotMeasurable("this window was counted into other bins than those of the reference")
        if sum(whole.counts) < self.plan.least:
            return replace(self, carried=whole, light=Light.FEW)
        return self._measured(whole)

    def restarted(self) -> Stream:
        """After people closed its alarm: what it learnt stays, the evidence begins anew."""
        return replace(self, plain=self.plain.restarted(), whitened=self.whitened.restarted(), light=Light.STEADY)

    def _measured(self, window: Window) -> Stream:
        between = sequential.chance(window.name)
        distance = measures.kolmogorov_smirnov(window.counts, self.reference)
        latest = (*self.latest, window.counts)[-self.plan.merged :]
        merged = measures.kolmogorov_smirnov(measures.added(latest), self.reference)
        plain = self.plain.step(distance, between)
        whitened = self.whitened.step(window.mean, between)
        windows = self.windows + 1
        if windows <= self.plan.fitted + self.plan.burn_in:  # both tests are armed by the same window
            plain = plain.restarted()
        widest = max(self.widest, merged) if self.learning and self._teach(latest) else self.widest
        after = replace(
            self, plain=plain, whitened=whitened, latest=latest, carried=None, windows=windows, distance=distance, merged=merged,
            widest=widest,
        )  # fmt: skip
        return replace(after, light=after._seen())

    def _teach(self, latest: tuple[tuple[int, ...], ...]) -> bool:
        """Whether these windows may widen the gate: they are enough, and none was so far off that people were called."""
        far = (measures.kolmogorov_smirnov(counts, self.reference) > self.plan.gross for counts in latest)
        return len(latest) == self.plan.merged and not any(far)

    def _seen(self) -> Light:
        if self.distance > self.plan.gross:
            return Light.GROSS
        if self.learning:
            return Light.LEARNING
        if self.whitened.test.raised and self.merged > self.gate:
            return Light.PAGE
        return Light.MOVED if self.plain.raised or self.whitened.test.raised else Light.STEADY


def _joined(first: Window, second: Window) -> Window:
    if len(first.counts) != len(second.counts):
        raise NotMeasurable("windows with other bins cannot be added")
    sizes = sum(first.counts), sum(second.counts)
    if not sum(sizes):
        return second
    means = [size * window.mean for size, window in zip(sizes, (first, second), strict=True) if size]
    counts = tuple(one + other for one, other in zip(first.counts, second.counts, strict=True))
    return Window(second.name, counts, sum(means) / sum(sizes))
