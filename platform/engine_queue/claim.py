"""Claim the best job this worker can serve. A ticket is no address: which job it leads to is decided here, by the database."""

from collections.abc import Sequence
from typing import Any, Literal, cast

from django.db import transaction

from audit import services as audit
from engine_queue import cutting, moving, outcomes, supply, tickets
from engine_queue.machines import RUN
from engine_queue.models import Item, Job, Run
from engine_queue.outcomes import Fact
from engine_queue.work import ALONE_AFTER, Claimed, Work, WorkItem
from foundation import clock
from foundation.actor import process
from registry import files, proofs
from registry.proofs import UNSEEN

FORMATS = [1, cutting.SPELT]  # of jobs this code understands; others stay queued

_BEST = """
    SELECT * FROM engine_queue_job
    WHERE state = 'queued' AND attention = '' AND NOT held AND deployment_name {loaded} AND format = ANY(%(formats)s)
      AND rank <= %(lowest)s AND deaths <= %(deaths)s
    ORDER BY rank, due_at, id LIMIT 1
"""
# With `=` the index gives the rows in order; with ANY every queued row is read and sorted (12 ms at 20,000).
_BEST_OF_ONE = _BEST.format(loaded="= %(first)s")
_BEST_OF_SEVERAL = _BEST.format(loaded="= ANY(%(loaded)s)")
_TAKE = " FOR UPDATE SKIP LOCKED"
_ANY_RANK, _ANY_DEATHS = 32767, 32767


class MustWait(Exception):
    """The best job has to run alone, and this worker is not idle."""


class Locked(Exception):
    """There are jobs this worker can serve, and somebody is writing to the rows of all of them: it may come again in a moment.

    The sender of a ticket is one of those, who notes it on the job.
    """


def claim(*, loaded: Sequence[str], owner: str, worker: str, task_id: str, stat: bool, idle: bool) -> Claimed | None:
    """Take the best claimable job, or None. `stat`: only STAT; `idle`: this worker holds nothing else.

    In the same transaction the attempt is recorded and the run is cut further. Raises `MustWait` when the best job may
    only run alone; a STAT ticket passes it by, because nothing holds up a STAT. Raises `Locked` when there is a job to take and
    none whose row is free.
    """
    if not loaded:
        return None
    deaths = ALONE_AFTER - 1 if stat and not idle else _ANY_DEATHS
    with transaction.atomic():
        job = _best(loaded, stat=stat, deaths=deaths)
        if job is None and _best(loaded, stat=stat, deaths=deaths, take=False) is not None:
            raise Locked
        if job is None:
            return None
        if job.deaths >= ALONE_AFTER and not idle:
            raise MustWait
        moving.take(job, owner=owner, task_id=task_id, actor=process(worker))
        supply.top_up_if_free(job.run_id)
    return Claimed(
        job.pk, job.run_id, job.attempt, owner, job.deployment_name, job.rank, job.first, job.last, job.deaths, worker=worker,
        due=job.due_at.timestamp(),
    )  # fmt: skip


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
    columns = ("id", "ordinal", "contig", "position", "ref", "alt", "sequence", "end_position")
    return Work(
        claimed=claimed,
        kind=cast(Literal["variant", "track", "sequence", "score", "continue", "embed"], run.item_set.kind),
        protocol=run.protocol,
        reference_path=str(files.fasta(reference)) if reference else "",
        reference_digest=run.reference_digest,
        reference_look=proofs.look(files.fasta(reference), run.reference_digest) if reference else UNSEEN,
        contig_digests=files.contig_digests(reference) if reference else {},
        items=[WorkItem(*row) for row in rows.values_list(*columns)],
        seed=run.seed,
    )


def _best(loaded: Sequence[str], *, stat: bool, deaths: int, take: bool = True) -> Job | None:
    values: dict[str, Any] = {"loaded": list(loaded), "first": loaded[0], "formats": FORMATS, "deaths": deaths}
    values["lowest"] = tickets.STAT_RANK if stat else _ANY_RANK
    best = (_BEST_OF_ONE if len(loaded) == 1 else _BEST_OF_SEVERAL) + (_TAKE if take else "")
    return next(iter(Job.objects.raw(best, values)), None)
