"""Which ticket is served when, beside what, and what becomes of work that is stopped. The engine is one that a test can hold."""

import threading
from collections.abc import Callable, Iterator

import pytest
import redis
from django.db import transaction

from engine_queue import claim, deaths, lease, tickets
from engine_queue.crew import Crew
from engine_queue.errors import ReferenceUnusable
from engine_queue.models import Job, Run
from engine_queue.work import Claimed, ItemScore, Ticket, Work
from tests.engine_queue.rows import make_run, taken
from tests.engine_queue.workers import DEPLOYMENT, wait_until
from tests.factories import make_test_version


class Flight:
    """A job in the engine that ends when the test says so."""

    fault = ""
    found = None

    def __init__(self, work: Work, landed: Callable[["Flight"], None]) -> None:
        self.work, self._landed = work, landed

    def land(self) -> None:
        self._landed(self)

    def scores(self) -> list[ItemScore]:
        return [ItemScore(item.id, ll_ref=-2.0, ll_alt=-3.0, delta=-1.0, tokens=64) for item in self.work.items]


class HeldHost:
    """In place of the engines: how long they compute cannot be provoked."""

    def __init__(self) -> None:
        self.flights: dict[int, Flight] = {}
        self.asked: list[tuple[str, int]] = []  # what a running job was told, beside cancelling
        self.dues: dict[int, float] = {}  # when a job is due, as last told
        self.refuse: Exception | None = None

    def begin(self, work: Work, landed: Callable[[Flight], None]) -> None:
        if self.refuse is not None:
            raise self.refuse
        self.flights[work.claimed.job_id] = Flight(work, landed)

    def cancel(self, job_id: int) -> bool:
        return self.flights.pop(job_id, None) is not None

    def finish(self, run: Run) -> None:
        for job in [job for job, flight in self.flights.items() if flight.work.claimed.run_id == run.pk]:
            self.flights.pop(job).land()

    def reclass(self, job_id: int, rank: int, due: float) -> None:
        self.asked.append((f"rank {rank}", job_id))
        self.dues[job_id] = due

    def hold(self, job_id: int) -> None:
        self.asked.append(("hold", job_id))

    def release(self, job_id: int) -> None:
        self.asked.append(("release", job_id))

    def forget(self, job_id: int) -> None: ...
    def stop(self) -> None: ...
    def progress(self) -> int | None: ...

    def healthy(self) -> bool:
        return True

    def shifts(self) -> int:
        return 0

    def whereabouts(self) -> dict[int, object]:
        return {}

    def stats(self) -> dict[str, float]:
        return {}

    def facts(self, deployment: str) -> tuple[str, bool]:
        return "f" * 64, True

    def computing(self) -> list[object]:
        return [flight.work.claimed.run_id for flight in list(self.flights.values())]


class Worker:
    """A crew, its engine, and the tickets it acknowledged."""

    def __init__(self) -> None:
        self.host, self.settled, self.number = HeldHost(), [], 0  # type: ignore[var-annotated]
        name = lease.take_name("engine-1", kind="engine")
        self.crew = Crew(lease=name, host=self.host, loaded=[DEPLOYMENT], credits=2, stat_credits=1)  # type: ignore[arg-type]

    def ticket(self, *, stat: bool = False, deployment: str = DEPLOYMENT) -> int:
        self.number += 1
        number = self.number
        self.crew.offer(Ticket(number, f"task-{number}", stat, lambda: self.settled.append(number), deployment))
        return number

    def tickets(self, count: int) -> None:
        for _ in range(count):
            self.ticket()

    def tried(self) -> None:
        """Wait until a ticket has been looked at."""
        feeders = self.crew._feeders.values()
        before = [feeder.turns for feeder in feeders]
        wait_until(lambda: [feeder.turns for feeder in feeders] != before, 20)

    def idle(self) -> bool:
        """Whether the feeder has served all it may."""
        with self.crew.changed:
            return not any(feeder.serving or self.crew.takes(feeder) for feeder in self.crew._feeders.values())


@pytest.fixture
def worker(clone_db: str, valkey_url: str) -> Iterator[Worker]:
    made = Worker()
    made.crew.start()
    yield made
    made.crew.stop()


