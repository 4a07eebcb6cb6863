"""What the pages say of the engine: who works, what waits, and loudly what nobody serves."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

from django.db.models import Count, Max, Min, Q

from accounts.roles import Verb
from dashboard.wording import counted, duration, ordinal
from engine_queue import selectors
from engine_queue.models import OPEN, Job, Result, Run
from engine_queue.selectors import InEngine, WorkerView
from foundation import clock
from foundation.actor import Actor
from orders.estimates import ESTIMATED
from orders.models import Order
from registry.models import Deployment

STAT = 0  # rank
SILENCE = timedelta(seconds=15)  # without a score, after which an estimate is worth nothing
FORGOTTEN = timedelta(days=1)  # a worker that was not seen for so long is history


@dataclass(frozen=True)
class ServedBy:
    """A live worker that serves a deployment."""

    name: str
    loaded_in: str  # in words; blank: it did not say


@dataclass(frozen=True)
class SeenDeployment:
    """A deployment with its work and the live workers that serve it."""

    name: str
    model: str
    precision: str
    fingerprint: str
    golden: str  # digest of the bits that every worker must compute
    workers: list[ServedBy]
    waiting: int
    stat: int
    running: int
    paused: int  # of them, for more urgent work
    held: int  # on hold
    stuck: int  # wait for a person
    oldest: str

    @property
    def unserved(self) -> bool:
        """Work waits and nobody will take it."""
        return bool(self.waiting) and not self.workers


@dataclass(frozen=True)
class Overview:
    """Everything of the engine page."""

    workers: list[WorkerView]
    deployments: list[SeenDeployment]

    @property
    def alarms(self) -> list[str]:
        """One sentence for each deployment that has work and no worker."""
        return [
            f"No engine worker serves {d.name}: {counted(d.waiting, 'job')} wait{'s' if d.waiting == 1 else ''}"
            + (f", {d.stat} of them STAT" if d.stat else "") + ". Start an engine worker for it; the work is kept."
            for d in self.deployments
            if d.unserved
        ]  # fmt: skip


@dataclass(frozen=True)
class SystemLine:
    """The line above the worklist."""

    light: str  # ok | bad
    words: str
    model: str
    alarms: list[str] = field(default_factory=list)
    may_view: bool = False
    may_place: bool = False


def line(actor: Actor) -> SystemLine:
    """For everybody; figures only for those who look after the engine, since they speak of other people's orders too."""
    seen = overview()
    live = [worker for worker in seen.workers if worker.alive and worker.kind == "engine"]
    words = counted(len(live), "worker") if live else "no worker"
    if actor.organisations(Verb.VIEW_ENGINE):
        running, waiting = sum(d.running for d in seen.deployments), sum(d.waiting for d in seen.deployments)
        words += f" · {running:,} running · {waiting:,} waiting" if running or waiting else " · idle"
    return SystemLine(
        light="ok" if live and not seen.alarms else "bad",
        words=words,
        model=", ".join(dict.fromkeys(d.model for d in seen.deployments if d.workers)),
        alarms=seen.alarms,
        may_view=bool(actor.organisations(Verb.VIEW_ORDER)),
        may_place=bool(actor.organisations(Verb.PLACE)),
    )


def overview() -> Overview:
    """Workers and deployments as the database knows them now. They speak of no patient, so there is no scope to apply."""
    now = clock.now()
    everybody = [*selectors.workers("engine"), *selectors.workers("platform")]
    workers = [worker for worker in everybody if worker.alive or now - worker.last_seen < FORGOTTEN]
    jobs = {row["deployment_name"]: row for row in _work()}
    rows = Deployment.objects.select_related("model_version").order_by("name")
    return Overview(workers, [_deployment(row, jobs.get(row.name, {}), workers, now) for row in rows])


def risks() -> list[str]:
    """One sentence for each deployment whose orders are at risk of being late, or late; they name nobody."""
    at_risk, late = Count("pk", filter=Q(risk="at_risk")), Count("pk", filter=Q(risk="late"))
    rows = Order.objects.exclude(risk="").values_list("test_version__deployment_id").annotate(at_risk=at_risk, late=late)
    return [
        f"{deployment}: {' and '.join(filter(None, (_are(risky, 'at risk of being late'), _are(over, 'late'))))}."
        for deployment, risky, over in rows.order_by("test_version__deployment_id")
    ]


def _are(number: int, words: str) -> str:
    return f"{counted(number, 'order')} {'is' if number == 1 else 'are'} {words}" if number else ""


