"""Stop a run: what is queued is taken off, what is running is called back."""

from django.db import transaction

from audit import services as audit
from engine_queue import tickets
from engine_queue.machines import RUN
from engine_queue.models import Run
from foundation.actor import Actor


def cancel_run(run: Run, *, actor: Actor, reason: str) -> None:
    """Cancel a run that is not scored. The caller holds the lock of its order; committed results stay.

    Queued jobs are cancelled now. Running ones are asked to stop: their worker frees the engine and closes them, and a
    result that comes in all the same is refused.
    """
    run = Run.objects.select_for_update().get(pk=run.pk)
    audit.transition(RUN, run, to="cancelled", actor=actor, reason=reason)
    run.jobs.filter(state="queued").update(state="cancelled")
    running = run.jobs.filter(state="running")
    running.update(cancel_requested=True)
    ids = [task_id for task_id in running.values_list("task_id", flat=True) if task_id]
    transaction.on_commit(lambda: tickets.revoke(ids), robust=True)