@pytest.fixture
def broker(valkey_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(valkey_url) as client:
        yield client


def settle(worker: Worker) -> None:
    """Wait until nothing moves by itself any more."""
    wait_until(worker.idle, 20)
    assert worker.crew.finisher.flush(20) and worker.crew.stat_finisher.flush(20)
    wait_until(worker.idle, 20)


def test_no_more_is_held_than_there_are_places_and_stat_has_its_own(worker: Worker) -> None:
    routine = make_run(items=100)
    worker.tickets(4)
    settle(worker)
    assert worker.host.computing() == [routine.pk, routine.pk]
    stat = make_run(items=50, rank=0)
    for _ in range(2):
        worker.ticket(stat=True)
    settle(worker)
    assert worker.host.computing() == [routine.pk, routine.pk, stat.pk]


def test_stat_is_prepared_while_a_routine_job_is(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Preparing may take long: the first window on a chromosome waits until that is digested."""
    routine, begun, go_on, load = make_run(items=1), threading.Event(), threading.Event(), claim.load

    def slowly(claimed: Claimed) -> Work:
        if claimed.run_id == routine.pk:
            begun.set()
            assert go_on.wait(20)
        return load(claimed)

    monkeypatch.setattr(claim, "load", slowly)
    worker.ticket()
    assert begun.wait(20)
    stat = make_run(items=1, rank=0)
    worker.ticket(stat=True)
    wait_until(lambda: worker.host.computing() == [stat.pk], 20)
    go_on.set()
    settle(worker)
    assert worker.host.computing() == [stat.pk, routine.pk]


def test_stat_is_written_while_a_routine_result_waits_for_a_lock(worker: Worker) -> None:
    routine = make_run(items=1)
    worker.ticket()
    settle(worker)
    stat = make_run(items=1, rank=0)
    worker.ticket(stat=True)
    settle(worker)
    with transaction.atomic():
        Run.objects.select_for_update().get(pk=routine.pk)
        worker.host.finish(routine)
        worker.host.finish(stat)
        wait_until(lambda: worker.settled == [2], 20)
        assert Run.objects.get(pk=stat.pk).state == "scored"
    settle(worker)
    assert worker.settled == [2, 1]


def test_a_ticket_is_acknowledged_when_its_job_is_written_and_not_before(worker: Worker) -> None:
    run = make_run(items=1)
    worker.ticket()
    settle(worker)
    assert worker.settled == []
    worker.host.finish(run)
    settle(worker)
    assert (worker.settled, Run.objects.get().state) == ([1], "scored")


def test_a_ticket_without_work_is_acknowledged_at_once(worker: Worker) -> None:
    worker.ticket()
    settle(worker)
    assert worker.settled == [1]


def test_a_stat_ticket_whose_job_is_gone_leaves_a_routine_ticket_in_its_place(worker: Worker, broker: redis.Redis) -> None:
    make_run(items=1)
    worker.ticket(stat=True)
    settle(worker)
    assert broker.llen(tickets.routine_queue(DEPLOYMENT)) == 1
    assert worker.settled == [1]


@pytest.mark.parametrize("rank", [0, 3])
def test_a_ticket_that_comes_while_its_sending_is_noted_leads_to_its_job(worker: Worker, broker: redis.Redis, rank: int) -> None:
    """Whoever sends a ticket notes it on the job afterwards: a moment in which a fast worker finds the row locked."""
    run = make_run(items=1, rank=rank)
    with transaction.atomic():  # until it commits, what the note has written is locked
        tickets.send(list(run.jobs.all()))
        worker.ticket(stat=rank == 0)
        worker.tried()
    settle(worker)
    assert (worker.host.computing(), worker.settled) == ([run.pk], [])
    assert sum(broker.llen(queue(DEPLOYMENT)) for queue in (tickets.stat_queue, tickets.routine_queue)) == 1  # no other was sent


def test_a_locked_job_keeps_no_other_from_being_claimed(worker: Worker) -> None:
    locked, free = make_run(items=1, rank=1), make_run(items=1)
    with transaction.atomic():
        Job.objects.select_for_update().get(run=locked)
        worker.ticket()
        wait_until(lambda: worker.host.computing() == [free.pk], 20)
        worker.ticket()
        worker.tried()
    settle(worker)
    assert worker.host.computing() == [free.pk, locked.pk]


def test_a_ticket_that_waits_for_a_locked_job_is_acknowledged_when_another_worker_has_that_job(worker: Worker) -> None:
    make_run(items=1)
    with transaction.atomic():
        taken(owner="other/1")
        worker.ticket()
        worker.tried()
        assert worker.settled == []
    settle(worker)
    assert (worker.host.computing(), worker.settled) == ([], [1])


@pytest.mark.parametrize("stat", [False, True])
def test_a_ticket_that_led_to_a_job_of_another_deployment_leaves_one_for_its_own(
    worker: Worker, broker: redis.Redis, stat: bool
) -> None:
    """That job's own ticket may lie with a worker that does not serve this one."""
    first, other = make_run(items=1, rank=0), make_run(items=1, rank=0 if stat else 3, test=make_test_version(deployment="other"))
    worker.crew.loaded = [DEPLOYMENT, "other"]
    worker.ticket(stat=stat, deployment="other")
    settle(worker)
    assert worker.host.computing() == [first.pk]
    queue = tickets.stat_queue if stat else tickets.routine_queue
    assert [broker.llen(queue(name)) for name in ("other", DEPLOYMENT)] == [1, 0]
    worker.host.finish(first)
    worker.ticket(stat=stat, deployment="other")
    settle(worker)
    assert worker.host.computing() == [other.pk]
    assert broker.llen(queue("other")) == 1  # and none for jobs that do not wait


def test_a_job_that_two_workers_died_with_runs_with_nothing_routine_beside_it(worker: Worker) -> None:
    first = make_run(items=1, rank=1)
    worker.ticket()
    settle(worker)
    poison = make_run(items=1, rank=2)
    poison.jobs.update(deaths=2)
    later = make_run(items=1)
    worker.tickets(2)
    settle(worker)
    assert worker.host.computing() == [first.pk]
    worker.host.finish(first)
    settle(worker)
    assert worker.host.computing() == [poison.pk]
    stat = make_run(items=1, rank=0)
    worker.ticket(stat=True)
    settle(worker)
    assert worker.host.computing() == [poison.pk, stat.pk]
    for run in (stat, poison):
        worker.host.finish(run)
    settle(worker)
    assert worker.host.computing() == [later.pk]


def test_a_full_buffer_stops_admission(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(items=1)
    monkeypatch.setattr(type(worker.crew.finisher), "full", True)
    worker.ticket()
    settle(worker)
    assert worker.host.computing() == []


def test_a_revoked_ticket_that_waits_is_dropped_and_one_that_runs_gives_its_job_back(worker: Worker) -> None:
    make_run(items=75)
    worker.tickets(3)
    settle(worker)
    worker.crew.revoke(3)
    worker.crew.revoke(1)
    settle(worker)
    assert sorted(Job.objects.values_list("state", "attempt", "deaths")) == [("queued", 0, 0), ("queued", 1, 0), ("running", 1, 0)]


def test_a_halted_worker_gives_all_back_takes_nothing_and_goes_on_when_it_may(worker: Worker) -> None:
    run = make_run(items=25)
    worker.ticket()
    settle(worker)
    worker.crew.halt("test")
    worker.ticket()
    settle(worker)
    assert (run.jobs.get().state, worker.host.computing(), worker.settled) == ("queued", [], [1])
    worker.crew.resume()
    settle(worker)
    assert worker.host.computing() == [run.pk]


@pytest.mark.parametrize(
    ("fault", "attention"),
    [(ReferenceUnusable("gone", code="reference.changed"), "reference.changed"), (TypeError("a bug"), "job.cannot-start")],
)
def test_a_job_that_cannot_be_prepared_waits_for_a_person_and_the_next_one_runs(
    worker: Worker, fault: Exception, attention: str
) -> None:
    bad = make_run(items=1, rank=1)
    worker.host.refuse = fault
    worker.ticket()
    settle(worker)
    assert (bad.jobs.get().attention, worker.settled) == (attention, [1])
    worker.host.refuse = None
    good = make_run(items=1)
    worker.ticket()
    settle(worker)
    assert worker.host.computing() == [good.pk]


def test_a_job_stopped_while_it_is_prepared_is_given_back(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(items=1)
    load = claim.load

    def load_and_revoke(claimed: Claimed) -> Work:
        worker.crew.revoke(1)
        return load(claimed)

    monkeypatch.setattr(claim, "load", load_and_revoke)
    worker.ticket()
    settle(worker)
    assert (run.jobs.get().state, worker.host.computing()) == ("queued", [])


def test_what_is_not_done_in_time_goes_back_and_its_ticket_is_left_to_the_broker(worker: Worker) -> None:
    run = make_run(items=25)
    worker.tickets(1)
    settle(worker)
    worker.crew.drain(0)
    assert (run.jobs.get().state, run.jobs.get().deaths, worker.settled) == ("queued", 0, [])


def test_an_engine_fault_gives_the_job_back_and_fails_no_item(worker: Worker) -> None:
    run = make_run(items=1)
    worker.ticket()
    settle(worker)
    flight = worker.host.flights.popitem()[1]
    flight.fault = "engine_failed"
    flight.land()
    settle(worker)
    assert (run.jobs.get().state, run.results.count(), worker.settled) == ("queued", 0, [1])


@pytest.mark.parametrize("too_late", [False, True], ids=["computing", "just-ended"])
def test_a_job_claimed_here_anew_ends_its_older_attempt_and_both_tickets(worker: Worker, too_late: bool) -> None:
    """The process stood still for longer than a lease: its job was queued again, and it takes it before it has looked."""
    run = make_run(items=1)
    worker.ticket()
    settle(worker)
    job = Job.objects.get()
    older = worker.host.flights.pop(job.pk) if too_late else worker.host.flights[job.pk]
    deaths.bury(job.pk, run.pk, owner=job.lease_owner, attempt=1, by="sweeper")
    worker.ticket()
    settle(worker)
    assert (worker.host.flights[job.pk] is not older, worker.settled) == (True, [] if too_late else [1])
    if too_late:
        older.land()
        settle(worker)
        assert (worker.settled, Job.objects.get().state) == ([1], "running")
    worker.host.finish(run)
    settle(worker)
    assert (worker.settled, Job.objects.get().state, worker.crew.held()) == ([1, 2], "succeeded", [])
