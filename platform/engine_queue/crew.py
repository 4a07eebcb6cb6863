"""An engine worker without its transport: tickets come in, jobs are claimed, computed and written, leases are kept.

Threads: the transport offers tickets, the feeder claims and plans, the engine computes, the finisher writes, the keeper renews.
Feeder, finisher and keeper own one database connection each; no other thread of a worker touches the database.
"""

import os
import signal
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import structlog
from django.db import Error

from engine_queue import claim, deaths, tickets
from engine_queue.claim import MustWait
from engine_queue.errands import Errands
from engine_queue.errors import ReferenceUnusable, WorkerRefused
from engine_queue.finisher import Finisher
from engine_queue.host import Flight, Host
from engine_queue.keeper import Keeper
from engine_queue.lease import NameLease
from engine_queue.models import Job
from engine_queue.units import AWAY, unit
from engine_queue.work import Claimed, Outcome, Ticket
from foundation.reasons import Reason

log = structlog.get_logger(__name__)

PAUSE_SECONDS = 0.5  # after the database did not answer
STOP_SECONDS = 2.0
WRITE_SECONDS = 20.0  # for the finisher to write what was given back


@dataclass(frozen=True)
class Held:
    """A job in work, and the ticket that led to it."""

    claimed: Claimed
    ticket: Ticket


class Transport(Protocol):
    """Where tickets come from: told, on any thread, which deployments' queues to read."""

    def follow(self, deployment: str) -> None:
        """Read the queues of a deployment from now on."""

    def leave(self, deployment: str) -> None:
        """Read them no more; tickets taken stay taken."""


@dataclass(frozen=True)
class Drained:
    """How the work of a deployment ended here."""

    finished: int  # jobs
    given_back: int
    tickets: int  # passed on to other workers


