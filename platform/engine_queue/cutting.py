"""Cut a run into jobs, a few at a time: several workers share a run, and a restart repeats little."""

from engine_queue.models import Job, Run, RunKind
from foundation import clock

JOB_ITEMS = 25  # items of one job: some hundred milliseconds of engine time, so that progress is seen and little is repeated
ASKED_ITEMS = 1  # of a question, whose sequences may be long: each comes when it is done
SPELT = 2  # format of the jobs of a track: a worker of before leaves them to others
AHEAD = 16  # jobs cut when a run is placed; each one that starts lets another be cut


def cut(run: Run, jobs: int) -> list[Job]:
    """Cut the next `jobs` slices of a run; returns the new jobs (fewer, or none, when the run is used up).

    The caller is in a transaction and holds the locks of the order and of the run, in that order.
    """
    now, made, items = clock.now(), [], JOB_ITEMS if run.test_version_id else ASKED_ITEMS
    for _ in range(jobs):
        if run.items_cut >= run.items_total:
            break
        last = min(run.items_cut + items, run.items_total) - 1
        made.append(
            Job(
                run=run,
                organisation_id=run.organisation_id,
                deployment_name=run.deployment_id,
                format=SPELT if run.kind == RunKind.TRACK else 1,
                first=run.items_cut,
                last=last,
                rank=run.rank,
                due_at=run.due_at,
                held=run.held,
                created_at=now,
            )
        )
        run.items_cut = last + 1
    run.save(update_fields=["items_cut"])
    return Job.objects.bulk_create(made)
