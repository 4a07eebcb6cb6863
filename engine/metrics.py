"""Every figure an engine gives of itself: name, unit and meaning, and the counting. Plain numbers, for whoever exports them.

A name that ends in `_le_X` counts what took at most X seconds, as the buckets of a histogram do; `_le_inf` counts everything.
"""

from __future__ import annotations

import bisect
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from engine.batch import Row
from engine.request import Outcome, Priority
from engine.swap.content import Failure
from engine.trace import Kind, Mark

STEP_BOUNDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, math.inf)  # seconds
WAIT_BOUNDS = (0.01, 0.1, 1.0, 10.0, 60.0, 600.0, math.inf)
_PASSES = 8  # with STAT in them, in which one may have come that is told of now
CLASSES = tuple(priority.name.lower() for priority in Priority)


@dataclass(frozen=True, slots=True)
class Metric:
    """A counter only grows while the process lives; a gauge says how things stand."""

    name: str
    kind: Literal["counter", "gauge"]
    unit: str
    help: str


def _classes(name: str, kind: Literal["counter", "gauge"], unit: str, text: str) -> Iterator[Metric]:
    return (Metric(f"{name}_{label}", kind, unit, text.format(label)) for label in CLASSES)


def _buckets(name: str, bounds: Sequence[float], unit: str, text: str) -> Iterator[Metric]:
    return (Metric(f"{name}_le_{bound:g}", "counter", unit, text.format(f"{bound:g}")) for bound in bounds)


