"""Keep a run's queue filled: jobs are cut a few ahead of the workers."""

from uuid import UUID

from engine_queue import cutting, tickets
from engine_queue.models import Job, Run


def top_up(run: Run) -> list[Job]:
    """Cut until enough jobs of the run wait, and send their tickets on commit. The caller holds the run's lock."""
    if run.items_cut >= run.items_total or run.state not in ("queued", "running"):
        return []
    waiting = Job.objects.filter(run=run, state="queued").count()
    if waiting >= cutting.AHEAD:
        return []
    made = cutting.cut(run, cutting.AHEAD - waiting)
    tickets.send_on_commit(made)
    return made


def top_up_if_free(run_id: UUID) -> list[Job]:
    """`top_up` for a caller that holds a job's lock already: it may not wait for the run's, so a busy run is left to its holder.

    Whoever holds it is a finisher, which tops up itself, or a cancellation; what both miss the sweeper repairs.
    """
    run = Run.objects.select_for_update(skip_locked=True, of=("self",)).filter(pk=run_id).first()
    return top_up(run) if run is not None else []
