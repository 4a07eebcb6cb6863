"""`drift`: how often the monitors call where nothing happened, how soon where something did, and what the field's rules would do.

The states of `drift.streams` take windows of `benchmarks.drift_worlds`; the platform is needed for what recording costs alone.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from benchmarks import drift_labels, drift_recording
from benchmarks.drift_worlds import Change, Replayed, Simulated
from benchmarks.measured import Bar, Measured
from benchmarks.options import Options
from benchmarks.peer import ROOT
from benchmarks.progress import counted
from drift import measures
from drift.streams import Light, Stream
from drift.thresholds import WINDOWS

FIXED = "f0474173d5e46897618057219c866acca626f7f0"  # the commit that fixed the thresholds
SEED = int(FIXED[:12], 16)  # drawn by it, so nobody chose either for the other

_LEARN = WINDOWS.fitted + WINDOWS.burn_in
_BEFORE, _YOUNG = 80, 20  # windows after learning and before a change: the more a stream has seen, the less it takes to call
_AFTER = 60  # windows in which a change has to be found
_CALLS = (Light.PAGE, Light.GROSS)
_LARGE, _SMALL = 40_000, 2_000


@dataclass(slots=True)
class Seen:
    """What streams of one case said."""

    windows: int = 0  # in which a call is false
    calls: int = 0  # false ones
    notes: int = 0  # windows with a note that are none of the calls'
    delays: list[float] = field(default_factory=list)  # windows from the change to the call, infinity where there was none
    rules: Counter[str] = field(default_factory=Counter)  # windows on which a rule of the field alarms

    def within(self, share: float) -> float:
        """So many windows until this share of the streams has called."""
        return float(np.quantile(self.delays, share, method="inverted_cdf"))


def drift(options: Options) -> Measured:
    """False calls, delays, and the power of paired and labelled comparisons."""
    result = Measured("drift", "Drift monitors: false calls, and windows until a change is found", "none", 1)
    streams, length = (8, 200) if options.quick else (100, 500)
    _quiet(result, streams, length)
    _found(result, 10 if options.quick else 40)
    drift_labels.measure(result, SEED, quick=options.quick)
    result.settings["thresholds"] = {name: getattr(WINDOWS, name) for name in WINDOWS.__slots__}
    result.notes.append(f"seeds are drawn by {FIXED[:12]}, {_standing()}")
    result.notes.append(
        "always-fire: a false call in every window, every change found in 1; never-fire: no false call, nothing found"
    )
    drift_recording.measure(result, quick=options.quick)
    for key in ("faults_missed", "released_after_fault"):
        result.skip(key, "sentinels and rollback are not built yet")
    return result


def _quiet(result: Measured, streams: int, length: int) -> None:
    """Where nothing happened, and where the laboratories' mix alone moves."""
    few = max(2, streams // 5)
    cases = {
        "null": (streams, _LARGE, Change()),
        "null_small": (few, _SMALL, Change()),
        "weekday": (few, _LARGE, Change(weekend=0.1)),
        "wander": (few, _LARGE, Change(wander=0.05)),
        "wander_twice": (few, _LARGE, Change(wander=0.1)),
        "replay": (few, _LARGE, Change()),
    }
    for place, (name, (number, size, change)) in enumerate(cases.items()):
        seen = _followed(name, number, size, length, change, 1000 * place)
        result.figures[f"{name}_windows"] = seen.windows
        result.figures[f"{name}_calls"] = seen.calls
        result.figures[f"{name}_notes"] = seen.notes
        if name in ("null", "null_small", "wander"):
            for rule, alarms in sorted(seen.rules.items()):
                result.bars.append(Bar(f"{name}: {rule}", 100 * alarms / seen.windows, "% of windows alarm"))
        result.bars.append(Bar(f"{name}: ours", 100 * seen.calls / seen.windows, f"% of {seen.windows:,} windows call"))
    result.figures["false_pages"] = result.figures["null_calls"]
    result.figures["false_pages_at_most"] = 3 / result.figures["null_windows"] if not result.figures["null_calls"] else np.nan
    result.figures["wander_rate"] = result.figures["wander_calls"] / result.figures["wander_windows"]


def _found(result: Measured, streams: int) -> None:
    """Where something did."""
    cases = {
        **{f"shift_{tenths}": (_LARGE, Change(shift=tenths / 10, since=_LEARN + _BEFORE)) for tenths in (1, 2, 3, 5)},
        **{f"shift_{tenths}_small": (_SMALL, Change(shift=tenths / 10, since=_LEARN + _BEFORE)) for tenths in (2, 3, 5)},
        **{
            f"shift_{tenths}_wander": (_LARGE, Change(shift=tenths / 10, wander=0.05, since=_LEARN + _BEFORE))
            for tenths in (2, 3, 5)
        },
        "shift_2_young": (_LARGE, Change(shift=0.2, since=_LEARN + _YOUNG)),
        "spread_13": (_LARGE, Change(spread=1.3, since=_LEARN + _BEFORE)),
    }
    for place, (name, (size, change)) in enumerate(cases.items()):
        length = (change.since or 0) - _LEARN + _AFTER
        seen = _followed(name, streams, size, length, change, 100_000 + 1000 * place)
        found = float(np.mean(np.isfinite(seen.delays)))
        result.figures[f"{name}_found"] = found
        if np.isfinite(seen.within(0.9)):
            result.figures[f"{name}_windows_p90"] = seen.within(0.9)
        result.bars.append(Bar(name.replace("_", " "), 100 * found, f"% of {streams} streams call within {_AFTER} windows"))
    if "shift_2_windows_p90" in result.figures:
        result.figures["shift_windows_p90"] = result.figures["shift_2_windows_p90"]


def _followed(name: str, streams: int, size: int, length: int, change: Change, seed: int) -> Seen:
    seen = Seen()
    for number in counted(f"{name}, {streams} streams", range(streams), streams):
        make = Replayed if name == "replay" else Simulated
        world = make(SEED + seed + number)
        _one(seen, world, f"{name} {number}", size, length, change)
    return seen


def _one(seen: Seen, world: Simulated | Replayed, name: str, size: int, length: int, change: Change) -> None:
    stream = Stream.begun(tuple(world.reference.tolist()))
    since = change.since
    for place, window in enumerate(world.windows(name, size, _LEARN + length, change)):
        stream = stream.step(window)
        if place < _LEARN:
            continue
        called = stream.light in _CALLS
        if since is not None and place >= since:
            if called:
                seen.delays.append(place - since + 1)
                return
            continue
        seen.windows += 1
        seen.calls += called
        seen.notes += stream.light is Light.MOVED
        _field(seen, window.counts, stream.reference, world.edges)
        if called:
            stream = stream.restarted()
    if since is not None:
        seen.delays.append(np.inf)


def _field(seen: Seen, counts: tuple[int, ...], reference: tuple[int, ...], edges: measures.Reals) -> None:
    """What the rules of thumb of the field say of the same window."""
    size, frozen = sum(counts), sum(reference)
    distance = measures.kolmogorov_smirnov(counts, reference)
    scaled = distance * np.sqrt(size * frozen / (size + frozen))
    chance = 2 * sum((-1) ** (k - 1) * np.exp(-2 * (k * scaled) ** 2) for k in range(1, 30)) if scaled > 0.3 else 1.0
    seen.rules["Kolmogorov-Smirnov, p < 0.05"] += bool(chance < 0.05)
    stability = measures.population_stability(counts, reference)
    seen.rules["PSI > 0.1"] += stability > 0.1
    seen.rules["PSI above chance (99 %)"] += stability > measures.stability_of_chance(counts, reference)


def _standing() -> str:
    """Whether the thresholds are still those the seeds were drawn after."""
    git = ("git", "-C", str(ROOT), "log", "-1", "--format=%H", "--", "platform/drift/thresholds.py")
    last = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    if not last:
        return "and whether the thresholds changed since cannot be seen without the repository's history"
    return (
        "which fixed the thresholds; they have not changed since" if last == FIXED else f"BUT the thresholds changed in {last[:12]}"
    )
