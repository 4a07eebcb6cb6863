"""A ticket is no address: which job it leads to is decided at the claim."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction

from audit.models import Event
from engine_queue import claim, cutting, outcomes
from engine_queue.claim import MustWait
from engine_queue.lease_time import LEASE_SECONDS
from engine_queue.models import Job, Run
from foundation import clock
from tests.engine_queue.rows import in_thread_of_its_own, job_of, make_job, make_run, take, taken
from tests.engine_queue.workers import DEPLOYMENT
from tests.factories import make_test_version


@pytest.mark.django_db
def test_with_5000_routine_jobs_queued_one_asap_and_one_promoted_start_next() -> None:
    soon = clock.now() + timedelta(minutes=1)
    crowd = make_run(items=1, due=soon)
    job = crowd.jobs.get()
    when = {"rank": 3, "due_at": soon, "created_at": soon}
    Job.objects.bulk_create(
        Job(first=n, last=n, run=crowd, organisation_id=job.organisation_id, deployment_name=DEPLOYMENT, **when)
        for n in range(1, 5000)
    )
    promoted = make_run(items=1, due=soon + timedelta(hours=9))
    promoted.jobs.update(rank=2)
    asap = make_run(items=1, rank=1, due=soon + timedelta(hours=1))
    assert [taken().run_id for _ in range(3)] == [asap.pk, promoted.pk, crowd.pk]


@pytest.mark.django_db
def test_a_worker_of_several_deployments_takes_the_best_of_all() -> None:
    other, first = (
        make_run(items=1, test=make_test_version(deployment="other")),
        make_run(items=1, rank=1, test=make_test_version()),
    )
    assert [taken(loaded=(DEPLOYMENT, "other")).run_id for _ in range(2)] == [first.pk, other.pk]


@pytest.mark.django_db
def test_equal_ranks_go_by_due_time() -> None:
    late, early = make_run(due=clock.now() + timedelta(hours=2)), make_run(due=clock.now() + timedelta(hours=1))
    assert [taken().run_id for _ in range(3)] == [early.pk, early.pk, late.pk]


@pytest.mark.django_db
def test_a_claim_knows_when_the_results_are_due() -> None:
    """In seconds since 1970, as the engine counts."""
    due = clock.now() + timedelta(minutes=1)
    make_run(items=1, rank=0, due=due)
    assert taken().due == due.timestamp()


@pytest.mark.django_db
def test_a_stat_ticket_claims_stat_only() -> None:
    make_run(rank=1)
    assert take(stat=True) is None
    stat = make_run(rank=0)
    assert taken(stat=True).run_id == stat.pk


@pytest.mark.django_db
@pytest.mark.parametrize("change", [{"format": 99}, {"attention": "job.worker-died"}, {"deployment_name": "other"}])
def test_it_leaves_alone_what_it_may_not_or_cannot_serve(change: dict[str, object]) -> None:
    run = make_run(items=1, jobs=0)
    make_job(run, **change)
    assert take() is None
    assert run.jobs.get().state == "queued"


@pytest.mark.django_db
def test_a_claim_notes_attempt_owner_ticket_and_lease_and_leaves_an_event() -> None:
    make_run(items=1)
    claimed = taken(owner="engine-7/abc")
    job = job_of(claimed)
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM lease_until - clock_timestamp()) FROM engine_queue_job WHERE id = %s", [job.pk])
        (left,) = cursor.fetchone()
    assert (job.state, job.attempt, job.lease_owner, job.task_id) == ("running", 1, "engine-7/abc", "task")
    assert LEASE_SECONDS - 5 < left <= LEASE_SECONDS
    assert Event.objects.get(action="job.claimed", object_id=str(job.pk)).facts["attempt"] == 1


@pytest.mark.django_db
def test_each_claim_lets_the_run_be_cut_further() -> None:
    run = make_run(items=cutting.JOB_ITEMS * 20, jobs=cutting.AHEAD)
    taken()
    assert run.jobs.count() == cutting.AHEAD + 1


@pytest.mark.django_db
def test_a_job_two_workers_died_with_waits_until_this_worker_is_idle() -> None:
    run = make_run(items=1)
    run.jobs.update(deaths=2)
    with pytest.raises(MustWait):
        take(idle=False)
    assert taken(idle=True).alone


@pytest.mark.django_db
def test_a_stat_ticket_passes_by_a_job_that_must_run_alone() -> None:
    make_run(items=1, rank=0, due=clock.now()).jobs.update(deaths=2)
    healthy = make_run(items=1, rank=0)
    assert taken(stat=True, idle=False).run_id == healthy.pk


@pytest.mark.django_db
def test_the_first_job_starts_the_run_and_later_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    facts: list[outcomes.Fact] = []
    monkeypatch.setattr(outcomes, "_listeners", [facts.append])
    run = make_run()
    for claimed in (taken(), taken()):
        claim.started(claimed)
    assert [fact.kind for fact in facts] == ["started"]
    assert Run.objects.get(pk=run.pk).state == "running"


def test_two_claimers_at_the_same_time_get_different_jobs(clone_db: str) -> None:
    make_run(items=cutting.JOB_ITEMS * 8)
    with ThreadPoolExecutor(4) as pool:
        claims = [pool.submit(in_thread_of_its_own, taken) for _ in range(8)]
        jobs = [claimed.result().job_id for claimed in claims]  # type: ignore[attr-defined]
    assert len(set(jobs)) == 8


def test_a_job_that_is_being_claimed_is_skipped_not_waited_for(clone_db: str) -> None:
    make_run(items=1)
    second = make_run(items=1, due=clock.now() + timedelta(days=1))
    locked, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            taken(owner="other/1")
            locked.set()
            done.wait(10)

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(in_thread_of_its_own, hold)
        locked.wait(10)
        assert taken().run_id == second.pk
        done.set()
        other.result()
