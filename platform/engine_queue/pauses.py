"""The pauses of Python's garbage collector, in which no thread of a worker does anything.

A full collection looks at everything that a process holds. With torch, Django and an engine that takes 0.17 s (Zen 5), comes every
few seconds under load, and is longer than all else on the way of a decision to what runs. What is there for good is therefore set
aside when a worker is ready, and again when its engines have changed.
"""

import gc
import time
from collections.abc import Mapping


class Pauses:
    """Those of this process, once it is ready. `longest` in seconds, since what is there for good was set aside."""

    def __init__(self) -> None:
        self.longest, self.set_aside = 0.0, 0
        self._began, self._watched = 0.0, False

    def watch(self) -> None:
        """This process is a worker, and ready."""
        self._watched = True
        gc.callbacks.append(self._tell)
        self.settle()

    def settle(self) -> None:
        """Set aside what is there now, but for what nobody holds any more. Nothing where nobody watches."""
        if self._watched:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            self.set_aside, self.longest = gc.get_freeze_count(), 0.0

    def stats(self) -> dict[str, float]:
        """Figures for operators."""
        return {"longest_pause": round(self.longest, 4), "set_aside": self.set_aside}

    def _tell(self, phase: str, _info: Mapping[str, int]) -> None:
        now = time.perf_counter()
        if phase == "start":
            self._began = now
        else:
            self.longest = max(self.longest, now - self._began)
