"""A job that waits for a person goes on when that person says so, under his name."""

from django.db import transaction

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from engine_queue import outcomes, tickets
from engine_queue.errors import JobNotWaiting
from engine_queue.models import Job, Run
from engine_queue.outcomes import Fact
from foundation.actor import Actor


def resume(job: Job, *, actor: Actor, reason: str) -> Job:
    """Let a job run again that needed attention; its deaths are forgotten with it, since somebody has seen to their cause.

    Raises `NotPermitted` for who may not stop the engine either, and `JobNotWaiting` when nothing is to be decided any more.
    """
    require(actor, Verb.DRAIN, job.organisation_id)
    with transaction.atomic():
        outcomes.lock(Run.objects.get(pk=job.run_id))
        run = Run.objects.select_for_update().get(pk=job.run_id)
        locked = Job.objects.select_for_update().get(pk=job.pk)
        if locked.state != "queued" or not locked.attention:
            raise JobNotWaiting(f"job {job.pk} waits for nobody: it is {locked.state}")
        waited_for = locked.attention
        facts = {"run": str(locked.run_id), "attention": locked.attention, "deaths": locked.deaths}
        locked.attention, locked.deaths = "", 0
        locked.save(update_fields=["attention", "deaths"])
        audit.record(
            actor=actor, action="job.resumed", obj=locked, organisation_id=locked.organisation_id, reason=reason, facts=facts
        )
        outcomes.report(Fact("resumed", run, locked, worker=actor.name, reason=waited_for))
        tickets.send_on_commit([locked])
    return locked
