"""Change how urgent a run is, hold it, or let it go on. Workers that compute its jobs hear of it with the commit (`listener`)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Q

from audit import services as audit
from engine_queue import tickets
from engine_queue.models import OPEN, Job, Run
from foundation.actor import Actor


def reclass_run(run: Run, *, rank: int, due_at: datetime, actor: Actor) -> None:
    """Give a run and its open jobs another rank and due time. The caller is in a transaction and holds the order's lock.

    A job that waits and has become STAT gets a ticket that nothing routine is before, at once.
    """
    before = run.rank
    waiting = _change(run, "run.reclassed", actor, {"from": before, "to": rank}, rank=rank, due_at=due_at)
    if tickets.STAT_RANK in (before, rank):
        tickets.send_on_commit(waiting)


def hold_run(run: Run, *, actor: Actor, reason: str) -> None:
    """Let nothing of a run start, and what computes stand still. The caller is in a transaction and holds the order's lock."""
    _change(run, "run.held", actor, reason=reason, held=True)


def release_run(run: Run, *, actor: Actor) -> None:
    """Let a run on hold go on. The caller is in a transaction and holds the order's lock."""
    tickets.send_on_commit(_change(run, "run.released", actor, held=False))


def _change(
    run: Run, action: str, actor: Actor, facts: dict[str, Any] | None = None, *, reason: str = "", **columns: Any
) -> Sequence[Job]:
    """Write the columns into a run and its open jobs, with an event; the jobs that wait and may start."""
    locked = Run.objects.select_for_update().get(pk=run.pk)
    for name, value in columns.items():
        setattr(locked, name, value)
    locked.version += 1
    locked.save(update_fields=[*columns, "version"])
    open_jobs = Job.objects.filter(run=locked, state__in=OPEN)
    ids = list(open_jobs.select_for_update().order_by("id").values_list("pk", flat=True))
    Job.objects.filter(pk__in=ids).update(**columns)
    audit.record(actor=actor, action=action, obj=locked, organisation_id=locked.organisation_id, reason=reason, facts=facts or {})
    return list(Job.objects.filter(Q(pk__in=ids), state="queued", attention="", held=False).order_by("id"))
