"""Runs, claims and outcomes for tests of the queue, without orders."""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connections, transaction

from engine_queue import claim, cutting
from engine_queue.models import Item, ItemSet, Job, Run
from engine_queue.work import Claimed, ItemScore, Outcome
from foundation import clock
from registry.models import TestVersion
from tests.engine_queue.workers import DEPLOYMENT
from tests.factories import make_test_version


def make_run(
    *, items: int = 50, rank: int = 3, due: datetime | None = None, test: TestVersion | None = None, jobs: int = 99
) -> Run:
    """A run of its own item set, cut into `jobs` jobs at most."""
    test = test or TestVersion.objects.first() or make_test_version()
    now = clock.now()
    item_set = ItemSet.objects.create(
        organisation_id=test.definition.laboratory_id, kind="variant", reference=test.reference, count=items
    )
    contig = test.reference.contigs[0]["name"]
    Item.objects.bulk_create(
        Item(item_set=item_set, ordinal=n, contig=contig, position=200 + n, ref="A", alt="C") for n in range(items)
    )
    run = Run.objects.create(
        organisation_id=test.definition.laboratory_id,
        kind="question",
        item_set=item_set,
        test_version=test,
        model_version=test.deployment.model_version,
        deployment=test.deployment,
        precision="fp32",
        protocol=test.protocol,
        reference_digest=test.reference.digest,
        seed=secrets.randbits(63),
        rank=rank,
        due_at=due or now + timedelta(hours=1),
        items_total=items,
        created_at=now,
    )
    with transaction.atomic():
        cutting.cut(run, jobs)
    return run


def make_job(run: Run, **columns: object) -> Job:
    """A job of a run that was not cut, with columns as they can only be born."""
    usual = {"deployment_name": run.deployment_id, "organisation_id": run.organisation_id, "rank": run.rank, "due_at": run.due_at}
    return Job.objects.create(run=run, first=0, last=run.items_total - 1, created_at=clock.now(), **{**usual, **columns})


def take(
    *, owner: str = "worker/1", stat: bool = False, idle: bool = True, loaded: Sequence[str] = (DEPLOYMENT,), task: str = "task"
) -> Claimed | None:
    return claim.claim(loaded=loaded, owner=owner, worker=owner.partition("/")[0], task_id=task, stat=stat, idle=idle)


def taken(*, owner: str = "worker/1", **how: Any) -> Claimed:
    claimed = take(owner=owner, **how)
    assert claimed is not None
    return claimed


def job_of(claimed: Claimed) -> Job:
    return Job.objects.get(pk=claimed.job_id)


def scores_of(claimed: Claimed) -> list[ItemScore]:
    work = claim.load(claimed)
    return [ItemScore(item.id, ll_ref=-10.0, ll_alt=-11.5, delta=-1.5, tokens=64) for item in work.items]


def scored(claimed: Claimed, *, scores: Sequence[ItemScore] | None = None) -> Outcome:
    rows = scores_of(claimed) if scores is None else list(scores)
    return Outcome(claimed, "scored", settle=lambda: None, scores=lambda: rows, fingerprint="f" * 64, batch_invariant=True)


def returned(claimed: Claimed, *, attention: str = "", resend: bool = True) -> Outcome:
    return Outcome(claimed, "returned", settle=lambda: None, reason="test", attention=attention, resend=resend)


def in_thread_of_its_own(function: object, *arguments: object) -> object:
    """Call `function` and drop the thread's connections: what a test leaves open would keep its database from going."""
    try:
        return function(*arguments)  # type: ignore[operator]  # any callable
    finally:
        connections.close_all()
