"""Whether STAT would miss its due time at the present pace, so that whoever runs beside it has to pause."""

from __future__ import annotations

import math
from collections.abc import Iterable

from engine.config import EngineConfig
from engine.sequence import Sequence

_MEMORY = 16  # steps with STAT over which their length is averaged


class Dues:
    """Times are those that `schedule` is given. Nothing is looked at where nobody has a due time."""

    def __init__(self, config: EngineConfig) -> None:
        self._chunk = config.chunk
        self._open: dict[int, Sequence] = {}  # with a due time
        self._began: float | None = None  # when the step before began, if STAT ran in it
        self.lasts = 0.0  # seconds of a step in which STAT runs

    def add(self, sequence: Sequence) -> None:
        """One has come, with a due time or without."""
        if sequence.due < math.inf:
            self._open[sequence.handle] = sequence

    def drop(self, sequence: Sequence) -> None:
        """One has ended."""
        if self._open:
            self._open.pop(sequence.handle, None)

    def begin(self, now: float) -> None:
        """A step begins: how long did the last one take?"""
        if self._began is not None and now > self._began:
            seconds = now - self._began
            self.lasts = seconds if not self.lasts else self.lasts + (seconds - self.lasts) / _MEMORY
        self._began = None

    def dealt(self, now: float, *, stat: bool) -> None:
        """What it computes is known, and whether STAT is in it."""
        self._began = now if stat else None

    def pressing(self, now: float, stat: Iterable[Sequence]) -> bool:
        """Whether one of these would end too late if its steps went on lasting as long."""
        return bool(self._open) and any(now + self._steps(one) * self.lasts > one.due for one in stat if one.due < math.inf)

    def _steps(self, one: Sequence) -> int:
        return -(-max(0, one.target - one.computed) // self._chunk) + max(0, one.need - one.target)