def places(orders: Iterable[Order], *, short: bool = False) -> dict[UUID, str]:
    """Where orders stand of which nothing is computed now: in the line of their deployment, or in an engine that has taken them in.

    How long the line is would tell of other people's orders.
    """
    waiting = {order.pk: order for order in orders if order.state in ESTIMATED and not order.hold_reason}
    taken = selectors.in_engines([pk for pk, order in waiting.items() if order.state == "in_analysis"])
    found = {order: words for order, where in taken.items() if (words := _in_engine(where, short))}
    queued = [order for order in waiting if order not in taken]
    rows = Run.objects.filter(order_id__in=queued, state__in=OPEN) if queued else Run.objects.none()
    runs = {pk: order_id for pk, order_id in rows.values_list("pk", "order_id") if order_id}
    for run, before in selectors.positions(list(runs)).items():
        next_part = "next part " if waiting[runs[run]].state == "in_analysis" else ""
        found[runs[run]] = f"{next_part}{ordinal(before + 1)} in line"
    return found


def _in_engine(where: InEngine, short: bool) -> str:
    if where.runs or where.ahead is None:
        return ""
    if not where.ahead:
        return "next in the engine"
    return f"{where.ahead:,} ahead in the engine" if short else f"{counted(where.ahead, 'computation')} ahead of it in the engine"


def behind_stat(order: Order) -> bool:
    """Whether nothing of this order runs while the deployment has STAT work: two look-ups in the index of open jobs."""
    if order.rank == STAT or order.state not in ("accepted", "in_analysis"):
        return False
    if Job.objects.filter(run__order_id=order.pk, state="running").exists():
        return False
    stat = Job.objects.filter(deployment_name=order.test_version.deployment_id, rank=STAT, state__in=OPEN)
    return stat.filter(attention="", cancel_requested=False).exists()


def stopped(order: Order) -> str:
    """Why an order that is being scored does not move: no worker of its deployment lives, or no score has come for long."""
    if order.state != "in_analysis" or order.started_at is None:
        return ""
    workers = selectors.workers("engine")
    if not any(worker.alive and order.test_version.deployment_id in worker.deployments for worker in workers):
        return "the engine worker stopped; the work is taken up again by itself as soon as a worker runs"
    if selectors.told_lately(order.pk):
        return ""  # it waits in an engine, or has long work there
    newest = Result.objects.filter(run__order_id=order.pk).aggregate(at=Max("created_at"))["at"] or order.started_at
    silent = clock.now() - newest
    if silent <= SILENCE:
        return ""
    return f"no score for {duration(silent.total_seconds())}; if the engine worker stopped, the work is taken up again by itself"


def place(order: Order) -> str:
    """The same for one order; empty when it does not wait."""
    return places([order]).get(order.pk, "")


def _work() -> list[Mapping[str, Any]]:
    """Open jobs of each deployment, each counted once: what waits for a worker, what one computes, what waits for a person."""
    free, person = Q(held=False, attention=""), ~Q(attention="")
    waits, runs = Q(state="queued") & free, Q(state="running") & free
    rows = Job.objects.filter(state__in=OPEN, cancel_requested=False).values("deployment_name").annotate(
        waiting=Count("id", filter=waits), stat=Count("id", filter=waits & Q(rank=STAT)), oldest=Min("created_at", filter=waits),
        running=Count("id", filter=runs), paused=Count("id", filter=runs & Q(engine_state="paused")),
        held=Count("id", filter=Q(held=True, attention="")), stuck=Count("id", filter=person),
    )  # fmt: skip
    return cast(list[Mapping[str, Any]], list(rows))


def _served(worker: WorkerView, deployment: str) -> ServedBy:
    seconds = worker.load_seconds.get(deployment)
    return ServedBy(worker.name, "" if seconds is None else duration(seconds))


def _deployment(row: Deployment, jobs: Mapping[str, Any], workers: list[WorkerView], now: datetime) -> SeenDeployment:
    oldest = jobs.get("oldest")
    served = [_served(worker, row.name) for worker in workers if worker.alive and row.name in worker.deployments]
    return SeenDeployment(
        name=row.name, model=str(row.model_version), precision=row.precision, fingerprint=row.fingerprint,
        golden=row.golden, workers=served,
        **{kind: jobs.get(kind, 0) for kind in ("waiting", "stat", "running", "paused", "held", "stuck")},
        oldest=duration((now - oldest).total_seconds()) if isinstance(oldest, datetime) else "",
    )  # fmt: skip
