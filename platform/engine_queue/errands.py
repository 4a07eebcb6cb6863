"""What a person asks of a worker that runs, through the database: to serve one more deployment, to leave one after a drain, or to
tell what an engine did last.

The worker looks every second, on a thread of its own, because loading takes long and the keeper must not wait for it.
"""

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol
from uuid import UUID

import structlog
from django.db import transaction

from accounts.models import Organisation
from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from engine_queue import loading
from engine_queue.errors import ErrandRefused, WorkerRefused
from engine_queue.host import Host
from engine_queue.lease import NameLease
from engine_queue.lease_time import DatabaseNow
from engine_queue.models import Errand, Worker
from engine_queue.pauses import Pauses
from engine_queue.units import AWAY, own_connection, unit
from foundation import clock
from foundation.actor import Actor, process
from foundation.errors import NotPermitted
from registry.models import Deployment

log = structlog.get_logger(__name__)

PERIOD_SECONDS = 1.0
DRAIN_SECONDS = 60.0  # for running jobs to finish before they go back, where the person says nothing else
LONGEST_DRAIN = 86_400
LONGEST_TRACE = 60.0  # seconds
TRACES_KEPT = 5  # of each worker, the newest
_DONE = {"load": "loaded", "unload": "unloaded", "trace": "traced"}
ENDED = ("done", "refused")


class Serves(Protocol):
    """What an errand needs of the worker that runs it (`crew.Crew`)."""

    lease: NameLease
    host: Host
    pauses: Pauses
    loaded: list[str]

    def serve(self, deployment: str) -> None: ...
    def withdraw(self, deployment: str, seconds: float) -> Any: ...


def ask(*, worker: str, verb: str, deployment: str, actor: Actor, drain_seconds: float = 0.0, trace_seconds: float = 0.0) -> Errand:
    """Ask a worker to load, unload or trace a deployment.

    Raises `NotPermitted` for who may not drain in every laboratory it concerns, or for a trace look at the engine in one, and
    `ErrandRefused` when there is no such worker at work, no such deployment, or another errand that has not ended.
    """
    if not 0 <= drain_seconds <= LONGEST_DRAIN:  # neither is NaN
        raise ErrandRefused(f"a drain takes 0 to {LONGEST_DRAIN:,} seconds, not {drain_seconds}")
    if verb == "trace" and not 0 < trace_seconds <= LONGEST_TRACE:
        raise ErrandRefused(f"a trace is of up to {LONGEST_TRACE:g} seconds, not {trace_seconds}")
    row = Deployment.objects.filter(pk=deployment).first()
    if row is None:
        raise ErrandRefused(f"there is no deployment {deployment}")
    concerned = _require_a_look(actor, deployment) if verb == "trace" else _require(actor, worker, deployment)
    if not Worker.objects.filter(name=worker, kind="engine", lease_until__gt=DatabaseNow()).exists():
        raise ErrandRefused(f"no engine worker {worker} is at work")
    with transaction.atomic():
        Worker.objects.select_for_update().get(name=worker)  # two people who ask at once
        if Errand.objects.filter(worker=worker).exclude(state__in=ENDED).exists():
            raise ErrandRefused(f"worker {worker} is on another errand; wait until it has ended")
        errand = Errand.objects.create(
            worker=worker, verb=verb, deployment=row, drain_seconds=drain_seconds, trace_seconds=trace_seconds,
            asked_by=actor.name[:120], asked_at=clock.now(),
        )  # fmt: skip
        for laboratory in concerned:
            facts = {"worker": worker, "errand": errand.pk}
            audit.record(actor=actor, action=f"deployment.{verb}_asked", obj=row, organisation_id=laboratory, facts=facts)
        return errand


