"""Ours and theirs in alternation: the same work, answers compared before times, medians of what was timed."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks import machine
from benchmarks.measured import LATE, Bar, Measured, median
from benchmarks.peer import PeerFailed, PeerLate

OURS = "ours"
ROUNDS, QUICK_ROUNDS = 3, 1
NOISY = 0.1  # share of a core that others may use before it is said


@dataclass(frozen=True, slots=True)
class Run:
    """One pass over the work. `cores`: the seconds that all cores worked for it, which other programs hardly change."""

    seconds: float
    answers: Sequence[Any]
    cores: float = 0.0


Contestant = Callable[[float], Run]  # given the seconds after which it may stop with PeerLate
Complaint = Callable[[str, Sequence[Any], Sequence[Any]], str]  # name, ours, theirs: what is wrong, or nothing


@dataclass(slots=True)
class Times:
    """What came of one contestant."""

    seconds: list[float] = field(default_factory=list)
    cores: list[float] = field(default_factory=list)
    late: bool = False
    fault: str = ""

    @property
    def median(self) -> float:
        """Seconds."""
        return median(self.seconds)


@dataclass(slots=True)
class Comparison:
    """All contestants of one workload; `ours` is among them."""

    times: dict[str, Times]
    others: float  # cores that other programs kept busy meanwhile, peers excluded while they answered

    def ratio(self, name: str) -> float:
        """Their time over ours: above 1, ours is faster."""
        theirs = self.times[name]
        return LATE if theirs.late else theirs.median / self.times[OURS].median

    def measured(self, name: str) -> bool:
        """Whether there is a ratio."""
        return name in self.times and not self.times[name].fault


def alternate(contestants: Mapping[str, Contestant], rounds: int, complaint: Complaint) -> Comparison:
    """Ours, theirs, ours, theirs … `rounds` times; `contestants` begins with ours.

    In the first round a contestant's answers are held against ours before its time counts. Who answers wrongly, fails, or has not
    finished in LATE times our time is not asked again.
    """
    times = {name: Times() for name in contestants}
    answers: Sequence[Any] = ()
    others = 0.0
    for number in range(rounds):
        gc.collect()
        for name, run in contestants.items():
            theirs = times[name]
            if theirs.fault or theirs.late:
                continue
            before = machine.busy()
            try:
                done = run(LATE * times[OURS].median if name != OURS else float("inf"))
            except PeerLate:
                theirs.late = True
                continue
            except PeerFailed as failure:
                theirs.fault = str(failure)
                continue
            after = machine.busy()
            if name == OURS:
                others = max(others, (after[0] - before[0] - (after[1] - before[1])) / done.seconds)
                answers = answers or done.answers
            elif number == 0:
                theirs.fault = complaint(name, answers, done.answers)
            theirs.seconds.append(done.seconds)
            theirs.cores.append(done.cores)
    return Comparison(times, max(0.0, others))


def same_bits(name: str, ours: Sequence[Any], theirs: Sequence[Any]) -> str:
    """The complaint of those who promise the same bits."""
    wrong = sum(mine != other for mine, other in zip(ours, theirs, strict=True))
    return f"{wrong} of {len(ours)} answers of {name} differ from ours" if wrong else ""


def report(result: Measured, found: Comparison, amount: float, unit: str) -> None:
    """Bars of everybody's median rate (`amount` over seconds), and a sentence for each without one."""
    for name, times in found.times.items():
        if times.fault:
            result.notes.append(f"{name} is left out: {times.fault}")
            continue
        ratio = None if name == OURS else found.ratio(name)
        seconds = LATE * found.times[OURS].median if times.late else times.median
        cores = median(times.cores) if times.cores else 0.0
        result.bars.append(Bar(name, amount / seconds, unit, ratio, times.late, tuple(round(s, 3) for s in times.seconds), cores))
    if found.others > NOISY:
        result.notes.append(
            f"other programs kept up to {found.others:.1f} cores busy while ours was timed: the machine was not quiet"
        )


def best_peer(result: Measured, found: Comparison, names: Sequence[str], key: str) -> None:
    """The figure `key`: the ratio to the fastest of the peers that answered rightly."""
    ratios = {name: found.ratio(name) for name in names if found.measured(name)}
    if not names:
        return result.skip(key, "no peer takes part (`make bench-peers` installs them, --quick leaves them out)")
    if not ratios:
        return result.skip(key, "no peer gave right answers")
    fastest = min(ratios, key=lambda name: ratios[name])
    result.figures[key] = ratios[fastest]
    if found.times[fastest].late:
        result.late.append(key)
    return None