_FAILURES = {
    Failure.FULL: "could not be written: the disk is full, or a quota is",
    Failure.CAP: "were not written: `swap_file_bytes` was reached",
    Failure.REFUSED: "could not be written or read: the folder is gone or closed, or the disk answers with an error",
    Failure.MISSING: "were gone when they were wanted",
    Failure.TORN: "were shorter or longer than they had been written",
    Failure.CORRUPT: "held other bytes than had been written",
    Failure.FOREIGN: "were of another version, deployment or sequence",
    Failure.KEY: "were encrypted with another key",
    Failure.SLOW: "were not read within `swap_seconds`",
}
_ENGINE = (
    Metric("running", "gauge", "sequences", "hold a slot"),
    Metric("waiting", "gauge", "sequences", "hold none: queued, or waiting at a trunk"),
    Metric("on_hold", "gauge", "requests", "rest, without slot and blocks, until they are released"),
    *_classes("waiting", "gauge", "sequences", "of class {} are queued for a slot"),
    Metric("blocks_free", "gauge", "blocks", "hold nothing"),
    Metric("blocks_cached", "gauge", "blocks", "are held by nobody and can be found again"),
    Metric("blocks_used", "gauge", "blocks", "are held by a sequence"),
    Metric("blocks_draining", "gauge", "blocks", "are being copied to the arena"),
    Metric("blocks_total", "gauge", "blocks", "there are"),
    Metric(
        "kv_tokens", "gauge", "positions", "whose keys and values running sequences hold; those of a shared block count for each"
    ),
    Metric("budget", "gauge", "tokens", "a step may compute now; below the setting while memory is short"),
    Metric("steps", "counter", "steps", "that computed something"),
    Metric("tokens", "counter", "tokens", "computed, whatever for"),
    *(
        Metric(f"tokens_{kind.name.lower()}", "counter", "tokens", text)
        for kind, text in (
            (Kind.CHUNK, "of them computed several at a time, of a prompt or a score"),
            (Kind.DECODE, "of them computed alone, before the next was drawn"),
            (Kind.TRUNK, "of them computed once for all branches of a window"),
            (Kind.BRANCH, "of them computed for one alternate"),
        )
    ),
    Metric("tokens_reused", "counter", "tokens", "taken from the cache instead of being computed"),
    Metric("cache_hits", "counter", "blocks", "taken from the cache"),
    Metric("cache_evictions", "counter", "blocks", "dropped from the cache to make room"),
    Metric("cache_forgotten", "counter", "blocks", "dropped from the cache because what they hold was no longer trusted"),
    Metric("evictions", "counter", "sequences", "sent away for more urgent work"),
    Metric("bounces", "counter", "sequences", "of them came back and were sent away again before they got any further"),
    Metric("swapped_out_blocks", "counter", "blocks", "copied to the arena when a sequence gave way"),
    Metric("swapped_in_blocks", "counter", "blocks", "copied back when it went on"),
    Metric("swap_bytes", "counter", "bytes", "of both together"),
    Metric(
        "swap_recomputed",
        "counter",
        "sequences",
        "gave way and computed their positions again: that was cheaper, or nothing was left of them",
    ),
    Metric(
        "swap_bandwidth", "gauge", "bytes/s", "copied between pool and arena: `swap_bandwidth` as configured until it is measured"
    ),
    Metric("recompute_rate", "gauge", "tokens/s", "computed again: `recompute_rate` as configured until it is measured"),
    Metric("swap_copies_measured", "counter", "copies", "that `swap_bandwidth` stands on, those at start included"),
    Metric("swap_steps_measured", "counter", "steps", "that `recompute_rate` stands on, those at start included"),
    Metric("arena_used", "gauge", "blocks", "of the arena hold something"),
    Metric("arena_total", "gauge", "blocks", "the arena has"),
    Metric("swap_files", "gauge", "files", "hold what the arena had no room for"),
    Metric("swap_files_read", "counter", "files", "were read back whole"),
    Metric("swap_file_bytes", "gauge", "bytes", "are in them"),
    Metric("swap_failures", "counter", "files", "were of no use, for any of the reasons that follow"),
    *(Metric(f"swap_failures_{kind.value}", "counter", "files", text) for kind, text in _FAILURES.items()),
    Metric("pauses", "counter", "sequences", "stood aside until others gave back the blocks of a window that it had left behind"),
    Metric("idle_slot_steps", "counter", "steps", "that left a slot empty although somebody fitted: a fault of the scheduler"),
    Metric("rows_failed", "counter", "rows", "that raised or gave numbers that are not finite; each failed alone"),
    Metric("shortages", "counter", "steps", "that ran out of memory and were computed in smaller parts"),
    Metric("freezes", "counter", "times", "a pass stood still between two layers while steps of STAT ran"),
    Metric("frozen_seconds", "counter", "seconds", "that passes stood still for STAT"),
    Metric("capped_starts", "counter", "sequences", "of STAT waited for a pass that had stood still as often or as long as it may"),
    Metric("abandoned_passes", "counter", "passes", "given up while they stood still: STAT took the blocks, or all was cancelled"),
    Metric("abandoned_tokens", "counter", "tokens", "of them, computed in part and to be computed again; not among `tokens`"),
    Metric("stat_late", "counter", "requests", "of STAT ended with a result after the time by which they were due"),
    Metric("pressed_steps", "counter", "steps", "in which a STAT request would have ended too late, so that lower work paused"),
    Metric(
        "layers_until_start",
        "gauge",
        "layers",
        "of work without STAT computed at most between a STAT request's coming and the first layer for it, its own or of the trunk"
        " at which it waits; capped starts apart",
    ),
    Metric("layers_behind_stat", "gauge", "layers", "of passes of other STAT computed at most meanwhile"),
    Metric(
        "layers_at_trunk", "gauge", "layers", "computed at most between the coming of one that waited at a trunk and its own first"
    ),
    Metric("step_seconds_sum", "counter", "seconds", "spent in steps that computed something"),
    *_buckets("step_seconds", STEP_BOUNDS, "steps", "that took at most {} s"),
)
_LOOP = (
    Metric("queued", "gauge", "requests", "taken and not yet ended"),
    Metric("finished", "counter", "requests", "ended with a result"),
    Metric("failed", "counter", "requests", "ended with an error, refusals included"),
    Metric("cancelled", "counter", "requests", "ended because somebody asked for it"),
    *_classes("ended", "counter", "requests", "of class {} ended after they had started"),
    *_classes("queue_wait_seconds_sum", "counter", "seconds", "that requests of class {} waited before they started"),
    *(
        metric
        for label in CLASSES
        for metric in _buckets(
            f"queue_wait_seconds_{label}", WAIT_BOUNDS, "requests", f"of class {label} that waited at most {{}} s"
        )
    ),
    *_classes("service_seconds_sum", "counter", "seconds", "between start and end of requests of class {}"),
    Metric("tokens_per_second", "gauge", "tokens/s", "computed over the last ten seconds"),
    Metric("callbacks_failed", "counter", "calls", "of a caller's function that raised"),
    Metric("watchdog_trips", "counter", "steps", "that took longer than the watchdog allows"),
    Metric("healthy", "gauge", "0 or 1", "whether the loop runs and takes requests"),
    Metric("ready", "gauge", "0 or 1", "whether it is healthy and no step is overdue"),
)
METRICS = _ENGINE + _LOOP
NAMES = frozenset(metric.name for metric in METRICS)


