"""Cancel a run: what waits never starts, what runs is stopped by the worker that holds it."""

from celery import current_app
from django.db import transaction

from audit import services as audit
from engine_queue import moving, tickets
from engine_queue.machines import RUN
from engine_queue.models import Job, Run
from foundation.actor import Actor


def cancel_run(run: Run, *, actor: Actor, reason: str) -> None:
    """Cancel a run that is not scored yet. The caller is in a transaction and holds the order's lock."""
    locked = Run.objects.select_for_update().get(pk=run.pk)
    audit.transition(RUN, locked, to="cancelled", actor=actor, reason=reason)
    jobs = list(Job.objects.select_for_update().filter(run=run, state__in=["queued", "running"]).order_by("id"))
    for job in [job for job in jobs if job.state == "queued"]:  # as many as are cut ahead of the workers
        moving.cancel(job, actor=actor, reason=reason)
    running = [job for job in jobs if job.state == "running"]
    Job.objects.filter(pk__in=[job.pk for job in running]).update(cancel_requested=True)
    claimed_by = [job.task_id for job in running if job.task_id]
    if claimed_by:
        transaction.on_commit(lambda: _stop(claimed_by), robust=True)


def _stop(task_ids: list[str]) -> None:
    """Reach the workers at once. Where the broker is away they see `cancel_requested` when they renew their leases."""
    try:
        current_app.control.revoke(task_ids, terminate=True)
    except tickets.BROKER_ERRORS:
        return
