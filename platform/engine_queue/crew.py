"""An engine worker without its transport: tickets come in, jobs are claimed, computed and written, leases are kept.

Threads: the transport offers tickets, a feeder claims and plans, the engines compute, a finisher writes, the keeper renews, the
listener hears what is asked of jobs in work, errands load and unload. Feeder and finisher are there twice: once for STAT alone.
Each of them owns one database connection, the listener one more; no other thread of a worker touches the database.
"""

import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import structlog
from django.db import Error

from engine_queue import deaths, tickets
from engine_queue.errands import Errands
from engine_queue.errors import WorkerRefused
from engine_queue.feeder import Feeder
from engine_queue.finisher import Finisher
from engine_queue.host import Flight, Host
from engine_queue.keeper import Keeper
from engine_queue.lease import NameLease
from engine_queue.listener import Listener, Wish
from engine_queue.pauses import Pauses
from engine_queue.reporter import Reporter
from engine_queue.units import unit
from engine_queue.work import Held, Outcome, Ticket

log = structlog.get_logger(__name__)

STOP_SECONDS = 2.0
STAND_SECONDS = 600.0  # on hold in the engine, which keeps what is computed; after that a job goes back to the queue
WRITE_SECONDS = 20.0  # for the finisher to write what was given back


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
        self.finisher, self.stat_finisher = Finisher(), Finisher(name="stat-finisher")
        self.keeper = Keeper(lease, self)
        self.errands, self.pauses = Errands(self), Pauses()
        self.listener = Listener(self, lease.incarnation)
        self.reporter = Reporter(host, lease.incarnation)
        self.transport: Transport | None = None
        self.died = ""  # why this process leaves
        self.refused: dict[str, str] = {}  # deployment → why this worker does not serve it
        self.changed = threading.Condition()
        self.ended = False
        self._feeders = {stat: Feeder(self, stat=stat, places=places) for stat, places in ((True, stat_credits), (False, credits))}
        self._held: dict[int, Held] = {}
        self._standing: dict[int, float] = {}  # jobs on hold → since when, by `time.monotonic`
        self._halted = ""
        self._draining = False

    def start(self) -> None:
        """Take back what former selves held, then serve. The keeper is started by the command, before the engines load."""
        deaths.bury_former_selves(self.lease)
        for thread in (self.finisher, self.stat_finisher, *self._feeders.values(), self.listener, self.reporter, self.errands):
            thread.start()

    def offer(self, ticket: Ticket) -> None:
        """Take a ticket from the transport. Never blocks."""
        with self.changed:
            self._feeders[ticket.stat].waiting.append(ticket)
            self.changed.notify_all()

    def revoke(self, number: int) -> None:
        """Stop whatever a ticket led to; a ticket that led to nothing yet is dropped. Its message is acknowledged elsewhere."""
        with self.changed:
            for feeder in self._feeders.values():
                for ticket in [t for t in feeder.waiting if t.number == number]:
                    feeder.waiting.remove(ticket)
            jobs = [job for job, held in self._held.items() if held.ticket.number == number]
        self.stop_jobs(jobs, "revoked")

    def drain(self, seconds: float) -> None:
        """Take nothing new and finish what runs; what is not done in time goes back, with its ticket left to the broker."""
        with self.changed:
            self._draining = True
            self.changed.notify_all()
            self.changed.wait_for(lambda: not self._computing() and not self._serving(), seconds)
            self.changed.wait_for(lambda: not self._serving(), STOP_SECONDS)  # a job being prepared cannot be given back yet
            left = list(self._held.values())
        for held in left:
            if self.host.cancel(held.claimed.job_id):
                self.give_back(held, reason="worker stops", keep_ticket=not held.acknowledged)
        for finisher in (self.stat_finisher, self.finisher):
            finisher.flush(STOP_SECONDS)

    def stop(self) -> None:
        """End every thread and let the name go."""
        with self.changed:
            self.ended = True
            self.changed.notify_all()
        for feeder in self._feeders.values():
            feeder.join(STOP_SECONDS)
        self.listener.stop()
        self.reporter.stop()
        self.errands.stop()
        self.keeper.stop()
        self.stat_finisher.stop()
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
        with self.changed:
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
        with self.changed:
            self.loaded = [name for name in self.loaded if name != deployment]
            under_way = [(feeder, feeder.turns) for feeder in self._feeders.values() if feeder.serving]
            landed = self.changed.wait_for(lambda: all(feeder.turns != turn for feeder, turn in under_way), WRITE_SECONDS)
        passed_on = self._pass_on(deployment)
        if not landed:
            self.serve(deployment)
            raise WorkerRefused("a job is being prepared and does not come to an end; try again")
        with self.changed:
            running = len(self._held_of(deployment))
            self.changed.wait_for(lambda: not self._computing(deployment), seconds)
            left = self._held_of(deployment)
        given_back = [held for held in left if self.host.cancel(held.claimed.job_id)]
        for held in given_back:
            self.give_back(held, reason="deployment unloaded")
        with self.changed:
            self.changed.wait_for(lambda: not self._held_of(deployment), WRITE_SECONDS)
        return Drained(running - len(given_back), len(given_back), passed_on)

    def _computing(self, deployment: str = "") -> list[Held]:
        """What is not on hold, of all deployments or of one."""
        going = [held for job, held in self._held.items() if job not in self._standing]
        return [held for held in going if deployment in ("", held.claimed.deployment)]

    def _held_of(self, deployment: str) -> list[Held]:
        return [held for held in self._held.values() if held.claimed.deployment == deployment]

    def _pass_on(self, deployment: str) -> int:
        """Give the waiting tickets of a deployment to other workers."""
        with self.changed:
            waiting = [ticket for feeder in self._feeders.values() for ticket in feeder.waiting]
            lost = [ticket for ticket in waiting if ticket.deployment == deployment]
            for ticket in lost:
                self._feeders[ticket.stat].waiting.remove(ticket)
        tickets.pass_on(deployment, len(lost))
        for ticket in lost:
            ticket.settle()
        return len(lost)

    # What the keeper asks (`keeper.Kept`).

    def held(self) -> Sequence[int]:
        """Ids of the jobs held, those whose outcome waits to be written included."""
        with self.changed:
            return list(self._held)

    def progress(self) -> int | None:
        """The host's."""
        return self.host.progress()

    def stats(self) -> Mapping[str, Any]:
        """Figures for the engine page."""
        with self.changed:
            feeders = self._feeders.values()
            figures = {"held": len(self._held), "standing": len(self._standing)}
            figures |= {"tickets": sum(len(f.waiting) for f in feeders), "places": sum(f.places for f in feeders)}
        figures |= {"unwritten": self.finisher.waiting + self.stat_finisher.waiting}
        return {**self.host.stats(), **figures, **self.pauses.stats(), "halted": self._halted, "refused": self.refused}

    def stop_jobs(self, jobs: Sequence[int], reason: str) -> None:
        """Stop computing these jobs and give them back; one whose outcome is already on its way is left alone."""
        with self.changed:
            preparing = [feeder for feeder in self._feeders.values() if feeder.preparing in jobs]
            for feeder in preparing:
                feeder.stop_prepared = reason
            later = {feeder.preparing for feeder in preparing}
            held = [self._held[job] for job in jobs if job in self._held and job not in later]
        for one in held:
            if self.host.cancel(one.claimed.job_id):
                self.give_back(one, reason=reason)

    def halt(self, reason: str) -> None:
        """Stop computing everything, take nothing new."""
        log.error("worker.halted", worker=self.lease.name, reason=reason)
        with self.changed:
            self._halted = reason
        self.stop_jobs(self.held(), reason)

    def resume(self) -> None:
        """Take work again."""
        log.warning("worker.resumed", worker=self.lease.name)
        with self.changed:
            self._halted = ""
            self.changed.notify_all()

    def die(self, reason: str) -> None:
        """Give everything back and leave, as if somebody had asked the process to stop."""
        if not self.died:
            self.died = reason
            self.halt(reason)
            log.critical("worker.leaves", worker=self.lease.name, reason=reason)
            os.kill(os.getpid(), signal.SIGTERM)

    # What the listener asks (`listener.Heeds`).

    def heed(self, wishes: Sequence[Wish]) -> None:
        """Give jobs in work the class that their rows have, let them stand still or go on, stop those that are cancelled."""
        with self.changed:
            planned = self._held.keys() - {feeder.preparing for feeder in self._feeders.values()}
        for wish in [wish for wish in wishes if wish.job_id in planned]:
            if wish.cancelled:
                self.stop_jobs([wish.job_id], "cancelled")
            else:
                self._reclass(wish)
                self._stand(wish)

    def _reclass(self, wish: Wish) -> None:
        with self.changed:
            held = self._held.get(wish.job_id)
            if held is None or (held.claimed.rank, held.claimed.due) == (wish.rank, wish.due):
                return
            self._held[wish.job_id] = replace(held, claimed=replace(held.claimed, rank=wish.rank, due=wish.due))
        self.host.reclass(wish.job_id, wish.rank, wish.due)

    def _stand(self, wish: Wish) -> None:
        """On hold it keeps what is computed, and holds no place, until it has stood so long that it goes back to the queue."""
        job, now = wish.job_id, time.monotonic()
        with self.changed:
            since, held = self._standing.get(job), self._held.get(job)
            if not wish.held or held is None:
                self._standing.pop(job, None)
            elif since is None:
                self._standing[job] = now
                self._held[job] = replace(held, acknowledged=True)
            self.changed.notify_all()
        if wish.held and since is None and held is not None:
            self.host.hold(job)
            if not held.acknowledged:
                held.ticket.settle()  # while it is unacknowledged the broker hands out one less
            if held.claimed.alone:
                self.stop_jobs([job], "on hold")  # nothing routine runs beside it
        elif wish.held and since is not None and now - since > STAND_SECONDS:
            self.stop_jobs([job], "on hold")
        elif since is not None and not wish.held:
            self.host.release(job)

    # What the feeders ask, holding `changed` where it says so.

    def takes(self, feeder: Feeder) -> bool:
        """Whether a ticket of this lane waits and may be served now; `changed` is held."""
        finisher = self.stat_finisher if feeder.stat else self.finisher
        if not feeder.waiting or self._halted or self._draining or finisher.full:
            return False
        if sum(held.ticket.stat == feeder.stat for held in self._computing()) >= feeder.places:
            return False
        others = bool(self._held) or self._serving(feeder)
        return feeder.stat or not (others and (feeder.await_idle or any(held.claimed.alone for held in self._held.values())))

    def idle_but(self, feeder: Feeder) -> bool:
        """Whether nothing is in work, nor about to be by another feeder."""
        with self.changed:
            return not self._held and not self._serving(feeder)

    def hold(self, held: Held) -> Held | None:
        """A job has been claimed; `changed` is held. The older attempt here, whose lease ended while this process stood still."""
        job = held.claimed.job_id
        former, self._held[job] = self._held.get(job), held
        self._standing.pop(job, None)
        return former

    def end_former(self, former: Held) -> None:
        """Stop computing an older attempt, unless it has ended: then its outcome, which is fenced, settles its ticket."""
        if self.host.cancel(former.claimed.job_id) and not former.acknowledged:
            former.ticket.settle()

    def _serving(self, but: Feeder | None = None) -> bool:
        return any(feeder.serving for feeder in self._feeders.values() if feeder is not but)

    # From the engine to the finisher.

    def landed(self, held: Held, flight: Flight) -> None:
        claimed = held.claimed
        with self.changed:
            last = self._held.get(claimed.job_id, held)
            held = last if last.claimed.attempt == claimed.attempt else held  # else: claimed anew meanwhile, and this one is fenced
        if flight.fault:
            self.give_back(held, reason=flight.fault)
        else:
            fingerprint, invariant = self.host.facts(claimed.deployment)
            settled = partial(self._settled, held)
            self._put(Outcome(held.claimed, "scored", settled, flight.scores, fingerprint, invariant, found=flight.found))
        if not self.host.healthy() and not self._draining:
            self.die("the engine failed")

    def give_back(self, held: Held, *, reason: str, attention: str = "", keep_ticket: bool = False) -> None:
        settle = partial(self._settled, held, keep_ticket=keep_ticket)
        self._put(Outcome(held.claimed, "returned", settle, reason=reason, attention=attention, resend=not keep_ticket))

    def _put(self, outcome: Outcome) -> None:
        (self.stat_finisher if outcome.claimed.rank == tickets.STAT_RANK else self.finisher).put(outcome)

    def _settled(self, held: Held, *, keep_ticket: bool = False) -> None:
        last = self._let_go(held)
        if not keep_ticket and not last.acknowledged:
            last.ticket.settle()

    def _let_go(self, held: Held) -> Held:
        """Forget an attempt; what was known of it last. The job may have been claimed here once more since it was written."""
        job = held.claimed.job_id
        with self.changed:
            last = self._held.get(job)
            if last is None or last.claimed.attempt != held.claimed.attempt:
                return held
            self.host.forget(job)
            self._standing.pop(job, None)
            del self._held[job]
            self.changed.notify_all()
        return last