def _require(actor: Actor, worker: str, deployment: str) -> list[UUID]:
    """The laboratories it concerns, in each of which the actor may drain. Raises `NotPermitted`.

    Drain, in every laboratory that offers tests on the deployment; where none does, in all that the worker works for.

    A worker that nobody works with yet is for whoever may drain in a laboratory of this installation.
    """
    served = Worker.objects.filter(name=worker).values_list("deployments", flat=True).first() or []
    concerned = loading.concerned([deployment]) or loading.concerned(served)
    for laboratory in concerned:
        require(actor, Verb.DRAIN, laboratory)
    if concerned:
        return concerned
    laboratories = set(Organisation.objects.filter(is_laboratory=True).values_list("pk", flat=True))
    require(actor, Verb.DRAIN, *laboratories)
    return sorted(laboratories & actor.organisations(Verb.DRAIN))


def _require_a_look(actor: Actor, deployment: str) -> list[UUID]:
    """The laboratories in which the actor may look at the engine, as its page is shown: of those that offer tests on the
    deployment, of any where none does. Raises `NotPermitted` where there is none.
    """
    found = _looks(actor, deployment)
    if not found:
        raise NotPermitted("Your role does not allow this (view_engine).", code="access.not-permitted")
    return found


def may_look(actor: Actor, deployment: str) -> bool:
    """Whether this person may ask what an engine of this deployment did."""
    return bool(_looks(actor, deployment))


def _looks(actor: Actor, deployment: str) -> list[UUID]:
    concerned, may = loading.concerned([deployment]), actor.organisations(Verb.VIEW_ENGINE)
    return [laboratory for laboratory in concerned if laboratory in may] if concerned else sorted(may)


def already(deployment: str) -> str:
    """What a worker says that is asked to load what it serves: refused, since nothing was loaded, and what was wanted."""
    return f"it serves {deployment} already"


def wait(errand: Errand, *, seconds: float, sleep: Callable[[float], None] = time.sleep) -> Errand:
    """The errand when it has ended; as it stands when `seconds` were not enough."""
    deadline = time.monotonic() + seconds
    while errand.state not in ENDED and time.monotonic() < deadline:
        sleep(0.2)
        errand.refresh_from_db()
    return errand