class Histogram:
    """Counts by size. One thread observes, any may read."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds, self._counts, self.total = bounds, [0] * len(bounds), 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self._counts[bisect.bisect_left(self._bounds, value)] += 1
        self.total += value

    def values(self, name: str) -> dict[str, float]:
        """How many were at most as large as each bound."""
        counted, found = 0, dict[str, float]()
        for bound, count in zip(self._bounds, tuple(self._counts), strict=True):
            counted += count
            found[f"{name}_le_{bound:g}"] = counted
        return found


def tokens_by_class(numbers: Sequence[int]) -> list[int]:
    """What the rows of a step (`trace.marks`) computed for each class."""
    found, stride = [0] * len(Priority), len(Mark._fields)
    for count, priority in zip(numbers[2::stride], numbers[3::stride], strict=True):
        found[priority] += count
    return found


class StepMeter:
    """What is counted of steps; the engine's thread owns it."""

    def __init__(self) -> None:
        self._seconds = Histogram(STEP_BOUNDS)
        self._tokens = [0] * len(Kind)
        self.rows_failed = 0

    def step(self, seconds: float, numbers: Sequence[int], failed: int) -> None:
        """A step that took so long and computed these rows (`trace.marks`), of which so many failed."""
        self._seconds.observe(seconds)
        self.rows_failed += failed
        stride = len(Mark._fields)
        for count, kind in zip(numbers[2::stride], numbers[4::stride], strict=True):
            self._tokens[kind] += count

    def stopped(self, seconds: float) -> None:
        """A part of a step took so long; its tokens count when it has ended."""
        self._seconds.total += seconds

    def values(self) -> dict[str, float]:
        """The figures by name."""
        kinds = {f"tokens_{kind.name.lower()}": self._tokens[kind] for kind in Kind}
        counted = {"rows_failed": self.rows_failed, "step_seconds_sum": self._seconds.total}
        return {**kinds, **counted, **self._seconds.values("step_seconds")}


@dataclass(slots=True)
class _Coming:
    """A STAT request that has not begun: layers that had been computed when it came, those of passes with STAT in them apart."""

    layers: int
    stat: int
    waited: bool = False  # at a trunk: that has begun or gone on, and what is still to be counted is its own first layer


