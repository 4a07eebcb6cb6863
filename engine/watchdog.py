"""Notices a step that does not end, while it is not ending."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)


class Watchdog:
    """`begin` and `end` belong to the engine's thread; everything else may be asked from any.

    `limit` is in seconds of `clock`. `doing` says what the step computes; it is asked only when the step takes too long.
    """

    def __init__(self, limit: float, doing: Callable[[], str], clock: Callable[[], float] = time.monotonic) -> None:
        self.limit, self._doing, self._clock = limit, doing, clock
        self.trips = 0  # steps that took longer than the limit
        self._lock = threading.Lock()
        self._step: int | None = None
        self._began = 0.0
        self._tripped = False

    @property
    def complaint(self) -> str:
        """What is wrong with the step that is being computed; blank: nothing."""
        with self._lock:
            return self._late()

    def begin(self, step: int) -> None:
        """A step begins."""
        with self._lock:
            self._step, self._began, self._tripped = step, self._clock(), False

    def end(self) -> None:
        """The step has ended, or raised."""
        self.look()  # one that nobody looked at in time is counted all the same
        with self._lock:
            step, self._step = self._step, None
            late, ran = self._tripped, self._clock() - self._began
        if late:
            log.warning("step %s ended after %.1f s, the engine serves again", step, ran, extra={"event": "step_ended_late"})

    def look(self) -> None:
        """Say once a step that it takes too long."""
        with self._lock:  # looked and noted at once: the next step may begin at any time, and is not to blame for this one
            complaint = "" if self._tripped else self._late()
            self._tripped = self._tripped or bool(complaint)
            self.trips += bool(complaint)
        if complaint:
            log.critical("%s, more than %g s: %s", complaint, self.limit, self._doing(), extra={"event": "step_overdue"})

    def _late(self) -> str:
        running = self._clock() - self._began
        return f"step {self._step} has run for {running:.0f} s" if self._step is not None and running > self.limit else ""
