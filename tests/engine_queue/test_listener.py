"""What is asked of a running job reaches it with the commit, whoever changed its row, and at the next look when nobody was told."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest
import redis
from django.db import connection, transaction

from engine_queue import cancelling, claim, crew, listener, steering, tickets
from engine_queue.models import Job, Run
from engine_queue.work import Claimed, Work
from foundation import clock
from foundation.actor import process
from tests.engine_queue.rows import in_thread_of_its_own, make_run
from tests.engine_queue.test_crew import Worker, settle
from tests.engine_queue.workers import DEPLOYMENT, wait_until

SOMEBODY = process("a person")


@pytest.fixture
def worker(clone_db: str, valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    """One that never looks unless it is told."""
    monkeypatch.setattr(listener, "PERIOD_SECONDS", 3600.0)
    made = Worker()
    made.crew.start()
    wait_until(lambda: made.crew.listener.listens, 20)
    yield made
    made.crew.stop()


def running(worker: Worker, *, rank: int = 3) -> Run:
    """A run whose only job computes."""
    run = make_run(items=1, rank=rank)
    worker.ticket(stat=rank == 0)
    settle(worker)
    assert worker.host.computing() == [run.pk]
    return run


def reclass(run: Run, rank: int) -> None:
    with transaction.atomic():
        steering.reclass_run(run, rank=rank, due_at=clock.now() + timedelta(hours=1), actor=SOMEBODY)


def hold(run: Run) -> None:
    with transaction.atomic():
        steering.hold_run(run, actor=SOMEBODY, reason="hold.specimen")


def release(run: Run) -> None:
    with transaction.atomic():
        steering.release_run(run, actor=SOMEBODY)


def asked(worker: Worker) -> list[str]:
    return [said for said, _job in worker.host.asked]


def test_a_promotion_reaches_the_engine_with_its_commit_and_not_before(worker: Worker) -> None:
    run = running(worker)
    with transaction.atomic():
        steering.reclass_run(run, rank=0, due_at=run.due_at, actor=SOMEBODY)
        with ThreadPoolExecutor(1) as pool:  # a look on a connection of its own
            pool.submit(in_thread_of_its_own, worker.crew.listener.heed).result()
        assert asked(worker) == []
    wait_until(lambda: asked(worker) == ["rank 0"], 20)
    worker.host.finish(run)
    settle(worker)
    assert worker.settled == [1]


def test_a_promotion_tells_the_engine_by_when_the_results_are_due_now(worker: Worker) -> None:
    run = running(worker)
    reclass(run, 0)
    wait_until(lambda: asked(worker) == ["rank 0"], 20)
    job = Job.objects.get(run=run)
    assert job.due_at != run.due_at
    assert worker.host.dues == {job.pk: job.due_at.timestamp()}


def test_what_was_promoted_is_written_before_routine_results(worker: Worker) -> None:
    run = running(worker)
    reclass(run, 0)
    wait_until(lambda: asked(worker) == ["rank 0"], 20)
    assert [held.claimed.rank for held in worker.crew._held.values()] == [0]


def test_a_cancellation_reaches_the_engine_though_the_broker_is_away(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancelling, "_stop", lambda task_ids: None)
    run = running(worker)
    with transaction.atomic():
        cancelling.cancel_run(run, actor=SOMEBODY, reason="order.cancelled")
    wait_until(lambda: worker.host.computing() == [], 20)
    settle(worker)
    assert Job.objects.get().state == "cancelled"


def test_a_job_on_hold_stands_still_gives_its_place_to_another_and_goes_on(worker: Worker) -> None:
    runs = [running(worker, rank=0)]  # the lane of STAT has one place
    hold(runs[0])
    wait_until(lambda: asked(worker) == ["hold"], 20)
    wait_until(lambda: worker.settled == [1], 20)  # the broker hands out another ticket only when this one is acknowledged
    runs.append(make_run(items=1, rank=0))
    worker.ticket(stat=True)
    settle(worker)
    assert worker.host.computing() == [run.pk for run in runs]
    release(runs[0])
    wait_until(lambda: asked(worker) == ["hold", "release"], 20)
    for run in runs:
        worker.host.finish(run)
    settle(worker)
    assert [Run.objects.get(pk=run.pk).state for run in runs] == ["scored", "scored"]
    assert worker.settled == [1, 2]


def test_a_job_that_has_stood_long_goes_back_and_is_not_claimed_before_it_is_released(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, valkey_url: str
) -> None:
    monkeypatch.setattr(crew, "STAND_SECONDS", 0.0)
    run = running(worker)
    hold(run)
    wait_until(lambda: asked(worker) == ["hold"], 20)
    worker.crew.listener.heed()
    settle(worker)
    assert (Job.objects.get().state, Job.objects.get().deaths, worker.host.computing()) == ("queued", 0, [])
    worker.ticket()
    settle(worker)
    assert worker.host.computing() == []
    release(run)
    with redis.Redis.from_url(valkey_url) as broker:
        assert broker.llen(tickets.routine_queue(DEPLOYMENT)) == 1  # the one that its release sent, and none before
    worker.ticket()
    settle(worker)
    assert worker.host.computing() == [run.pk]


def test_what_changes_while_a_job_is_prepared_is_heeded_when_it_runs(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    run, load = make_run(items=1), claim.load

    def load_and_promote(claimed: Claimed) -> Work:
        reclass(run, 0)
        return load(claimed)

    monkeypatch.setattr(claim, "load", load_and_promote)
    worker.ticket()
    settle(worker)
    assert asked(worker) == ["rank 0"]


def test_a_lost_connection_is_made_again_and_what_was_missed_is_seen(worker: Worker) -> None:
    run = running(worker)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE usename = current_user AND datname = current_database() AND pid <> pg_backend_pid()"
        )
    reclass(run, 0)
    wait_until(lambda: asked(worker) == ["rank 0"], 20)


def test_a_renewed_lease_tells_nobody(worker: Worker) -> None:
    """Rows of running jobs are written every two seconds: only what is asked of them is worth a look."""
    run = running(worker)
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as line:
        line.execute(f"LISTEN {listener.CHANNEL}")
        worker.crew.keeper.beat()
        reclass(run, 1)
        reclass(run, 1)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, 'end')", [listener.CHANNEL])
        found = [told.payload for told in line.notifies(timeout=20, stop_after=2)]
    assert found == [worker.crew.lease.incarnation, "end"]


def test_a_queued_job_that_becomes_stat_gets_a_stat_ticket(worker: Worker, valkey_url: str) -> None:
    run = make_run(items=1)
    reclass(run, 0)
    with redis.Redis.from_url(valkey_url) as broker:
        assert broker.llen(tickets.stat_queue(DEPLOYMENT)) == 1


def test_what_is_cut_of_a_run_on_hold_is_on_hold(worker: Worker) -> None:
    run = make_run(items=100, jobs=1)
    hold(run)
    held = Run.objects.get(pk=run.pk)
    with transaction.atomic():
        assert [job.held for job in claim.supply.top_up(held)] == [True] * 3