class StartMeter:
    """How many layers each STAT request had to wait for: of lower work, of others of STAT, and of the trunk at which it waited.

    It has begun when it has a row, or the trunk has at which it waits.
    """

    def __init__(self) -> None:
        self._placed: dict[int, _Coming] = {}  # by handle
        self._capped = self._stat = 0  # layers of passes with STAT in them
        self._passes: deque[tuple[int, int]] = deque(maxlen=_PASSES)  # such passes: their first layer, and that after them
        self.worst = self.behind = self.at_trunk = 0

    def placed(self, handle: int, layers: int) -> None:
        """One has come, when so many layers had been computed."""
        since = sum(max(0, last - max(first, layers)) for first, last in self._passes)
        self._placed[handle] = _Coming(layers, self._stat - since)

    def begin(self, rows: Iterable[Row], layers: int, capped: int, trunk_of: Callable[[int], int | None]) -> None:
        """These rows begin, after so many layers; `capped` counts those who have had to wait for the end of a pass. `trunk_of`
        tells the handle of the trunk at which one waits.
        """
        if not self._placed:
            return
        if capped != self._capped:  # they are those who have not begun
            self._placed.clear()
            self._capped = capped
        begun = {row.handle for row in rows}
        for handle, one in list(self._placed.items()):
            if handle in begun:
                self._begin(one, layers)
                del self._placed[handle]
            elif not one.waited and trunk_of(handle) in begun:
                self._begin(one, layers)
                one.waited = True

    def _begin(self, one: _Coming, layers: int) -> None:
        if one.waited:
            self.at_trunk = max(self.at_trunk, layers - one.layers)
            return
        behind = self._stat - one.stat
        self.worst = max(self.worst, layers - one.layers - behind)
        self.behind = max(self.behind, behind)

    def computed(self, first: int, last: int, numbers: Sequence[int]) -> None:
        """Layers from `first` to before `last` were computed of these rows (`trace.marks`)."""
        if last > first and Priority.STAT in numbers[3 :: len(Mark._fields)]:
            self._passes.append((first, last))
            self._stat += last - first

    def dropped(self, handle: int) -> None:
        """One is not waited for any more, or as something else."""
        self._placed.pop(handle, None)

    def ended(self, outcomes: Iterable[Outcome]) -> None:
        """Some of them may never have begun."""
        for outcome in outcomes:
            self.dropped(outcome.handle)


class RequestMeter:
    """What is counted of requests, by their class."""

    def __init__(self) -> None:
        self._states = dict.fromkeys(("finished", "failed", "cancelled"), 0)
        self._waits = [Histogram(WAIT_BOUNDS) for _ in Priority]
        self._service = [0.0] * len(Priority)
        self._ended = [0] * len(Priority)

    def ended(self, priority: Priority, outcome: Outcome) -> None:
        """A request of a class has ended so."""
        self._states[outcome.state] += 1
        if outcome.started_at is not None:
            self._ended[priority] += 1
            self._waits[priority].observe(max(0.0, outcome.started_at - outcome.queued_at))  # clocks are set back at times
            self._service[priority] += max(0.0, outcome.finished_at - outcome.started_at)

    def values(self) -> dict[str, float]:
        """The figures by name."""
        found: dict[str, float] = dict(self._states)
        for priority, label in zip(Priority, CLASSES, strict=True):
            found[f"ended_{label}"] = self._ended[priority]
            found[f"queue_wait_seconds_sum_{label}"] = self._waits[priority].total
            found[f"service_seconds_sum_{label}"] = self._service[priority]
            found.update(self._waits[priority].values(f"queue_wait_seconds_{label}"))
        return found


def table() -> str:
    """Every figure as a Markdown table: one line for the classes of a figure, and one for the buckets of a histogram."""
    first, *others = CLASSES
    lines = ["| name | kind | unit | meaning |", "|---|---|---|---|"]
    for metric in METRICS:
        if "_le_" in metric.name and not metric.name.endswith("_le_inf"):
            continue
        if any(other in metric.name for other in others):
            continue
        line = f"| `{metric.name}` | {metric.kind} | {metric.unit} | {metric.help} |"
        line = line.replace(f"_{first}", "_CLASS").replace(f"class {first}", "each class")
        lines.append(line.replace("_le_inf`", "_le_…`").replace(" at most inf s", " at most … s"))
    return "\n".join(lines)