class Crew:
    """One worker's threads and what passes between them."""

    def __init__(self, *, lease: NameLease, host: Host, loaded: Sequence[str], credits: int, stat_credits: int) -> None:
        self.lease, self.host, self.loaded = lease, host, list(loaded)
        self.finisher = Finisher()
        self.keeper = Keeper(lease, self)
        self.errands = Errands(self)
        self.transport: Transport | None = None
        self.died = ""  # why this process leaves
        self.refused: dict[str, str] = {}  # deployment → why this worker does not serve it
        self._places = {True: stat_credits, False: credits}  # by `Ticket.stat`
        self._waiting: dict[bool, deque[Ticket]] = {True: deque(), False: deque()}
        self._held: dict[int, Held] = {}
        self._halted = ""
        self._await_idle = False  # the best job has to run alone
        self._draining = self._ended = self._serving = False
        self._turns = 0  # tickets the feeder has served
        self._preparing: int | None = None  # the job the feeder is planning: it can be stopped only afterwards
        self._stop_prepared = ""
        self._changed = threading.Condition()
        self._feeder = threading.Thread(target=self._feed, name="feeder", daemon=True)

    def start(self) -> None:
        """Take back what former selves held, then serve. The keeper is started by the command, before the engines load."""
        deaths.bury_former_selves(self.lease)
        self.finisher.start()
        self._feeder.start()
        self.errands.start()

    def offer(self, ticket: Ticket) -> None:
        """Take a ticket from the transport. Never blocks."""
        with self._changed:
            self._waiting[ticket.stat].append(ticket)
            self._changed.notify_all()

    def revoke(self, number: int) -> None:
        """Stop whatever a ticket led to; a ticket that led to nothing yet is dropped. Its message is acknowledged elsewhere."""
        with self._changed:
            for queue in self._waiting.values():
                for ticket in [t for t in queue if t.number == number]:
                    queue.remove(ticket)
            jobs = [job for job, held in self._held.items() if held.ticket.number == number]
        self.stop_jobs(jobs, "revoked")

    def drain(self, seconds: float) -> None:
        """Take nothing new and finish what runs; what is not done in time goes back, with its ticket left to the broker."""
        with self._changed:
            self._draining = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._held and not self._serving, seconds)
            self._changed.wait_for(lambda: not self._serving, STOP_SECONDS)  # a job being prepared cannot be given back yet
            left = list(self._held.values())
        for held in left:
            if self.host.cancel(held.claimed.job_id):
                self._give_back(held, reason="worker stops", keep_ticket=True)
        self.finisher.flush(STOP_SECONDS)

    def stop(self) -> None:
        """End every thread and let the name go."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._feeder.join(STOP_SECONDS)
        self.errands.stop()
        self.keeper.stop()
        self.finisher.stop()
        self.host.stop()
        try:
            with unit():
                self.lease.give_back()
        except Error as error:
            log.warning("lease.not_given_back", worker=self.lease.name, error=type(error).__name__)

    # What an errand asks, on a thread of its own.

    def serve(self, deployment: str) -> None:
        """Claim the jobs of a deployment that is loaded."""
        with self._changed:
            self.loaded = [*self.loaded, deployment]
            self.refused.pop(deployment, None)
        if self.transport is not None:
            self.transport.follow(deployment)

    def withdraw(self, deployment: str, seconds: float) -> Drained:
        """Claim nothing more of a deployment and finish what runs; what is not done in time goes back. Its engine then idles.

        Raises `WorkerRefused` when a claim that was under way does not land; then the deployment is served on.
        """
        if self.transport is not None:
            self.transport.leave(deployment)
        with self._changed:
            self.loaded = [name for name in self.loaded if name != deployment]
            turn = self._turns
            landed = self._changed.wait_for(lambda: not self._serving or self._turns != turn, WRITE_SECONDS)
        passed_on = self._pass_on(deployment)
        if not landed:
            self.serve(deployment)
            raise WorkerRefused("a job is being prepared and does not come to an end; try again")
        with self._changed:
            running = len(self._held_of(deployment))
            self._changed.wait_for(lambda: not self._held_of(deployment), seconds)
            left = self._held_of(deployment)
        given_back = [held for held in left if self.host.cancel(held.claimed.job_id)]
        for held in given_back:
            self._give_back(held, reason="deployment unloaded")
        with self._changed:
            self._changed.wait_for(lambda: not self._held_of(deployment), WRITE_SECONDS)
        return Drained(running - len(given_back), len(given_back), passed_on)

    def _held_of(self, deployment: str) -> list[Held]:
        return [held for held in self._held.values() if held.claimed.deployment == deployment]

    def _pass_on(self, deployment: str) -> int:
        """Give the waiting tickets of a deployment to other workers."""
        with self._changed:
            lost = [ticket for queue in self._waiting.values() for ticket in queue if ticket.deployment == deployment]
            for ticket in lost:
                self._waiting[ticket.stat].remove(ticket)
        tickets.pass_on(deployment, len(lost))
        for ticket in lost:
            ticket.settle()
        return len(lost)

    # What the keeper asks (`keeper.Kept`).

    def held(self) -> Sequence[int]:
        """Ids of the jobs held, those whose outcome waits to be written included."""
        with self._changed:
            return list(self._held)

    def progress(self) -> int | None:
        """The host's."""
        return self.host.progress()

    def stats(self) -> Mapping[str, Any]:
        """Figures for the engine page."""
        with self._changed:
            tickets_waiting = sum(map(len, self._waiting.values()))
            figures = {"held": len(self._held), "tickets": tickets_waiting, "places": sum(self._places.values())}
        return {**self.host.stats(), **figures, "unwritten": self.finisher.waiting, "halted": self._halted, "refused": self.refused}

    def stop_jobs(self, jobs: Sequence[int], reason: str) -> None:
        """Stop computing these jobs and give them back; one whose outcome is already on its way is left alone."""
        with self._changed:
            if self._preparing in jobs:
                self._stop_prepared = reason
            held = [self._held[job] for job in jobs if job in self._held and job != self._preparing]
        for one in held:
            if self.host.cancel(one.claimed.job_id):
                self._give_back(one, reason=reason)

    def halt(self, reason: str) -> None:
        """Stop computing everything, take nothing new."""
        log.error("worker.halted", worker=self.lease.name, reason=reason)
        with self._changed:
            self._halted = reason
        self.stop_jobs(self.held(), reason)

    def resume(self) -> None:
        """Take work again."""
        log.warning("worker.resumed", worker=self.lease.name)
        with self._changed:
            self._halted = ""
            self._changed.notify_all()

    def die(self, reason: str) -> None:
        """Give everything back and leave, as if somebody had asked the process to stop."""
        if not self.died:
            self.died = reason
            self.halt(reason)
            log.critical("worker.leaves", worker=self.lease.name, reason=reason)
            os.kill(os.getpid(), signal.SIGTERM)

    # The feeder's thread.

    def _feed(self) -> None:
        while (ticket := self._next()) is not None:
            try:
                with unit():
                    self._serve(ticket)
            except MustWait:
                self._put_back(ticket, await_idle=True)
            except AWAY as error:
                log.warning("feeder.database_away", error=type(error).__name__)
                self._put_back(ticket)
                self._pause()
            except Exception:  # process edge: whatever one ticket met, the next one is served
                log.exception("feeder.failed")
                self._put_back(ticket)
                self._pause()
            with self._changed:
                self._serving, self._turns = False, self._turns + 1
                self._changed.notify_all()

    def _next(self) -> Ticket | None:
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._takes(True) or self._takes(False))
            if self._ended:
                return None
            self._serving = True
            return self._waiting[self._takes(True)].popleft()

    def _takes(self, stat: bool) -> bool:
        """Whether a ticket of this lane waits and may be served now."""
        if not self._waiting[stat] or self._halted or self._draining or self.finisher.full:
            return False
        if sum(held.ticket.stat == stat for held in self._held.values()) >= self._places[stat]:
            return False
        return stat or not (self._held and (self._await_idle or any(held.claimed.alone for held in self._held.values())))

    def _serve(self, ticket: Ticket) -> None:
        if ticket.deployment and ticket.deployment not in self.loaded:  # taken just before its queues were left
            tickets.pass_on(ticket.deployment, 1)
            ticket.settle()
            return
        claimed = claim.claim(
            loaded=self.loaded, owner=self.lease.incarnation, worker=self.lease.name, task_id=ticket.task_id,
            stat=ticket.stat, idle=not self._held,
        )  # fmt: skip
        if claimed is None:
            self._nothing_for(ticket)
        else:
            self._hold(Held(claimed, ticket))

    def _hold(self, held: Held) -> None:
        job = held.claimed.job_id
        with self._changed:
            self._held[job] = held
            self._await_idle = False
            self._preparing, self._stop_prepared = job, ""
        self._prepare(held)
        with self._changed:
            self._preparing = None
        if self._stop_prepared:
            self.stop_jobs([job], self._stop_prepared)

    def _prepare(self, held: Held) -> None:
        claimed = held.claimed
        try:
            claim.started(claimed)
            self.host.begin(claim.load(claimed), self._landed)
        except ReferenceUnusable as error:
            self._give_back(held, reason="reference", attention=error.code)
        except AWAY:
            self._give_back(held, reason="database away")
        except Exception:  # process edge: a job that cannot be prepared waits for a person, the worker goes on
            log.exception("job.cannot_start", job=claimed.job_id, run=str(claimed.run_id))
            self._give_back(held, reason="cannot start", attention=str(Reason.JOB_CANNOT_START))

    def _nothing_for(self, ticket: Ticket) -> None:
        """Acknowledge. A STAT ticket whose job was taken by a routine ticket has one of those in its place."""
        if ticket.stat and Job.objects.filter(state="queued", attention="", deployment_name=ticket.deployment).exists():
            tickets.nudge(ticket.deployment)
        ticket.settle()

    def _put_back(self, ticket: Ticket, *, await_idle: bool = False) -> None:
        with self._changed:
            self._waiting[ticket.stat].appendleft(ticket)
            self._await_idle = self._await_idle or await_idle

    def _pause(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._ended, PAUSE_SECONDS)

    # From the engine to the finisher.

    def _landed(self, flight: Flight) -> None:
        claimed = flight.work.claimed
        with self._changed:
            held = self._held[claimed.job_id]
        if flight.fault:
            self._give_back(held, reason=flight.fault)
        else:
            fingerprint, invariant = self.host.facts(claimed.deployment)
            self.finisher.put(Outcome(claimed, "scored", lambda: self._settled(held), flight.scores, fingerprint, invariant))
        if not self.host.healthy() and not self._draining:
            self.die("the engine failed")

    def _give_back(self, held: Held, *, reason: str, attention: str = "", keep_ticket: bool = False) -> None:
        settle = (lambda: self._let_go(held)) if keep_ticket else (lambda: self._settled(held))
        self.finisher.put(Outcome(held.claimed, "returned", settle, reason=reason, attention=attention, resend=not keep_ticket))

    def _settled(self, held: Held) -> None:
        self._let_go(held)
        held.ticket.settle()

    def _let_go(self, held: Held) -> None:
        self.host.forget(held.claimed.job_id)
        with self._changed:
            self._held.pop(held.claimed.job_id, None)
            self._changed.notify_all()
