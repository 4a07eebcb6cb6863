"""Names and jobs are held by leases, whose time is the database's."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError

from engine_queue import lease
from engine_queue.errors import NameTaken, WorkerRefused
from engine_queue.keeper import Keeper
from engine_queue.lease import NameLease
from engine_queue.models import Job, Worker
from foundation import clock
from tests.engine_queue.rows import job_of, make_run, taken


def never(seconds: float) -> None:
    raise AssertionError("must not wait")


def belongs_to(pid: int) -> None:
    """The name is held by a process that lives."""
    Worker.objects.update(pid=pid, process=lease._process(pid))


def dead_pid() -> int:
    gone = subprocess.Popen(["true"])
    gone.wait()
    return gone.pid


@pytest.mark.django_db
def test_a_free_name_is_taken_and_given_back() -> None:
    first = lease.take_name("engine-1", kind="engine")
    assert Worker.objects.get().lease_until > clock.now()
    first.give_back()
    assert Worker.objects.get().lease_until <= clock.now()


@pytest.mark.django_db
def test_a_living_namesake_on_this_host_is_refused_in_one_line() -> None:
    lease.take_name("engine-1", kind="engine")
    belongs_to(os.getppid())
    with pytest.raises(NameTaken, match=rf"engine-1 is held by process {os.getppid()} on ") as refused:
        lease.take_name("engine-1", kind="engine", sleep=never)
    assert "\n" not in str(refused.value)


@pytest.mark.django_db
def test_a_dead_namesake_on_this_host_is_followed_at_once() -> None:
    old = lease.take_name("engine-1", kind="engine")
    Worker.objects.update(pid=dead_pid())
    assert lease.take_name("engine-1", kind="engine", sleep=never).incarnation != old.incarnation


@pytest.mark.django_db
def test_a_process_that_began_after_the_holder_only_inherited_its_number() -> None:
    lease.take_name("engine-1", kind="engine")
    belongs_to(os.getppid())
    Worker.objects.update(process="another boot 1")
    lease.take_name("engine-1", kind="engine", sleep=never)


@pytest.mark.django_db
@pytest.mark.parametrize("days", [-3000, 3000])
def test_a_clock_that_is_set_makes_no_living_namesake_a_dead_one(days: int) -> None:
    lease.take_name("engine-1", kind="engine")
    belongs_to(os.getppid())
    Worker.objects.update(started_at=clock.now() + timedelta(days=days))
    with pytest.raises(NameTaken):
        lease.take_name("engine-1", kind="engine", sleep=never)


@pytest.mark.django_db
def test_a_namesake_elsewhere_is_followed_when_its_lease_has_ended() -> None:
    lease.take_name("engine-1", kind="engine")
    Worker.objects.update(host="elsewhere", pid=1)
    waited: list[float] = []

    def expire(seconds: float) -> None:
        waited.append(seconds)
        Worker.objects.update(lease_until=clock.now() - timedelta(seconds=1))

    lease.take_name("engine-1", kind="engine", sleep=expire)
    assert 20 < waited[0] < 31


@pytest.mark.django_db
def test_a_namesake_elsewhere_that_renews_is_refused() -> None:
    held = lease.take_name("engine-1", kind="engine")
    Worker.objects.update(host="elsewhere", pid=1)

    def renew(seconds: float) -> None:
        assert held.extend({})

    with pytest.raises(NameTaken):
        lease.take_name("engine-1", kind="engine", sleep=renew)


@pytest.mark.django_db
def test_a_former_self_cannot_renew() -> None:
    old = lease.take_name("engine-1", kind="engine")
    lease.take_name("engine-1", kind="engine")
    assert not old.extend({})


@pytest.mark.parametrize("name", ["", "with space", "a/b", "-x", "x" * 61])
def test_a_name_that_could_not_be_a_key_is_refused(name: str) -> None:
    with pytest.raises(WorkerRefused):
        lease.check_name(name)


class Kept:
    """A worker that writes down what its keeper tells it."""

    def __init__(self, held: Sequence[int] = (), progress: int | None = None) -> None:
        self.jobs, self.counter, self.told = list(held), progress, []  # type: ignore[var-annotated]

    def held(self) -> Sequence[int]:
        return self.jobs

    def progress(self) -> int | None:
        return self.counter

    def stats(self) -> Mapping[str, Any]:
        return {"held": len(self.jobs)}

    def stop_jobs(self, jobs: Sequence[int], reason: str) -> None:
        self.told.append((reason, list(jobs)))

    def halt(self, reason: str) -> None:
        self.told.append("halt")

    def resume(self) -> None:
        self.told.append("resume")

    def die(self, reason: str) -> None:
        self.told.append("die")


class Time:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def kept_job(held: NameLease) -> Job:
    make_run(items=1)
    job = job_of(taken(owner=held.incarnation))
    Job.objects.update(lease_until=clock.now() + timedelta(seconds=1))
    return job


@pytest.fixture
def name(db: None) -> NameLease:
    return lease.take_name("engine-1", kind="engine")


def left(job: Job) -> float:
    job.refresh_from_db()
    assert job.lease_until is not None
    return (job.lease_until - clock.now()).total_seconds()


def test_held_jobs_are_renewed_and_figures_published(name: NameLease) -> None:
    job = kept_job(name)
    Keeper(name, Kept([job.pk], progress=1)).beat()
    assert left(job) > 20
    assert Worker.objects.get().stats == {"held": 1}


def test_without_progress_of_the_engine_jobs_are_not_renewed_and_the_worker_leaves(name: NameLease) -> None:
    job, time = kept_job(name), Time()
    kept = Kept([job.pk], progress=5)
    keeper = Keeper(name, kept, monotonic=time)
    keeper.beat()
    Job.objects.update(lease_until=clock.now() + timedelta(seconds=1))
    time.now += 15
    keeper.beat()
    assert (left(job) < 2, kept.told) == (True, [])
    time.now += 15
    keeper.beat()
    assert kept.told == ["die"]


def test_a_job_that_is_no_longer_ours_is_stopped(name: NameLease) -> None:
    job = kept_job(name)
    Job.objects.update(lease_owner="other/1")
    kept = Kept([job.pk])
    Keeper(name, kept).beat()
    assert kept.told == [("lease lost", [job.pk])]


def test_a_cancelled_job_is_stopped_even_when_no_message_came(name: NameLease) -> None:
    job = kept_job(name)
    Job.objects.update(cancel_requested=True)
    kept = Kept([job.pk])
    Keeper(name, kept).beat()
    assert kept.told == [("cancelled", [job.pk])]


def test_a_worker_whose_name_was_taken_leaves(name: NameLease) -> None:
    lease.take_name("engine-1", kind="engine")
    kept = Kept()
    Keeper(name, kept).beat()
    assert kept.told == ["die"]


def test_a_worker_that_cannot_renew_stops_before_its_lease_ends_and_goes_on_when_it_can(
    name: NameLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, time = Kept(), Time()
    keeper = Keeper(name, kept, monotonic=time)

    def away(self: NameLease, stats: Mapping[str, Any]) -> bool:
        raise OperationalError

    with monkeypatch.context() as outage:
        outage.setattr(NameLease, "extend", away)
        time.now += 19
        keeper.beat()
        assert kept.told == []
        time.now += 2  # of a lease of 30 seconds
        keeper.beat()
    keeper.beat()
    assert kept.told == ["halt", "resume"]
