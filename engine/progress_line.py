"""How far a command has come, as one line that is written over again; nothing where nobody watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from typing import TextIO

EVERY = 0.5  # seconds
_CLEAR = "\r\x1b[K"


class ProgressLine:
    """`progress` says for a request how many positions are computed and how many are wanted, None when it has ended.

    `look` is cheap and may be called after every step; `close` takes the line away.
    """

    def __init__(
        self,
        progress: Callable[[int], tuple[int, int] | None],
        handles: Iterable[int],
        *,
        stream: TextIO = sys.stderr,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._progress, self._stream, self._monotonic = progress, stream, monotonic
        self._watched = stream.isatty()
        self._wanted = {handle: found[1] for handle in handles if (found := progress(handle)) is not None} if self._watched else {}
        self._began = monotonic()
        self._due = self._began + EVERY

    def look(self) -> None:
        """Write the line when it is time."""
        now = self._monotonic()
        if not self._watched or now < self._due:
            return
        self._due = now + EVERY
        states = {handle: self._progress(handle) or (wanted, wanted) for handle, wanted in self._wanted.items()}
        done, whole = (sum(state[part] for state in states.values()) for part in (0, 1))
        ran = now - self._began
        left = f", about {_duration(ran * (whole - done) / done)} left" if done else ""
        share = done / whole if whole else 0.0
        self._stream.write(f"{_CLEAR}{done:,} of {whole:,} tokens ({share:.0%}) after {_duration(ran)}{left}")
        self._stream.flush()

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._watched:
            self._stream.write(_CLEAR)
            self._stream.flush()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