class Errands(threading.Thread):
    """Runs the errands of one worker, one after the other. `turn` is one look, so that tests need no waiting."""

    def __init__(self, crew: Serves) -> None:
        super().__init__(name="errands", daemon=True)
        self._crew = crew
        self._tell: Callable[[], None] | None = None  # how an errand ended, until the database knows
        self._looked = False  # what is asked after the first look is asked of this self, whatever the clock of who asks says
        self._stop_event = threading.Event()

    @own_connection
    def run(self) -> None:
        """Look until stopped."""
        while not self._stop_event.wait(PERIOD_SECONDS):
            try:
                with unit():
                    self.turn()
            except AWAY as error:
                log.warning("errands.database_away", error=type(error).__name__)
            except Exception:  # process edge: without this thread nobody would run the next one
                log.exception("errands.failed", worker=self._crew.lease.name)

    def stop(self) -> None:
        """End after the present errand, or with the process."""
        self._stop_event.set()
        if self.is_alive():
            self.join(2)

    def turn(self) -> None:
        """Run the next errand, if there is one. What the database could not be told is told at the next turn."""
        if self._tell is None:
            self._tell = self._next()
        if self._tell is not None:
            self._tell()
            self._tell = None

    def _next(self) -> Callable[[], None] | None:
        """Run the next errand; what tells how it ended. One that was asked of a former self has ended with it."""
        name = self._crew.lease.name
        waiting = list(Errand.objects.filter(worker=name).exclude(state__in=ENDED).select_related("deployment").order_by("pk"))
        looked, self._looked = self._looked, True
        if not waiting:
            return None
        began = Worker.objects.get(pk=name).started_at
        lost = [errand for errand in waiting if errand.state == "taken" or (errand.asked_at < began and not looked)]
        for former in lost:
            _end(former, "refused", said="the worker ended before it had done it")
        errand = next((errand for errand in waiting if errand not in lost), None)
        if errand is None:
            return None
        errand.state, errand.taken_at = "taken", clock.now()
        errand.save(update_fields=["state", "taken_at"])
        try:
            measured = self._do(errand)
        except WorkerRefused as refusal:
            log.error("worker.refuses_errand", worker=errand.worker, reason=str(refusal))
            return partial(_end, errand, "refused", said=str(refusal))
        except Exception as error:  # whatever it met, the person hears of it, and the log has the rest
            log.exception("errands.failed", worker=errand.worker)
            return partial(_end, errand, "refused", said=f"{type(error).__name__}: see the log of the worker")
        return partial(self._done, errand, measured)

    def _do(self, errand: Errand) -> dict[str, float]:
        if errand.verb == "trace":
            return self._trace(errand)
        return self._load(errand.deployment_id) if errand.verb == "load" else self._unload(errand)

    def _trace(self, errand: Errand) -> dict[str, float]:
        """Only the newest are kept: nobody looks at what an engine did last month."""
        if errand.deployment_id not in self._crew.loaded:
            raise WorkerRefused(f"it does not serve {errand.deployment_id}")
        trace = self._crew.host.trace(errand.deployment_id, errand.trace_seconds)
        Errand.objects.filter(pk=errand.pk).update(trace=trace)
        former = Errand.objects.filter(worker=errand.worker, trace__isnull=False).order_by("-pk").values_list("pk", flat=True)
        Errand.objects.filter(pk__in=list(former[TRACES_KEPT:])).update(trace=None)
        return {"trace_seconds": errand.trace_seconds, "trace_bytes": len(trace)}

    def _load(self, deployment: str) -> dict[str, float]:
        if deployment in self._crew.loaded:
            raise WorkerRefused(already(deployment))
        began = time.monotonic()
        loading.load(self._crew.host, loading.row(deployment), worker=self._crew.lease.name)
        loaded = time.monotonic()
        self._crew.serve(deployment)
        self._crew.pauses.settle()
        return {"load_seconds": round(loaded - began, 3)}

    def _unload(self, errand: Errand) -> dict[str, float]:
        deployment = errand.deployment_id
        if deployment not in self._crew.loaded:
            raise WorkerRefused(f"it does not serve {deployment}")
        began = time.monotonic()
        drained = self._crew.withdraw(deployment, errand.drain_seconds)
        idle = time.monotonic()
        self._crew.host.unload(deployment)
        measured = {"drain_seconds": round(idle - began, 3), "unload_seconds": round(time.monotonic() - idle, 3)}
        self._crew.pauses.settle()
        return {**measured, "finished": drained.finished, "given_back": drained.given_back, "tickets": drained.tickets}

    def _done(self, errand: Errand, measured: dict[str, float]) -> None:
        served = list(self._crew.loaded)
        fingerprints = {deployment: self._crew.host.facts(deployment)[0] for deployment in served}
        self._crew.lease.announce(deployments=served, fingerprints=fingerprints)
        _end(errand, "done", measured=measured)


def _end(errand: Errand, state: str, *, said: str = "", measured: dict[str, float] | None = None) -> None:
    """Close an errand, with an event for every laboratory it concerns when it was done."""
    with transaction.atomic():
        known = Errand.objects.filter(pk=errand.pk, ended_at=None)
        if not known.update(state=state, said=said, measured=measured or {}, ended_at=clock.now()):
            return  # the connection broke as it was told
        facts = {"worker": errand.worker, "asked_by": errand.asked_by, "errand": errand.pk, **(measured or {})}
        action = f"deployment.{_DONE[errand.verb]}"
        for laboratory in loading.laboratories(errand.deployment_id) if state == "done" else ():
            audit.record(
                actor=process(errand.worker), action=action, obj=errand.deployment, organisation_id=laboratory, facts=facts
            )
