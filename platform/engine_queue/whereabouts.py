"""Where a job is in the engine, made from where its requests are; and where an order is, made from its jobs. Pure functions.

A whole stands still while a part of it does for more urgent work and no other part runs. Times are seconds since 1970.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

SHORTEST = 0.01  # seconds: what is between two steps of the engine is no pause
KEPT = 50  # pauses of one job that are remembered, the latest

State = Literal["waiting", "running", "paused"]


@dataclass(frozen=True)
class Pause:
    """A time in which nothing moved because of more urgent work."""

    how: str  # frozen | evicted | swapped
    since: float
    until: float | None = None  # None: it goes on


@dataclass(frozen=True)
class Part:
    """One of several things that are computed beside each other."""

    began: float | None  # None: not yet
    ended: float | None  # None: not yet
    pauses: Sequence[Pause] = ()


@dataclass(frozen=True)
class Whereabouts:
    """Of one job."""

    state: State
    began: float | None
    pauses: tuple[Pause, ...] = ()
    low: float | None = None  # when it ends, as the engine foresees it
    high: float | None = None
    ahead: int | None = None  # requests that the engine takes before the next one of a job of which none runs


def pauses_of(parts: Iterable[Part], now: float) -> tuple[Pause, ...]:
    """The pauses of a whole; one that lasts has no end."""
    marks: list[_Mark] = []
    lasts = False
    for part in parts:
        if part.began is not None:
            end = now if part.ended is None else part.ended
            marks += [_Mark(part.began, running=1), _Mark(end, running=-1)]
            for pause in part.pauses:
                lasts = lasts or (pause.until is None and part.ended is None)
                since, until = max(pause.since, part.began), end if pause.until is None else min(pause.until, end)
                if since < until:
                    marks += [_Mark(since, running=-1, paused=1, how=pause.how), _Mark(until, running=1, paused=-1)]
    found = _stretches(marks)
    last = found.pop() if lasts and found and found[-1].until == now else None
    told = [one for one in found if one.until is not None and one.until - one.since >= SHORTEST]
    return (*told, *([Pause(last.how, last.since)] if last else []))[-KEPT:]


@dataclass(frozen=True)
class _Mark:
    at: float
    running: int  # change of how many run
    paused: int = 0  # change of how many pause
    how: str = ""


def _stretches(marks: Sequence[_Mark]) -> list[Pause]:
    """Where nothing runs and something pauses."""
    found: list[Pause] = []
    running = paused = 0
    since: float | None = None
    how = ""
    for at, together in groupby(sorted(marks, key=lambda mark: mark.at), key=lambda mark: mark.at):
        for mark in together:
            running, paused, how = running + mark.running, paused + mark.paused, mark.how or how
        still = running <= 0 < paused
        if still and since is None:
            since = at
        elif not still and since is not None:
            found.append(Pause(how, since, at))
            since = None
    return found
