"""Tickets: messages that tell a worker of a deployment to look for work. A ticket is no address; the job is chosen at the claim."""

from collections.abc import Iterable, Sequence

import structlog
from celery import current_app
from django.db import connection, transaction
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from engine_queue.models import Job
from foundation import clock

log = structlog.get_logger(__name__)

TASK = "engine_queue.ticket"
FORMAT = 1
STAT_RANK = 0
BROKER_ERRORS = (KombuError, RedisError, OSError)

# One quick second try: a pooled connection that died with an earlier broker fails once. More would hold up the caller.
_RETRY = {"max_retries": 1, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.1}

# SKIP LOCKED: a job that is being claimed at this moment needs no note of its ticket, and no writer is waited for.
_NOTE = """
    UPDATE engine_queue_job SET ticket_at = %(now)s, tickets = tickets + 1
    WHERE id IN (SELECT id FROM engine_queue_job WHERE id = ANY(%(sent)s) AND state = 'queued' ORDER BY id FOR UPDATE SKIP LOCKED)
"""


def stat_queue(deployment: str) -> str:
    """The queue whose tickets claim STAT only."""
    return f"stat.{deployment}"


def routine_queue(deployment: str) -> str:
    """The queue of everything else."""
    return f"routine.{deployment}"


def queue_of(job: Job) -> str:
    """Where this job's ticket goes."""
    return stat_queue(job.deployment_name) if job.rank == STAT_RANK else routine_queue(job.deployment_name)


def send_on_commit(jobs: Iterable[Job]) -> None:
    """Send a ticket for each job once the caller's transaction has committed. Never breaks it."""
    waiting = list(jobs)
    if waiting:
        transaction.on_commit(lambda: _send_quietly(waiting), robust=True)


def send(jobs: Sequence[Job]) -> int:
    """Send a ticket for each job now; returns how many went. Where the broker is away the sweeper sends them later."""
    sent = _publish([(queue_of(job), job.pk) for job in jobs])
    if sent:
        with connection.cursor() as cursor:
            cursor.execute(_NOTE, {"sent": sent, "now": clock.now()})
    return len(sent)


def nudge(deployment: str, *, stat: bool = False) -> None:
    """Send a ticket for no job in particular, in place of one that was used up for no job of its queue."""
    _publish([(stat_queue(deployment) if stat else routine_queue(deployment), 0)])


def pass_on(deployment: str, count: int) -> None:
    """Send as many tickets anew for a deployment that this worker no longer serves; the tickets it held lead nowhere."""
    waiting = Job.objects.filter(state="queued", attention="", held=False, deployment_name=deployment).order_by(
        "rank", "due_at", "id"
    )
    send(list(waiting[:count]))


def _send_quietly(jobs: Sequence[Job]) -> None:
    send(jobs)


def _publish(addressed: Sequence[tuple[str, int]]) -> list[int]:
    sent: list[int] = []
    try:
        with current_app.producer_or_acquire() as producer:
            for queue, job in addressed:
                current_app.send_task(
                    TASK, args=[{"format": FORMAT, "job": job}], queue=queue, producer=producer, retry=True, retry_policy=_RETRY
                )
                sent.append(job)
    except BROKER_ERRORS as error:
        log.warning("tickets.broker_away", error=type(error).__name__, unsent=len(addressed) - len(sent))
    return sent
