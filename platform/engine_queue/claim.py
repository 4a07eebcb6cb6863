"""Claim the best job this worker can serve. A ticket is no address: which job it leads to is decided here, by the database."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from django.db import connection, transaction

from audit import services as audit
from engine_queue import outcomes, supply, tickets
from engine_queue.machines import RUN
from engine_queue.models import Item, Job, Run
from engine_queue.outcomes import Fact
from engine_queue.work import ALONE_AFTER, Claimed, Work, WorkItem
from foundation import clock
from foundation.actor import process
from registry import files

FORMATS = [1]  # of jobs this code understands; others stay queued
LEASE_SECONDS = 30

_BEST = """
    SELECT id, deaths FROM engine_queue_job
    WHERE state = 'queued' AND attention = '' AND deployment_name {loaded} AND format = ANY(%(formats)s)
      AND rank <= %(lowest)s AND deaths <= %(deaths)s
    ORDER BY rank, due_at, id FOR UPDATE SKIP LOCKED LIMIT 1
"""
# With `=` the index gives the rows in order; with ANY every queued row is read and sorted (12 ms at 20,000).
_BEST_OF_ONE = _BEST.format(loaded="= %(first)s")
_BEST_OF_SEVERAL = _BEST.format(loaded="= ANY(%(loaded)s)")
_TAKE = """
    UPDATE engine_queue_job
    SET state = 'running', attempt = attempt + 1, lease_owner = %(owner)s, task_id = %(task_id)s, started_at = %(now)s,
        lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
    WHERE id = %(id)s RETURNING id, run_id, attempt, lease_owner, deployment_name, rank, first, last, deaths
"""
_ANY_RANK, _ANY_DEATHS = 32767, 32767


class MustWait(Exception):
    """The best job has to run alone, and this worker is not idle."""


def claim(*, loaded: Sequence[str], owner: str, worker: str, task_id: str, stat: bool, idle: bool) -> Claimed | None:
    """Take the best claimable job, or None. `stat`: only STAT; `idle`: this worker holds nothing else.

    In the same transaction the attempt is recorded and the run is cut further. Raises `MustWait` when the best job may
    only run alone; a STAT ticket passes it by, because nothing holds up a STAT.
    """
    with transaction.atomic():
        found = _best(loaded, stat=stat, deaths=_ANY_DEATHS)
        if found is not None and found[1] >= ALONE_AFTER and not idle:
            if not stat:
                raise MustWait
            found = _best(loaded, stat=True, deaths=ALONE_AFTER - 1)
        if found is None:
            return None
        claimed = _take(found[0], owner=owner, worker=worker, task_id=task_id)
        _record(claimed, task_id)
        supply.top_up_if_free(claimed.run_id)
    return claimed


def started(claimed: Claimed) -> None:
    """Say that a run has begun, in a transaction of its own with the locks in order; nothing to do for its later jobs."""
    run = Run.objects.get(pk=claimed.run_id)
    if run.state != "queued":
        return
    with transaction.atomic():
        outcomes.lock(run)
        run = Run.objects.select_for_update().get(pk=claimed.run_id)
        job = Job.objects.select_for_update().get(pk=claimed.job_id)
        if run.state == "queued" and job.state == "running":
            begin(run, job, worker=claimed.worker)


def begin(run: Run, job: Job | None, *, worker: str) -> None:
    """Move a locked run from queued to running and report it."""
    audit.transition(RUN, run, to="running", actor=process(worker), started_at=clock.now())
    outcomes.report(Fact("started", run, job, worker=worker))


def load(claimed: Claimed) -> Work:
    """Read what scoring a claimed job needs."""
    run = Run.objects.select_related("item_set__reference").get(pk=claimed.run_id)
    reference = run.item_set.reference
    rows = Item.objects.filter(item_set_id=run.item_set_id, ordinal__range=(claimed.first, claimed.last)).order_by("ordinal")
    return Work(
        claimed=claimed,
        kind=cast(Literal["variant", "sequence"], run.item_set.kind),
        protocol=run.protocol,
        reference_path=str(files.fasta(reference)) if reference else "",
        reference_digest=run.reference_digest,
        items=[WorkItem(*row) for row in rows.values_list("id", "ordinal", "contig", "position", "ref", "alt", "sequence")],
    )


def _best(loaded: Sequence[str], *, stat: bool, deaths: int) -> tuple[int, int] | None:
    values: dict[str, Any] = {"loaded": list(loaded), "first": loaded[0], "formats": FORMATS, "deaths": deaths}
    values["lowest"] = tickets.STAT_RANK if stat else _ANY_RANK
    with connection.cursor() as cursor:
        cursor.execute(_BEST_OF_ONE if len(loaded) == 1 else _BEST_OF_SEVERAL, values)
        row: Any = cursor.fetchone()
    return (row[0], row[1]) if row else None


def _take(job_id: int, *, owner: str, worker: str, task_id: str) -> Claimed:
    values: dict[str, Any] = {"id": job_id, "owner": owner, "task_id": task_id, "lease": LEASE_SECONDS, "now": clock.now()}
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, values)
        return replace(Claimed(*cursor.fetchone()), worker=worker)


def _record(claimed: Claimed, task_id: str) -> None:
    """Which worker held which attempt: the row keeps only the last one."""
    job = Job.objects.get(pk=claimed.job_id)
    audit.record(
        actor=process(claimed.worker), action="job.claimed", obj=job, organisation_id=job.organisation_id,
        facts={"run": str(claimed.run_id), "attempt": claimed.attempt, "worker": claimed.owner, "task": task_id},
    )  # fmt: skip
