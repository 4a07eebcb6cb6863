"""The thread that says where the jobs of a worker are in its engines: one UPDATE for all of them, once a second at most.

Two numbers are looked at ten times a second; a job that pauses or goes on is written at once. A job whose row is locked, because
its results are being written at this moment, is left out.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

import structlog
from django.db import connection, transaction

from engine_queue import outcomes
from engine_queue.models import Run
from engine_queue.outcomes import Fact
from engine_queue.units import AWAY, own_connection, unit
from engine_queue.whereabouts import Pause, Whereabouts
from engine_queue.work import Claimed

log = structlog.get_logger(__name__)

LOOK_SECONDS = 0.1
PERIOD_SECONDS = 1.0
FRESH_SECONDS = 10.0  # after which nobody should rely on what was said
STOP_SECONDS = 2.0

# What former attempts said of their pauses stays.
_SAY = """
    UPDATE engine_queue_job AS job SET
        engine_state = said.state, began_at = to_timestamp(said.began), finish_low = to_timestamp(said.low),
        finish_high = to_timestamp(said.high), engine_ahead = said.ahead, reported_at = clock_timestamp(),
        pauses = coalesce((SELECT jsonb_agg(one) FROM jsonb_array_elements(job.pauses) AS one
                           WHERE (one ->> 'attempt')::int <> said.attempt), '[]') || said.pauses
    FROM jsonb_to_recordset(%(said)s::jsonb)
        AS said(job bigint, attempt int, state text, began float8, low float8, high float8, ahead int, pauses jsonb)
    WHERE job.id = said.job AND job.attempt = said.attempt AND job.id IN (
        SELECT id FROM engine_queue_job WHERE id = ANY(%(jobs)s) AND lease_owner = %(owner)s AND state = 'running'
        ORDER BY id FOR UPDATE SKIP LOCKED)
    RETURNING job.id
"""

Told = Mapping[int, tuple[Claimed, Whereabouts]]


class Engines(Protocol):
    """What the reporter asks of the host."""

    def shifts(self) -> int:
        """A number that changes whenever something gives way to STAT."""

    def whereabouts(self) -> Told:
        """Every job in work, by its id."""


class Reporter(threading.Thread):
    """`look` is one turn, so that tests need no waiting."""

    def __init__(self, engines: Engines, owner: str, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__(name="reporter", daemon=True)
        self._engines, self._owner, self._monotonic = engines, owner, monotonic
        self._said: dict[int, Whereabouts] = {}
        self._shifts = 0
        self._due = -float("inf")
        self._over = threading.Event()

    @own_connection
    def run(self) -> None:
        """Look until stopped."""
        while not self._over.wait(LOOK_SECONDS):
            try:
                with unit():
                    self.look()
            except AWAY as error:
                log.warning("reporter.database_away", error=type(error).__name__)
            except Exception:  # process edge: pages would go on without what is said here
                log.exception("reporter.failed")

    def stop(self) -> None:
        """End after the present turn."""
        self._over.set()
        if self.is_alive():
            self.join(STOP_SECONDS)

    def look(self) -> int:
        """Write what is worth being written now; how many jobs that were."""
        now, shifts = self._monotonic(), self._engines.shifts()
        due = now >= self._due
        if not due and shifts == self._shifts and not any(one.state == "paused" for one in self._said.values()):
            return 0
        told, self._shifts = self._engines.whereabouts(), shifts
        moved = {job for job, (_, found) in told.items() if _moved(found, self._said.get(job))}
        if not due and not moved:
            return 0
        self._due = now + PERIOD_SECONDS
        written = self._write(told, moved) if told else set()
        self._said = {job: found for job, (_, found) in told.items() if job in written}
        return len(written)

    def _write(self, told: Told, moved: set[int]) -> set[int]:
        said = json.dumps([_row(claimed, found) for claimed, found in told.values()])
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(_SAY, {"said": said, "jobs": list(told), "owner": self._owner})
                written = {job for (job,) in cursor.fetchall()}
            runs = {told[job][0].run_id for job in moved & written}
            for run in Run.objects.filter(pk__in=runs) if runs else ():
                outcomes.report(Fact("moved", run))
        return written


def pauses_row(attempt: int, pauses: Sequence[Pause]) -> list[dict[str, Any]]:
    """Pauses as a job's column holds them."""
    return [{"attempt": attempt, **asdict(pause)} for pause in pauses]


def _row(claimed: Claimed, found: Whereabouts) -> dict[str, Any]:
    plain = {name: getattr(found, name) for name in ("state", "began", "low", "high", "ahead")}
    return {"job": claimed.job_id, "attempt": claimed.attempt, **plain, "pauses": pauses_row(claimed.attempt, found.pauses)}


def _moved(found: Whereabouts, before: Whereabouts | None) -> bool:
    """Whether a page would say something else than times."""
    return before is None or (found.state, found.pauses) != (before.state, before.pauses)
