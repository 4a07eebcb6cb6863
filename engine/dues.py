"""By when STAT shall have ended. Who waits goes in the order of these times (`engine.waiting`); here is whether somebody would miss
his at the present pace, so that whoever runs beside STAT has to pause.

A time that has passed changes nothing: who is late stays before those who are due later, and lower work pauses until it has ended.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeGuard

from engine.config import EngineConfig
from engine.request import Priority, State
from engine.sequence import Sequence

_MEMORY = 16  # steps with STAT over which their length is averaged


def is_due(due: object) -> TypeGuard[float]:
    """Whether something is a time by which a request can be due."""
    return isinstance(due, int | float) and not math.isnan(due)


class Dues:
    """Times are those that `schedule` is given. Nothing is looked at where nobody has a due time."""

    def __init__(self, config: EngineConfig, clock: Callable[[], float]) -> None:
        self._chunk, self._clock = config.chunk, clock
        self._open: dict[int, Sequence] = {}  # with a due time
        self._began: float | None = None  # when the step before began, if STAT ran in it
        self.lasts = 0.0  # seconds of a step in which STAT runs
        self.late = 0  # STAT requests that ended too late
        self.pressed = 0  # steps in which somebody would

    def add(self, sequence: Sequence) -> None:
        """One has come, with a due time or without."""
        if sequence.due < math.inf:
            self._open[sequence.handle] = sequence

    def drop(self, sequence: Sequence, state: State) -> None:
        """One has ended."""
        if self._open and self._open.pop(sequence.handle, None) is not None and state == "finished":
            self.late += sequence.priority is Priority.STAT and self._clock() > sequence.due

    def begin(self, now: float) -> None:
        """A step begins: how long did the last one take?"""
        if self._began is not None and now > self._began:
            seconds = now - self._began
            self.lasts = seconds if not self.lasts else self.lasts + (seconds - self.lasts) / _MEMORY
        self._began = None

    def dealt(self, now: float, *, stat: bool) -> None:
        """What it computes is known, and whether STAT is in it."""
        self._began = now if stat else None

    def pressing(self, now: float, running: Iterable[Sequence], waiting: Iterable[Sequence]) -> bool:
        """Whether one of STAT would end too late if its steps went on lasting as long. The first who waits begins when the first
        who runs has ended, the second with the second, and so on: lower work makes way at once and is not what they wait for.
        """
        if not self._open:
            return False
        runs = sorted((self._steps(one), one.due) for one in running)
        found = any(self._too_late(now, steps, due) for steps, due in runs)
        for place, one in enumerate(() if found else waiting):
            before = runs[min(place, len(runs) - 1)][0] if runs else 0
            found = found or self._too_late(now, before + self._steps(one), one.due)
        self.pressed += found
        return found

    def _too_late(self, now: float, steps: int, due: float) -> bool:
        return due < math.inf and now + steps * self.lasts > due

    def _steps(self, one: Sequence) -> int:
        """That it takes at least. After a trunk come its alternates."""
        computed = one.computed if one.swapped is None else one.swapped.computed
        chunks = -(-max(0, one.target - computed) // self._chunk)
        return chunks + (1 if one.handle < 0 else max(0, one.need - one.target))
