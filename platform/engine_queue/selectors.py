"""What the engine page and the worklist show of workers and queues."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q

from engine_queue.models import Job, Run, Worker
from foundation import clock


@dataclass(frozen=True)
class WorkerView:
    """One worker, as its last renewal described it."""

    name: str
    kind: str  # engine | platform
    host: str
    deployments: list[str]
    refused: dict[str, str]  # deployment → why this worker does not serve it
    alive: bool  # its lease runs
    running: int  # requests in the engine's batch
    waiting: int  # requests in the engine's queue
    held: int  # jobs
    tokens_per_second: float
    halted: str  # why it takes no work; blank: it does
    started_at: datetime
    last_seen: datetime


def workers(kind: str = "engine") -> list[WorkerView]:
    """Every worker ever seen, the living first."""
    now = clock.now()
    views = [_view(worker, now) for worker in Worker.objects.filter(kind=kind).order_by("name")]
    return sorted(views, key=lambda view: not view.alive)


def unserved_deployments() -> list[str]:
    """Deployments with work waiting and no living worker: a loud state."""
    served = {name for worker in Worker.objects.filter(kind="engine", lease_until__gt=clock.now()) for name in worker.deployments}
    waiting = Job.objects.filter(state="queued", attention="").values_list("deployment_name", flat=True).distinct()
    return sorted(set(waiting) - served)


def queue_position(run: Run) -> int | None:
    """Jobs of other runs that start before the next of this one; None when none of its jobs waits."""
    own = Job.objects.filter(run=run, state="queued", attention="").order_by("rank", "due_at", "id").first()
    if own is None:
        return None
    before = Q(rank__lt=own.rank) | Q(rank=own.rank, due_at__lt=own.due_at) | Q(rank=own.rank, due_at=own.due_at, id__lt=own.pk)
    queued = Job.objects.filter(before, state="queued", attention="", deployment_name=own.deployment_name)
    return queued.exclude(run=run).count()


def _view(worker: Worker, now: datetime) -> WorkerView:
    stats: dict[str, Any] = worker.stats
    return WorkerView(
        name=worker.name,
        kind=worker.kind,
        host=worker.host,
        deployments=list(worker.deployments),
        refused=stats.get("refused", {}),
        alive=worker.lease_until > now,
        running=int(stats.get("running", 0)),
        waiting=int(stats.get("waiting", 0)),
        held=int(stats.get("held", 0)),
        tokens_per_second=float(stats.get("tokens_per_second", 0)),
        halted=stats.get("halted", ""),
        started_at=worker.started_at,
        last_seen=worker.seen_at,
    )
