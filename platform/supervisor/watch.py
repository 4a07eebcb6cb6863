"""Starts processes again that died, and gives up, loudly, on one that keeps dying."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from supervisor.child import Child
from supervisor.errors import ProcessError
from supervisor.progress import say

FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 15.0
# a process that lived this long has recovered: the next death counts as the first again
HEALTHY_AFTER_S = 30.0
MOST_DEATHS = 6


@dataclass
class Watched:
    """One process that has to run."""

    name: str
    start: Callable[[], Child]
    clock: Callable[[], float] = time.monotonic
    child: Child | None = field(default=None, init=False)
    deaths: int = field(default=0, init=False)  # in a row
    started_at: float = field(default=0.0, init=False)
    start_again_at: float | None = field(default=None, init=False)

    def launch(self) -> None:
        self.start_again_at = None
        self.started_at = self.clock()
        self.child = self.start()

    def look(self) -> None:
        """Notice a death, or start again when its delay is over."""
        if self.start_again_at is not None:
            if self.clock() >= self.start_again_at:
                self.launch()
        elif self.child is not None and not self.child.running:
            self._died(self.child)

    def _died(self, child: Child) -> None:
        self.deaths = 1 if self.clock() - self.started_at >= HEALTHY_AFTER_S else self.deaths + 1
        if self.deaths >= MOST_DEATHS:
            story = f"{self.name} died {self.deaths} times in a row, last with {child.exit_status}"
            raise ProcessError(f"{story}; the end of {child.log}:\n{child.last_lines()}")
        delay = min(FIRST_DELAY_S * 2 ** (self.deaths - 1), LONGEST_DELAY_S)
        self.start_again_at = self.clock() + delay
        say(f"{self.name} ended with {child.exit_status}; it is started again in {delay:.1f} s (log: {child.log})")


def watch(everyone: Iterable[Watched], *, pause_s: float = 0.2) -> None:
    """Until an exception: a signal that asks to stop, or a process that is given up."""
    everyone = list(everyone)
    while True:
        for one in everyone:
            one.look()
        time.sleep(pause_s)
