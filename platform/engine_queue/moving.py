"""The one way in which a job changes its state: along an edge of JOB, with its columns, and with an event a person may look for.

`audit.transition` does this for rows with a version. A job has none: whoever moves it has locked it, and its attempt fences it.
"""

from collections.abc import Mapping
from typing import Any

from django.db.models.expressions import BaseExpression

from audit import services as audit
from engine_queue.lease_time import lease_end
from engine_queue.machines import JOB
from engine_queue.models import Job
from foundation import clock
from foundation.actor import Actor
from foundation.errors import IllegalMove, Stale


def take(job: Job, *, owner: str, task_id: str, actor: Actor) -> None:
    """Claim a locked job: a new attempt, under a lease. The event keeps who held it: the row knows only the last one."""
    held = {"lease_owner": owner, "lease_until": lease_end(), "task_id": task_id}
    _move(job, to="running", attempt=job.attempt + 1, started_at=clock.now(), **held)
    _tell(job, "job.claimed", actor, facts={"worker": owner, "task": task_id})


_NOWHERE = {"engine_state": "", "finish_low": None, "finish_high": None, "engine_ahead": None}  # it is in no engine any more


def put_back(job: Job, *, died: bool, attention: str, actor: Actor, reason: str) -> None:
    """Queue a locked running job again, because its attempt was returned or, with `died`, because its worker is no more."""
    facts = {"worker": job.lease_owner, "attention": attention}
    freed = {"lease_owner": "", "lease_until": None, "task_id": "", **_NOWHERE}
    again = {"ticket_at": None, "tickets": 0}  # the back-off of the sweeper begins anew
    _move(job, to="queued", deaths=job.deaths + died, attention=attention, **freed, **again)
    _tell(job, "job.worker_died" if died else "job.given_back", actor, reason=reason, facts={**facts, "deaths": job.deaths})


def succeed(job: Job, **said: Any) -> None:
    """End a locked running job whose results are written in this transaction. They are its trace: no event repeats them.

    `said` are columns that its worker has filled in.
    """
    _move(job, to="succeeded", ended_at=clock.now(), lease_until=None, **_NOWHERE, **said)


def cancel(job: Job, *, actor: Actor, reason: str) -> None:
    """End a locked job without results."""
    _move(job, to="cancelled", ended_at=clock.now(), lease_until=None, **_NOWHERE)
    _tell(job, "job.cancelled", actor, reason=reason)


def _move(job: Job, *, to: str, **changes: Any) -> None:
    if not JOB.allows(job.state, to):
        raise IllegalMove(f"a {job.state} job cannot become {to}", code="state.illegal-move")
    if Job.objects.filter(pk=job.pk, state=job.state, attempt=job.attempt).update(state=to, **changes) != 1:
        raise Stale(code="state.stale")
    for name, value in {**changes, "state": to}.items():
        if isinstance(value, BaseExpression):
            job.__dict__.pop(name, None)  # what the database made of it is read when somebody asks
        else:
            setattr(job, name, value)


def _tell(job: Job, action: str, actor: Actor, *, reason: str = "", facts: Mapping[str, Any] | None = None) -> None:
    told = {"run": str(job.run_id), "attempt": job.attempt, **(facts or {})}
    audit.record(actor=actor, action=action, obj=job, organisation_id=job.organisation_id, reason=reason, facts=told)
