"""What pages show of workers and queues. Whether a lease runs is for the database to say."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet

from engine_queue.lease_time import DatabaseNow
from engine_queue.models import OPEN, Errand, Job, Run, RunKind, Worker
from engine_queue.reporter import FRESH_SECONDS
from engine_queue.whereabouts import Part, Pause
from registry.models import TestVersion

# One pass over the lines of the deployments asked about, in the order of the claim, up to the last of those asked about: as cheap
# for a page of runs as for one.
_POSITIONS = """
    WITH asked AS MATERIALIZED (
        SELECT run_id, deployment_name, rank, due_at, id FROM engine_queue_job
        WHERE state = 'queued' AND attention = '' AND NOT held AND run_id = ANY(%(runs)s)
    ), last AS MATERIALIZED (
        SELECT DISTINCT ON (deployment_name) * FROM asked ORDER BY deployment_name, rank DESC, due_at DESC, id DESC
    )
    SELECT asked.run_id, min(line.place) - 1 FROM asked JOIN (
        SELECT job.id, row_number() OVER (PARTITION BY job.deployment_name ORDER BY job.rank, job.due_at, job.id) AS place
        FROM last JOIN engine_queue_job AS job USING (deployment_name)
        WHERE job.state = 'queued' AND job.attention = '' AND NOT job.held
          AND (job.rank, job.due_at, job.id) <= (last.rank, last.due_at, last.id)
    ) AS line USING (id) GROUP BY asked.run_id
"""


# What a worker said of its jobs is believed for as long as it can be expected to have said it anew.
_IN_ENGINES = """
    SELECT run.order_id, bool_or(job.engine_state = 'running'),
           min(job.engine_ahead) FILTER (WHERE job.reported_at > clock_timestamp() - make_interval(secs => %(fresh)s))
    FROM engine_queue_job AS job JOIN engine_queue_run AS run ON run.id = job.run_id
    WHERE job.state = 'running' AND NOT job.held AND run.order_id = ANY(%(orders)s) GROUP BY run.order_id
"""


@dataclass(frozen=True)
class InEngine:
    """An order of which an engine has a part."""

    runs: bool  # something of it is computed
    ahead: int | None  # requests that the engine takes before its next one; None: it has not said so lately


@dataclass(frozen=True)
class WorkerView:
    """One worker, as its last renewal described it."""

    name: str
    kind: str  # engine | platform
    host: str
    deployments: list[str]
    refused: dict[str, str]  # deployment → why this worker does not serve it
    swapless: dict[str, str]  # deployment → why it keeps no swap files, though it should
    alive: bool  # its lease runs
    running: int  # requests in the engine's batch
    waiting: int  # requests in the engine's queue
    held: int  # jobs
    tokens_per_second: float
    halted: str  # why it takes no work; blank: it does
    freezes: int  # passes that stood still between two layers while STAT ran, since it started
    frozen_seconds: float  # for how long
    sent_away: int  # requests that gave their place to more urgent ones
    load_seconds: dict[str, float]  # deployment → how long it took to load here
    started_at: datetime
    last_seen: datetime


def workers(kind: str = "engine") -> list[WorkerView]:
    """Every worker ever seen, the living first."""
    views = [_view(worker) for worker in _workers().filter(kind=kind).order_by("name")]
    return sorted(views, key=lambda view: not view.alive)


def fault(name: str) -> str:
    """Why the worker of this name does not serve; blank: it does."""
    worker: Any = _workers().filter(name=name).first()
    if worker is None:
        return f"no worker {name} has ever started"
    if not worker.alive:
        return f"the lease of worker {name} has ended"
    stats: dict[str, Any] = worker.stats
    if stats.get("halted"):
        return f"worker {name} takes no work: {stats['halted']}"
    return f"an engine of worker {name} is not ready: {stats['complaint']}" if stats.get("complaint") else ""


def figures(name: str) -> dict[str, Any]:
    """What the worker of this name said of itself when it last renewed its lease, its engines' counters included."""
    worker = Worker.objects.filter(name=name).first()
    return {} if worker is None else {"name": name, "seen_at": worker.seen_at.isoformat(), **worker.stats}


def takes() -> dict[str, dict[str, Any]]:
    """Deployment → how long a sequence its engine takes (`host`), as the worker seen last said of it."""
    said: dict[str, dict[str, Any]] = {}
    for stats in Worker.objects.filter(kind="engine").order_by("seen_at").values_list("stats__takes", flat=True):
        said |= stats or {}
    return said


