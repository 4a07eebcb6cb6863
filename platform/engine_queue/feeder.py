"""A thread that claims and prepares jobs for the tickets of one lane. STAT has its own: nothing routine is prepared before it."""

import threading
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

import structlog
from django.db.models import QuerySet

from engine_queue import claim, tickets
from engine_queue.claim import Locked, MustWait
from engine_queue.errors import ReferenceUnusable
from engine_queue.models import Job
from engine_queue.units import AWAY, own_connection, unit
from engine_queue.work import Held, Ticket
from foundation.reasons import Reason

if TYPE_CHECKING:
    from engine_queue.crew import Crew

log = structlog.get_logger(__name__)

PAUSE_SECONDS = 0.5  # after the database did not answer
LOCKED_SECONDS = 0.02  # until a row is looked at again that somebody is writing to


class Feeder(threading.Thread):
    """Everything that others may read is guarded by the crew's condition."""

    def __init__(self, crew: "Crew", *, stat: bool, places: int) -> None:
        super().__init__(name="stat-feeder" if stat else "feeder", daemon=True)
        self._crew, self.stat, self.places = crew, stat, places
        self.waiting: deque[Ticket] = deque()
        self.serving = False
        self.turns = 0  # tickets served
        self.preparing: int | None = None  # the job that is being planned: it can be stopped only afterwards
        self.stop_prepared = ""
        self.await_idle = False  # the best job has to run alone

    @own_connection
    def run(self) -> None:
        """Serve tickets until the crew ends."""
        while (ticket := self._next()) is not None:
            try:
                with unit():
                    self._serve(ticket)
            except MustWait:
                self._put_back(ticket, await_idle=True)
            except Locked:
                self._put_back(ticket)
                self._pause(LOCKED_SECONDS)
            except AWAY as error:
                log.warning("feeder.database_away", error=type(error).__name__)
                self._put_back(ticket)
                self._pause()
            except Exception:  # process edge: whatever one ticket met, the next one is served
                log.exception("feeder.failed")
                self._put_back(ticket)
                self._pause()
            with self._crew.changed:
                self.serving, self.turns = False, self.turns + 1
                self._crew.changed.notify_all()

    def _next(self) -> Ticket | None:
        crew = self._crew
        with crew.changed:
            crew.changed.wait_for(lambda: crew.ended or crew.takes(self))
            if crew.ended:
                return None
            self.serving = True
            return self.waiting.popleft()

    def _serve(self, ticket: Ticket) -> None:
        crew = self._crew
        if ticket.deployment and ticket.deployment not in crew.loaded:  # taken just before its queues were left
            tickets.pass_on(ticket.deployment, 1)
            ticket.settle()
            return
        claimed = claim.claim(
            loaded=crew.loaded, owner=crew.lease.incarnation, worker=crew.lease.name, task_id=ticket.task_id,
            stat=ticket.stat, idle=crew.idle_but(self),
        )  # fmt: skip
        if claimed is None:
            self._nothing_for(ticket)
        else:
            self._hold(Held(claimed, ticket))

    def _hold(self, held: Held) -> None:
        crew, job = self._crew, held.claimed.job_id
        with crew.changed:
            former = crew.hold(held)
            self.await_idle = False
            self.preparing, self.stop_prepared = job, ""
        if former is not None:
            crew.end_former(former)
        self._prepare(held)
        with crew.changed:
            self.preparing = None
        if self.stop_prepared:
            crew.stop_jobs([job], self.stop_prepared)
        self._tell(held)

    def _prepare(self, held: Held) -> None:
        crew, claimed = self._crew, held.claimed
        try:
            crew.host.begin(claim.load(claimed), partial(crew.landed, held))
        except ReferenceUnusable as error:
            crew.give_back(held, reason="reference", attention=error.code)
        except AWAY:
            crew.give_back(held, reason="database away")
        except Exception:  # process edge: a job that cannot be prepared waits for a person, the worker goes on
            log.exception("job.cannot_start", job=claimed.job_id, run=str(claimed.run_id))
            crew.give_back(held, reason="cannot start", attention=str(Reason.JOB_CANNOT_START))

    def _tell(self, held: Held) -> None:
        """Say that the run has begun, and hear what was asked of the job since its claim, when nobody could be told.

        The engine computes already. Whatever fails here is made good, by the finisher, the listener and the sweeper: the ticket has
        led to a job and leads to no other.
        """
        try:
            self._crew.listener.heed()
            claim.started(held.claimed)
            self._leave_another(held)
        except AWAY as error:
            log.warning("feeder.database_away", error=type(error).__name__)
        except Exception:  # process edge: as for any other ticket
            log.exception("feeder.failed")

    def _leave_another(self, held: Held) -> None:
        """A ticket that led to a job of another deployment has one in its place, when jobs of its own wait.

        The ticket of the job it led to cannot stand in for it: that one may go to a worker that does not serve this deployment.
        """
        ticket = held.ticket
        if ticket.deployment in ("", held.claimed.deployment):
            return
        waiting = _waiting(ticket.deployment)
        if (waiting.filter(rank=tickets.STAT_RANK) if ticket.stat else waiting).exists():
            tickets.nudge(ticket.deployment, stat=ticket.stat)

    def _nothing_for(self, ticket: Ticket) -> None:
        """Acknowledge. A STAT ticket whose job was taken by a routine ticket has one of those in its place."""
        if ticket.stat and _waiting(ticket.deployment).exists():
            tickets.nudge(ticket.deployment)
        ticket.settle()

    def _put_back(self, ticket: Ticket, *, await_idle: bool = False) -> None:
        with self._crew.changed:
            self.waiting.appendleft(ticket)
            self.await_idle = self.await_idle or await_idle

    def _pause(self, seconds: float = PAUSE_SECONDS) -> None:
        with self._crew.changed:
            self._crew.changed.wait_for(lambda: self._crew.ended, seconds)


def _waiting(deployment: str) -> QuerySet[Job]:
    return Job.objects.filter(state="queued", attention="", held=False, deployment_name=deployment)
