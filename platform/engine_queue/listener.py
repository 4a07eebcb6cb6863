"""The thread that hears what becomes of jobs in work: promoted, demoted, put on hold, cancelled.

A trigger notifies with the commit that changes the row of a running job; the rows say what is asked. What was notified while nobody
listened is seen at the next look, which comes every two seconds in any case.
"""

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import psycopg
import structlog
from django.db import connection

from engine_queue.models import Job
from engine_queue.units import AWAY, own_connection, unit

log = structlog.get_logger(__name__)

CHANNEL = "engine_queue_wish"
PERIOD_SECONDS = 2.0


@dataclass(frozen=True)
class Wish:
    """What the row of a running job asks for."""

    job_id: int
    rank: int
    due: float  # seconds since 1970
    held: bool
    cancelled: bool


class Heeds(Protocol):
    """What the listener asks of a worker (`crew.Crew`)."""

    def held(self) -> Collection[int]:
        """Ids of the jobs in work."""

    def heed(self, wishes: Sequence[Wish]) -> None:
        """Do what is asked; what was done already is nothing new."""


class Listener(threading.Thread):
    """Owns a connection, and a line that it hears on. `heed` is one look, which the feeders take too, each on its own connection.

    Nothing else is asked on the line: a notification that came with the answer would lie unread in the driver.
    """

    def __init__(self, crew: Heeds, owner: str) -> None:
        super().__init__(name="listener", daemon=True)
        self._crew, self._owner = crew, owner
        self._one_at_a_time = threading.Lock()  # an older reading must not be heeded after a newer one
        self._stop_event = threading.Event()
        self._line: psycopg.Connection | None = None

    @property
    def listens(self) -> bool:
        """Whether a notification would be heard now."""
        return self._line is not None and not self._line.closed

    @own_connection
    def run(self) -> None:
        """Look at every notification and every other second until stopped."""
        while not self._stop_event.is_set():
            try:
                line = self._line if self._line is not None and not self._line.closed else self._listen()
                with unit():
                    self.heed()
                self._await(line)
            except (*AWAY, psycopg.Error) as error:
                log.warning("listener.database_away", error=type(error).__name__)
                self._hang_up()
                self._stop_event.wait(1.0)
            except Exception:  # process edge: without this thread running jobs would hear of a change with their next renewal only
                log.exception("listener.failed")
                self._stop_event.wait(1.0)
        self._hang_up()

    def stop(self) -> None:
        """End within a turn, or with the process."""
        self._stop_event.set()

    def heed(self) -> None:
        """Read what is asked of the jobs in work, and have it done."""
        with self._one_at_a_time:
            if self._crew.held():
                running = Job.objects.filter(state="running", lease_owner=self._owner)
                rows = running.values_list("pk", "rank", "due_at", "held", "cancel_requested")
                self._crew.heed([Wish(job, rank, due.timestamp(), *asked) for job, rank, due, *asked in rows])

    def _listen(self) -> psycopg.Connection:
        self._line = psycopg.connect(**connection.get_connection_params(), autocommit=True)
        self._line.execute(f"LISTEN {CHANNEL}")
        return self._line

    def _await(self, line: psycopg.Connection) -> None:
        """Until this worker is meant, or it is time to look again."""
        for told in line.notifies(timeout=PERIOD_SECONDS):
            if told.payload == self._owner:
                return

    def _hang_up(self) -> None:
        if self._line is not None:
            self._line.close()
