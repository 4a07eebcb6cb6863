"""The thread that hears what becomes of jobs in work: promoted, demoted, put on hold, cancelled.

A trigger notifies with the commit that changes the row of a running job; the rows say what is asked. What was notified while nobody
listened is seen at the next look, which comes every two seconds in any case.
"""

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog
from django.db import connection
from psycopg import Error as DriverError

from engine_queue.models import Job
from engine_queue.units import AWAY, unit

log = structlog.get_logger(__name__)

CHANNEL = "engine_queue_wish"
PERIOD_SECONDS = 2.0


@dataclass(frozen=True)
class Wish:
    """What the row of a running job asks for."""

    job_id: int
    rank: int
    held: bool
    cancelled: bool


class Heeds(Protocol):
    """What the listener asks of a worker (`crew.Crew`)."""

    def held(self) -> Collection[int]:
        """Ids of the jobs in work."""

    def heed(self, wishes: Sequence[Wish]) -> None:
        """Do what is asked; what was done already is nothing new."""


class Listener(threading.Thread):
    """Owns a connection. `heed` is one look, which the feeders take too, each on its own connection."""

    def __init__(self, crew: Heeds, owner: str) -> None:
        super().__init__(name="listener", daemon=True)
        self._crew, self._owner = crew, owner
        self._one_at_a_time = threading.Lock()  # an older reading must not be heeded after a newer one
        self._stop_event = threading.Event()
        self.listens = False

    def run(self) -> None:
        """Look at every notification and every other second until stopped."""
        while not self._stop_event.is_set():
            try:
                with unit():
                    self._listen()
                    self.heed()
                    self._await()
            except (*AWAY, DriverError) as error:
                log.warning("listener.database_away", error=type(error).__name__)
                self.listens = False
                self._stop_event.wait(1.0)
            except Exception:  # process edge: without this thread running jobs would hear of a change with their next renewal only
                log.exception("listener.failed")
                self._stop_event.wait(1.0)

    def stop(self) -> None:
        """End within a turn, or with the process."""
        self._stop_event.set()

    def heed(self) -> None:
        """Read what is asked of the jobs in work, and have it done."""
        with self._one_at_a_time:
            if self._crew.held():
                running = Job.objects.filter(state="running", lease_owner=self._owner)
                rows = running.values_list("pk", "rank", "held", "cancel_requested")
                self._crew.heed([Wish(*row) for row in rows])

    def _listen(self) -> None:
        if not self.listens or connection.connection is None:
            with connection.cursor() as cursor:
                cursor.execute(f"LISTEN {CHANNEL}")
            self.listens = True

    def _await(self) -> None:
        """Until this worker is meant, or it is time to look again."""
        for told in connection.connection.notifies(timeout=PERIOD_SECONDS):
            if told.payload == self._owner:
                return