def errands(organisations: Collection[UUID]) -> QuerySet[Errand]:
    """What was asked of workers, the newest first: what concerns one of these laboratories, or none at all."""
    offered = TestVersion.objects.filter(deployment_id=OuterRef("deployment_id"))
    ours = offered.filter(definition__laboratory_id__in=list(organisations))
    return Errand.objects.filter(Exists(ours) | ~Exists(offered)).defer("trace").order_by("-pk")


def traced(pks: Collection[int]) -> set[int]:
    """Those of these errands whose trace is there and still kept."""
    return set(Errand.objects.filter(pk__in=pks, verb="trace", state="done", trace__isnull=False).values_list("pk", flat=True))


def positions(run_ids: Collection[UUID]) -> dict[UUID, int]:
    """Jobs that start before the next one of each of these runs; a run of which none waits is left out."""
    if not run_ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_POSITIONS, {"runs": list(run_ids)})
        return dict(cursor.fetchall())


def in_engines(order_ids: Collection[UUID]) -> dict[UUID, InEngine]:
    """Where the orders stand of which an engine has a part that is not on hold; the others are left out."""
    if not order_ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_IN_ENGINES, {"orders": list(order_ids), "fresh": FRESH_SECONDS})
        return {order: InEngine(runs, ahead) for order, runs, ahead in cursor.fetchall()}


def told_lately(order_id: UUID) -> bool:
    """Whether a worker has said in the last seconds where it has a part of this order."""
    fresh = DatabaseNow() - timedelta(seconds=FRESH_SECONDS)
    return Job.objects.filter(run__order_id=order_id, state="running", reported_at__gt=fresh).exists()


def waits_for_person(order_id: UUID) -> bool:
    """Whether a part of an order does not go on before somebody says so."""
    return Job.objects.filter(run__order_id=order_id, state__in=OPEN).exclude(attention="").exists()


def deployments_in_use() -> set[str]:
    """The deployments of runs that have not ended."""
    return set(Run.objects.filter(state__in=("queued", "running")).values_list("deployment_id", flat=True))


def clinical_run(order_id: UUID) -> UUID | None:
    """The run whose results an order is waiting for, or has."""
    of_order = Run.objects.filter(order_id=order_id, kind__in=[RunKind.CLINICAL, RunKind.REPEAT]).order_by("-created_at")
    return of_order.values_list("pk", flat=True).first()


def parts(run_id: UUID) -> list[Part]:
    """When each job of a run was computed, and when it stood still; empty for a run that never did."""
    if not Job.objects.filter(run_id=run_id).exclude(pauses=[]).exists():
        return []
    jobs = Job.objects.filter(run_id=run_id, started_at__isnull=False).order_by("id")
    return [part for job in jobs for part in _parts(job)]


def _parts(job: Job) -> list[Part]:
    """The present attempt, and for each former one the time of its pauses: all that is known of it."""
    ends = job.ended_at.timestamp() if job.ended_at else None
    begins = job.began_at or (job.started_at if job.ended_at else None)  # not told yet: the engine has not begun with it
    pauses: dict[int, list[Pause]] = {}
    for said in job.pauses:
        pauses.setdefault(said["attempt"], []).append(Pause(said["how"], said["since"], said["until"]))
    present = pauses.pop(job.attempt, []) if job.state != "queued" else []
    former = [[pause for pause in told if pause.until is not None] for told in pauses.values()]  # others ended with their worker
    found = [Part(told[0].since, told[-1].until, told) for told in former if told]
    return [*found, Part(begins.timestamp(), ends, present)] if begins and job.state != "queued" else found


def _workers() -> QuerySet[Worker]:
    alive = ExpressionWrapper(Q(lease_until__gt=DatabaseNow()), output_field=BooleanField())
    return Worker.objects.annotate(alive=alive)


def _view(worker: Any) -> WorkerView:
    stats: dict[str, Any] = worker.stats
    return WorkerView(
        name=worker.name,
        kind=worker.kind,
        host=worker.host,
        deployments=list(worker.deployments),
        refused=stats.get("refused", {}),
        swapless=stats.get("swapless", {}),
        alive=worker.alive,
        running=int(stats.get("running", 0)),
        waiting=int(stats.get("waiting", 0)),
        held=int(stats.get("held", 0)),
        tokens_per_second=float(stats.get("tokens_per_second", 0)),
        halted=stats.get("halted", ""),
        freezes=int(_sum(stats, "freezes")),
        frozen_seconds=_sum(stats, "frozen_seconds"),
        sent_away=int(_sum(stats, "evictions")),
        load_seconds=stats.get("load_seconds", {}),
        started_at=worker.started_at,
        last_seen=worker.seen_at,
    )


def _sum(stats: dict[str, Any], figure: str) -> float:
    """Of the engines of a worker."""
    return float(sum(engine.get(figure, 0) for engine in stats.get("engines", {}).values()))
