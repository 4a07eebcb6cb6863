"""Several engines in one process compute one step at a time: whose turn it is.

Each engine keeps its thread, and its thread asks for a turn before every step. STAT goes first: a pass of another engine is told
to stop after its layer, and goes on from there when it has the turn again. The classes below go in order, but nobody is passed over
more than `PATIENCE` times in succession. Within a class the turns share the time, and not the steps: whoever computes long steps
has fewer of them (start-time fair queueing; Goyal, Vin and Cheng, 1996). Time of STAT is charged to nobody.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from engine.request import Priority

PATIENCE = 16  # turns of higher classes below STAT that one may have to wait through
LIMIT = 15.0  # seconds; a step that takes longer hangs, and the others go on beside it


class Seat:
    """One engine's place at `Turns`. `interrupt` tells its pass to stop after the layer; any thread may call it."""

    def __init__(self, turns: Turns, interrupt: Callable[[], None]) -> None:
        self._turns, self.interrupt = turns, interrupt
        self.asks: Priority | None = None  # the class of what it would compute; None: it does not wait
        self.priority = Priority.ROUTINE  # of the turn it has
        self.tag = 0.0  # share of time it has had: seconds on a clock that only turns below STAT move
        self.passed = 0

    @contextmanager
    def turn(self, wants: Callable[[], Priority | None]) -> Iterator[None]:
        """Compute one step when nobody goes before. `wants` says before and after which class comes next; None: nothing does."""
        self._turns.take(self, wants() or Priority.STAT)
        try:
            yield
        except BaseException:
            self._turns.leave(self)
            raise
        self._turns.give_back(self, wants())

    def leave(self) -> None:
        """Want no turn any more."""
        self._turns.leave(self)

    def urge(self) -> None:
        """STAT came while it waits for its turn."""
        self._turns.urge(self)

    @property
    def contested(self) -> bool:
        """Whether STAT of another engine waits for the turn that this one has."""
        return self._turns.contested(self)


class Turns:
    """The turns of all engines of a process. `clock` counts seconds."""

    def __init__(self, *, limit: float = LIMIT, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock = limit, clock
        self._changed = threading.Condition()
        self._seats: list[Seat] = []  # of those who wait
        self._holder: Seat | None = None
        self._began = self._now = 0.0  # of the turn; the tag with which the last turn below STAT began

    def seat(self, interrupt: Callable[[], None]) -> Seat:
        """A place for one more engine."""
        return Seat(self, interrupt)

    def take(self, seat: Seat, priority: Priority) -> None:
        """Wait until it is this seat's turn."""
        with self._changed:
            self._ask(seat, priority)
            while self._holder is not seat:
                self._changed.wait(self._left())
                self._grant()

    def give_back(self, seat: Seat, again: Priority | None) -> None:
        """The step has ended. Who wants another asks at once: between two steps of STAT nobody else begins a pass."""
        with self._changed:
            if self._holder is seat:
                self._end()
            if again is not None:
                self._ask(seat, again)
            self._grant()

    def leave(self, seat: Seat) -> None:
        """It has no next step, or has failed."""
        with self._changed:
            if self._holder is seat:
                self._end()
            if seat in self._seats:
                self._seats.remove(seat)
            seat.asks = None
            self._grant()

    def urge(self, seat: Seat) -> None:
        """What waits for this seat's turn is STAT from now on; nothing happens for one that does not wait."""
        with self._changed:
            if seat.asks is not None:
                seat.asks = Priority.STAT
                self._call_off()

    def contested(self, seat: Seat) -> bool:
        """Whether this seat's turn is below STAT and STAT waits for it."""
        with self._changed:
            return self._holder is seat and seat.priority > Priority.STAT and self._stat_waits()

    def _ask(self, seat: Seat, priority: Priority) -> None:
        if self._holder is seat:  # given to it since it asked
            return
        if seat.asks is None:
            seat.tag = max(seat.tag, self._now)
            self._seats.append(seat)
        seat.asks = priority
        self._call_off()
        self._grant()

    def _stat_waits(self) -> bool:
        return any(seat.asks is Priority.STAT for seat in self._seats)

    def _call_off(self) -> None:
        """Tell a pass below STAT to stop after its layer when STAT waits."""
        holder = self._holder
        if holder is not None and holder.priority > Priority.STAT and self._stat_waits():
            holder.interrupt()

    def _left(self) -> float | None:
        """Seconds until the present turn counts as one that hangs."""
        return None if self._holder is None else max(0.0, self._began + self._limit - self._clock())

    def _grant(self) -> None:
        if not self._seats or (self._holder is not None and self._left()):
            return
        if self._holder is not None:
            self._end()
        chosen = min(self._seats, key=_before)
        self._seats.remove(chosen)
        chosen.priority, chosen.asks, chosen.passed = chosen.asks or Priority.STAT, None, 0
        if chosen.priority > Priority.STAT:
            self._now = max(self._now, chosen.tag)
            for seat in self._seats:
                seat.passed += (seat.asks or Priority.STAT) > chosen.priority
        self._holder, self._began = chosen, self._clock()
        self._changed.notify_all()

    def _end(self) -> None:
        if self._holder is not None and self._holder.priority > Priority.STAT:
            self._holder.tag += max(0.0, self._clock() - self._began)
        self._holder = None


def _before(seat: Seat) -> tuple[bool, bool, Priority, float]:
    asks = seat.asks or Priority.STAT
    return asks > Priority.STAT, seat.passed < PATIENCE, asks, seat.tag
