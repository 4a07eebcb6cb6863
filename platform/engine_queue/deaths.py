"""A worker died holding a job. The job goes back; after two deaths it runs alone, after three a person must look."""

from uuid import UUID

import structlog
from django.db import transaction

from engine_queue import moving, outcomes, settling
from engine_queue.lease import NameLease
from engine_queue.models import Job, Run
from engine_queue.work import ATTENTION_AFTER
from foundation.actor import process
from foundation.reasons import Reason

log = structlog.get_logger(__name__)


def bury(job_id: int, run_id: UUID, *, owner: str, attempt: int, by: str) -> bool:
    """Requeue a running job whose holder is dead; False when it has moved on since it was looked at."""
    with transaction.atomic():
        outcomes.lock(Run.objects.get(pk=run_id))
        run = Run.objects.select_for_update().get(pk=run_id)
        job = Job.objects.select_for_update().get(pk=job_id)
        if (job.state, job.lease_owner, job.attempt) != ("running", owner, attempt):
            return False
        log.warning("job.worker_died", job=job_id, attempt=attempt, owner=owner, deaths=job.deaths + 1)
        if job.cancel_requested or run.state == "cancelled":
            moving.cancel(job, actor=process(by), reason=settling.RUN_CANCELLED)
        else:
            attention = str(Reason.JOB_WORKER_DIED) if job.deaths + 1 >= ATTENTION_AFTER else ""
            settling.give_back(run, job, worker=by, died=True, attention=attention, reason=f"worker {owner} is gone")
    return True


def bury_former_selves(lease: NameLease) -> int:
    """Requeue at once what earlier incarnations of this worker were holding: the name is ours, so they are gone."""
    former = Job.objects.filter(state="running", lease_owner__startswith=f"{lease.name}/").exclude(lease_owner=lease.incarnation)
    held = list(former.order_by("rank", "due_at", "id").values_list("id", "run_id", "lease_owner", "attempt"))
    return sum(bury(job, run, owner=owner, attempt=attempt, by=lease.name) for job, run, owner, attempt in held)
