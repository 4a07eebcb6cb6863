"""The thread that writes outcomes. When the database is away they wait here, until they are committed or fenced."""

import heapq
import itertools
import threading
from collections.abc import Callable

import structlog

from engine_queue import settling
from engine_queue.units import AWAY, own_connection, unit
from engine_queue.work import Outcome

log = structlog.get_logger(__name__)

BUFFER = 64  # outcomes that may wait; past it the worker takes no new work
REFUSALS = 3  # times an outcome may fail for another reason than an absent database
_PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0)


class Finisher(threading.Thread):
    """Most urgent first, one at a time, on a connection of its own. `put` never blocks: the engine's thread calls it."""

    def __init__(
        self, *, name: str = "finisher", buffer: int = BUFFER, settle: Callable[[Outcome], bool] = settling.settle
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._buffer, self._settle = buffer, settle
        self._waiting: list[tuple[int, int, Outcome]] = []
        self._order = itertools.count()
        self._busy = False
        self._ended = False
        self._changed = threading.Condition()

    @property
    def full(self) -> bool:
        """Whether so much waits to be written that nothing new may be taken."""
        return len(self._waiting) >= self._buffer

    @property
    def waiting(self) -> int:
        """Outcomes not yet written."""
        return len(self._waiting) + self._busy

    def put(self, outcome: Outcome) -> None:
        """Hand over an outcome to be written."""
        with self._changed:
            heapq.heappush(self._waiting, (outcome.claimed.rank, next(self._order), outcome))
            self._changed.notify_all()

    def flush(self, timeout: float) -> bool:
        """Wait until everything is written; False when time ran out first."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, timeout)

    def stop(self) -> None:
        """End after the present outcome; what still waits is lost here and found again by its lease."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        if self.is_alive():
            self.join(2)

    @own_connection
    def run(self) -> None:
        """Write outcomes until stopped."""
        while (outcome := self._next()) is not None:
            self._write(outcome)
            with self._changed:
                self._busy = False
                self._changed.notify_all()

    def _next(self) -> Outcome | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended)
            if self._ended:
                return None
            self._busy = True
            return heapq.heappop(self._waiting)[2]

    def _write(self, outcome: Outcome) -> None:
        """Until it is committed or fenced. A commit whose answer was lost is found fenced by the next try."""
        tries = refusals = 0
        while not self._ended:
            try:
                with unit():
                    committed = self._settle(outcome) if refusals < REFUSALS else self._refuse(outcome)
            except AWAY as error:
                self._say("finisher.database_away", outcome, error)
            except Exception as error:  # noqa: BLE001 -- the edge: a result that cannot be written must not end the thread
                self._say("finisher.refused", outcome, error)
                refusals += 1
                if refusals > REFUSALS:
                    break
            else:
                if not committed:
                    log.warning("finisher.fenced", job=outcome.claimed.job_id, attempt=outcome.claimed.attempt)
                break
            self._pause(tries)
            tries += 1
        else:
            return
        outcome.settle()

    def _refuse(self, outcome: Outcome) -> bool:
        settling.refuse(outcome)
        return True

    def _pause(self, tries: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._ended, _PAUSES[min(tries, len(_PAUSES) - 1)])

    def _say(self, event: str, outcome: Outcome, error: Exception) -> None:
        log.warning(event, job=outcome.claimed.job_id, attempt=outcome.claimed.attempt, error=type(error).__name__)
