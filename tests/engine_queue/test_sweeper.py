"""What crashes leave behind is put right, and counted where it is a bug of ours."""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis

from engine_queue import deaths, lease, outcomes, settling, sweeper, tickets
from engine_queue.models import Job, Result, Run, Sweep
from foundation import clock
from orders.models import Order
from tests.engine_queue.rows import in_thread_of_its_own, job_of, make_run, scored, take, taken
from tests.engine_queue.workers import DEPLOYMENT
from tests.factories import make_order

pytestmark = pytest.mark.django_db


class Time:
    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now

    def go(self, **by: float) -> None:
        self.now += timedelta(**by)


@pytest.fixture(autouse=True)
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    monkeypatch.setattr(clock, "_source", made)
    return made


@pytest.fixture(autouse=True)
def broker(valkey_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(valkey_url) as client:
        yield client


def end_leases() -> None:
    Job.objects.filter(state="running").update(lease_until=clock.now() - timedelta(days=1))


def waiting(broker: redis.Redis, queue: str = tickets.routine_queue(DEPLOYMENT)) -> int:
    return int(broker.llen(queue))


def test_a_job_whose_lease_ended_is_queued_again_with_a_death() -> None:
    make_run(items=1)
    claimed = taken()
    assert sweeper.sweep().buried == 0
    end_leases()
    assert sweeper.sweep().buried == 1
    job = job_of(claimed)
    assert (job.state, job.deaths, job.lease_owner, job.attention) == ("queued", 1, "", "")


def test_two_deaths_alone_three_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    facts: list[outcomes.Fact] = []
    monkeypatch.setattr(outcomes, "_listeners", [facts.append])
    make_run(items=1)
    alone = []
    for _ in range(3):
        alone.append(taken().alone)
        end_leases()
        sweeper.sweep()
    assert alone == [False, False, True]
    assert take() is None
    assert [(fact.kind, fact.reason, fact.worker) for fact in facts] == [("attention", "job.worker-died", "sweeper")]


def test_three_deaths_stand_on_the_order() -> None:
    order = make_order(variants=5)
    for _ in range(3):
        taken()
        end_leases()
        sweeper.sweep()
    assert Order.objects.get(pk=order.pk).attention == "job.worker-died"


def test_a_cancelled_job_whose_worker_died_is_cancelled() -> None:
    make_run(items=1)
    claimed = taken()
    Job.objects.update(cancel_requested=True)
    end_leases()
    sweeper.sweep()
    assert job_of(claimed).state == "cancelled"


def test_after_an_outage_leases_are_judged_one_whole_lease_later(time: Time) -> None:
    make_run(items=1)
    taken()
    sweeper.sweep()
    end_leases()
    time.go(seconds=60)
    assert sweeper.sweep().buried == 0
    buried = []
    for _ in range(4):
        time.go(seconds=10)
        buried.append(sweeper.sweep().buried)
    assert buried == [0, 0, 1, 0]


def test_a_clock_that_was_a_day_ahead_keeps_no_lease_from_being_judged(time: Time) -> None:
    make_run(items=1)
    taken()
    sweeper.sweep()
    time.go(days=1)
    sweeper.sweep()
    time.go(days=-1)
    end_leases()
    assert sweeper.sweep().buried == 1


def test_a_ticket_sent_by_a_clock_that_was_ahead_and_lost_is_sent_again(time: Time, broker: redis.Redis) -> None:
    time.go(days=1)
    make_run(items=1)
    sweeper.sweep()
    tickets.send(list(Job.objects.all()))
    broker.delete(tickets.routine_queue(DEPLOYMENT))
    time.go(days=-1)
    assert (sweeper.sweep().tickets, waiting(broker), sweeper.sweep().tickets) == (1, 1, 0)


def test_a_job_made_by_a_clock_that_was_ahead_has_its_first_ticket(time: Time, broker: redis.Redis) -> None:
    time.go(days=1)
    make_run(items=1)
    Job.objects.update(ticket_at=None)
    time.go(days=-1)
    assert (sweeper.sweep().tickets, waiting(broker)) == (1, 1)


def test_former_selves_are_buried_at_boot_and_nobody_else() -> None:
    make_run(items=75)
    former, other = taken(owner="engine-1/old"), taken(owner="engine-10/other")
    own = lease.take_name("engine-1", kind="engine")
    mine = taken(owner=own.incarnation)
    assert deaths.bury_former_selves(own) == 1
    assert [job_of(claimed).deaths for claimed in (former, other, mine)] == [1, 0, 0]


def test_a_job_whose_first_ticket_never_went_gets_one(time: Time, broker: redis.Redis) -> None:
    make_run(items=1)
    assert sweeper.sweep().tickets == 0
    time.go(seconds=6)
    assert (sweeper.sweep().tickets, waiting(broker)) == (1, 1)


def test_tickets_are_sent_again_after_30_seconds_then_ever_more_slowly_up_to_ten_minutes(time: Time, broker: redis.Redis) -> None:
    make_run(items=1)
    sent, began = [], time.now
    while time.now < began + timedelta(minutes=45):
        time.go(seconds=5)
        broker.delete(tickets.routine_queue(DEPLOYMENT))
        if sweeper.sweep().tickets:
            sent.append((time.now - began).total_seconds())
    gaps = [later - earlier for earlier, later in itertools.pairwise(sent)]
    assert gaps == [35, 65, 125, 245, 485, 605, 605]  # the first turn after 30, 60, 120 …, 600 seconds


def test_no_ticket_is_sent_again_while_it_waits_in_the_broker(time: Time, broker: redis.Redis) -> None:
    tickets.send(list(make_run(items=50).jobs.all()))
    time.go(seconds=40)
    assert sweeper.sweep().tickets == 0
    broker.lpop(tickets.routine_queue(DEPLOYMENT))
    assert sweeper.sweep().tickets == 1


def test_a_broker_that_lost_its_memory_gets_all_tickets_at_once(time: Time, broker: redis.Redis) -> None:
    tickets.send(list(make_run(items=100).jobs.all()))
    tickets.send(list(make_run(items=1, rank=0).jobs.all()))
    sweeper.sweep()
    time.go(seconds=5)
    broker.flushall()
    assert sweeper.sweep().tickets == 5
    assert (waiting(broker), waiting(broker, tickets.stat_queue(DEPLOYMENT))) == (4, 1)
    time.go(seconds=5)
    assert sweeper.sweep().tickets == 0


def test_an_absent_broker_does_not_keep_the_rest_from_being_swept(settings: Any) -> None:
    make_run(items=1)
    claimed = taken()
    end_leases()
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert sweeper.sweep().buried == 1
    assert job_of(claimed).state == "queued"


def test_a_run_that_nobody_closed_is_closed_and_counted_as_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    order = make_order(variants=5)
    monkeypatch.setattr(settling, "close", lambda run, *, worker: None)
    settling.settle(scored(taken()))
    monkeypatch.undo()
    assert sweeper.sweep().repaired == 1
    assert (Run.objects.get().state, Order.objects.get(pk=order.pk).state) == ("scored", "awaiting_review")
    assert Sweep.objects.get().repairs == 1


def test_a_run_that_nobody_cut_further_is_cut(time: Time) -> None:
    run = make_run(items=50, jobs=0)
    assert sweeper.sweep().repaired == 1
    assert run.jobs.filter(state="queued").count() == 2


def test_a_healthy_run_is_no_bug() -> None:
    make_run(items=50)
    taken()
    assert sweeper.sweep().repaired == 0


def test_a_fault_of_a_listener_does_not_keep_others_from_being_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        make_run(items=1)
    broken, healthy = taken(), taken()
    Job.objects.filter(pk=broken.job_id).update(deaths=2)

    def listener(fact: outcomes.Fact) -> None:
        raise LookupError

    monkeypatch.setattr(outcomes, "_listeners", [listener])
    end_leases()
    assert sweeper.sweep().buried == 1
    assert (job_of(broken).state, job_of(healthy).state) == ("running", "queued")


def test_one_sweeper_is_active() -> None:
    from concurrent.futures import ThreadPoolExecutor

    with sweeper.alone(sweeper.LOCK) as first, ThreadPoolExecutor(1) as pool:
        assert first
        assert pool.submit(in_thread_of_its_own, sweeper.sweep).result() == sweeper.Swept(active=False)
    assert Result.objects.count() == 0
