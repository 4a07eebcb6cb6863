"""Parts of orders that wait for a person, on the engine page: what is wrong with each, and the page on which one is let go on."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from accounts.roles import Verb
from dashboard.wording import flag
from engine_queue import attention
from engine_queue.models import Job
from foundation.actor import Actor
from foundation.errors import NotFound
from orders.models import Order
from orders.remarks import remark

MOST = 50  # on the page: more wait only where a whole machine is wrong, and then the first few say what


@dataclass(frozen=True)
class WaitingPart:
    """A job that no worker takes before somebody says so."""

    job: int
    order: UUID | None
    accession: str  # of the order; blank: it belongs to none
    priority: str
    deployment: str
    why: str
    deaths: int  # workers that ended while they held it
    attempt: int
    first: int  # items [first, last] of its run
    last: int
    since: datetime  # when its last attempt began


def rows(actor: Actor) -> list[WaitingPart]:
    """Those of the laboratories whose engine this person looks after, the most urgent first; at most `MOST`."""
    return _rows(actor, list(_waiting(actor).order_by("rank", "due_at", "id")[:MOST]))


def one(actor: Actor, pk: int) -> WaitingPart:
    """Raises `NotFound` for a part that is not there, waits no more, or belongs to another laboratory."""
    job = _waiting(actor).filter(pk=pk).first()
    if job is None:
        raise NotFound
    return _rows(actor, [job])[0]


def resume(*, actor: Actor, pk: int, data: Mapping[str, str]) -> WaitingPart:
    """Let it go on. Raises `NotFound`, `InvalidOrder` where nothing is said of what was done, or what `attention.resume` raises."""
    part = one(actor, pk)
    words = remark(data.get("reason", ""), field="reason", missing="Say what was found and done: it is kept under your name.")
    attention.resume(Job.objects.for_actor(actor, Verb.DRAIN).get(pk=pk), actor=actor, reason=words)
    return part


def _waiting(actor: Actor) -> QuerySet[Job]:
    jobs = Job.objects.for_actor(actor, Verb.DRAIN).filter(state="queued").exclude(attention="")
    return jobs.select_related("run")


def _rows(actor: Actor, jobs: list[Job]) -> list[WaitingPart]:
    numbers = {job.run.order_id for job in jobs if job.run.order_id}
    found = Order.objects.for_actor(actor, Verb.DRAIN).filter(pk__in=numbers).values_list("pk", "accession", "priority")
    known: dict[UUID | None, tuple[str, str]] = {pk: (accession, priority) for pk, accession, priority in found}
    return [_row(job, *known.get(job.run.order_id, ("", ""))) for job in jobs]


def _row(job: Job, accession: str, priority: str) -> WaitingPart:
    return WaitingPart(
        job=job.pk, order=job.run.order_id, accession=accession, priority=priority, deployment=job.deployment_name,
        why=flag(job.attention), deaths=job.deaths, attempt=job.attempt, first=job.first, last=job.last,
        since=job.started_at or job.created_at,
    )  # fmt: skip
