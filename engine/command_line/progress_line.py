"""How far a command has come: one line that a terminal writes over again, or now and then a line of its own in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

EVERY = 0.5  # seconds, on a terminal
EVERY_LOGGED = 10.0  # seconds, where every line stays
_CLEAR = "\r\x1b[K"


class ProgressLine:
    """Written where somebody watches: on a terminal, or anywhere with `shown` True; nowhere with `shown` False.

    `look` is cheap and may be called after every step; `close` takes the line away.
    """

    def __init__(
        self, shown: bool | None = None, *, stream: TextIO | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream, self._monotonic = stream or sys.stderr, monotonic
        self._terminal = self._stream.isatty()
        self.shown = self._terminal if shown is None else shown
        self._every = EVERY if self._terminal else EVERY_LOGGED
        self._began = monotonic()
        self._due = self._began + self._every

    @property
    def ran(self) -> float:
        """Seconds since it was made."""
        return self._monotonic() - self._began

    def look(self, words: Callable[[float], str]) -> None:
        """Write `words(seconds since it was made)` when it is time."""
        if not self.shown or (now := self._monotonic()) < self._due:
            return
        self._due = now + self._every
        said = words(now - self._began)
        self._stream.write(f"{_CLEAR}{said}" if self._terminal else f"{said}\n")
        self._stream.flush()

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self.shown and self._terminal:
            self._stream.write(_CLEAR)
            self._stream.flush()


def left(ran: float, share: float) -> str:
    """The time left when `share` of the work took `ran` seconds, as the end of a sentence; blank before anything is known."""
    return f", about {duration(ran * (1 - share) / share)} left" if share > 0 else ""


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
