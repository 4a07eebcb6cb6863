"""Write how an attempt ended: one transaction per outcome, locks in order, fenced by attempt and owner."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from audit import services as audit
from engine_queue import claim, moving, outcomes, supply, tickets
from engine_queue.errors import OutcomeRefused
from engine_queue.machines import RUN
from engine_queue.models import Job, Result, Run
from engine_queue.outcomes import Fact
from engine_queue.work import Claimed, ItemScore, Outcome
from foundation import clock
from foundation.actor import process
from foundation.reasons import Reason

RUN_CANCELLED = "its run is cancelled"


def settle(outcome: Outcome) -> bool:
    """Write one outcome, whole or not at all. False when the attempt is no longer ours: it was fenced, nothing is written."""
    scores = outcome.scores() if outcome.kind == "scored" else []
    with transaction.atomic():
        locked = _lock(outcome.claimed)
        if locked is None:
            return False
        run, job, version = locked
        if run.state == "cancelled" or job.cancel_requested:
            moving.cancel(job, actor=process(outcome.claimed.worker), reason=RUN_CANCELLED)
        elif outcome.kind == "scored":
            _score(run, job, version, outcome, scores)
        else:
            give_back(
                run, job, worker=outcome.claimed.worker, reason=outcome.reason, attention=outcome.attention, resend=outcome.resend
            )
    return True


def refuse(outcome: Outcome) -> None:
    """An outcome that cannot be written: the job waits for a person instead of running again and again."""
    with transaction.atomic():
        locked = _lock(outcome.claimed)
        if locked is not None:
            run, job, _version = locked
            attention = str(Reason.JOB_OUTCOME_REFUSED)
            give_back(run, job, worker=outcome.claimed.worker, reason="its outcome cannot be written", attention=attention)


def give_back(
    run: Run, job: Job, *, worker: str, reason: str, died: bool = False, attention: str = "", resend: bool = True
) -> None:
    """Put a locked running job back into the queue; with `attention`, it stays there until a person has looked."""
    moving.put_back(job, died=died, attention=attention, actor=process(worker), reason=reason)
    if attention:
        outcomes.report(Fact("attention", run, job, worker=worker, reason=attention))
    elif resend and not job.held:
        tickets.send_on_commit([job])


def close(run: Run, *, worker: str) -> None:
    """Move a locked run whose results are all in to scored, and report it."""
    audit.transition(RUN, run, to="scored", actor=process(worker), scored_at=clock.now())
    outcomes.report(Fact("scored", run, worker=worker))


def _lock(claimed: Claimed) -> tuple[Run, Job, int | None] | None:
    """Order, run, job, in that order; None when the job is no longer this attempt's."""
    version = outcomes.lock(Run.objects.get(pk=claimed.run_id))
    run = Run.objects.select_for_update().get(pk=claimed.run_id)
    job = Job.objects.select_for_update().get(pk=claimed.job_id)
    ours = job.state == "running" and job.attempt == claimed.attempt and job.lease_owner == claimed.owner
    return (run, job, version) if ours else None


def _score(run: Run, job: Job, version: int | None, outcome: Outcome, scores: Sequence[ItemScore]) -> None:
    worker = outcome.claimed.worker
    if len(scores) != job.last - job.first + 1:
        raise OutcomeRefused(f"job {job.pk} has {job.last - job.first + 1} items and got {len(scores)} results")
    if run.state == "queued":  # whoever claimed the first job died before it could say so
        claim.begin(run, job, worker=worker)
        version = outcomes.lock(run)
    run.items_done += len(scores)
    run.version += 1
    results = Result.objects.bulk_create(_row(run, job, version or run.version, outcome, score) for score in scores)
    run.save(update_fields=["items_done", "version"])
    moving.succeed(job, **_found(job, outcome))
    outcomes.report(Fact("results", run, job, results, worker=worker))
    if run.items_done == run.items_total:
        close(run, worker=worker)
    else:
        supply.top_up(run)


def _found(job: Job, outcome: Outcome) -> dict[str, Any]:
    """When the engine began with it, and how often it stood still: also of a job that was too short to be told of."""
    if outcome.found is None or outcome.found.began is None:
        return {}
    before = [pause for pause in job.pauses if pause["attempt"] != job.attempt]
    pauses = [{"attempt": job.attempt, **asdict(pause)} for pause in outcome.found.pauses]
    return {"began_at": datetime.fromtimestamp(outcome.found.began, UTC), "pauses": before + pauses}


def _row(run: Run, job: Job, version: int, outcome: Outcome, score: ItemScore) -> Result:
    return Result(
        organisation_id=run.organisation_id, run=run, item_id=score.item_id, job=job, attempt=outcome.claimed.attempt,
        at_version=version, ll_ref=score.ll_ref, ll_alt=score.ll_alt, delta=score.delta, tokens=score.tokens, bases=score.bases,
        flags=list(score.flags), failure=score.failure, answer=score.answer, fingerprint=outcome.fingerprint,
        batch_invariant=outcome.batch_invariant, worker=outcome.claimed.worker, created_at=clock.now(),
    )  # fmt: skip
