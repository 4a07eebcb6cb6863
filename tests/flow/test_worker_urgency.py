"""STAT beside routine work that holds every place; promotion, hold and cancellation reach what runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import current_app

from accounts.roles import Role
from audit.models import Event
from engine_queue.models import Job, Run, Worker
from foundation.actor import Actor
from orders import services, urgency
from orders.models import Order
from tests.engine_queue.workers import DEPLOYMENT, Crowd, crowd
from tests.factories import make_actor, make_order, make_ready_intake, make_test_version

pytestmark = pytest.mark.flow


@pytest.fixture
def workers(clone_db: str, valkey_url: str, tmp_path: Path) -> Iterator[Crowd]:
    with crowd(tmp_path) as made:
        yield made


def run_of(order: Order) -> Run:
    return Run.objects.get(order_id=order.pk)


def long_order(variants: int = 75) -> Order:
    """One whose jobs take seconds each."""
    return make_order(intake=make_ready_intake(test_version=make_test_version(window=500), variants=variants), priority="routine")


def director(order: Order) -> Actor:
    return make_actor(role=Role.DIRECTOR, organisation=order.performing_laboratory)


def test_a_stat_order_is_scored_while_routine_work_holds_every_place(workers: Crowd) -> None:
    routine = long_order()
    workers.engine_worker("engine-1", "--credits", "2")
    held = Job.objects.filter(run__order_id=routine.pk, state="running")
    workers.until(lambda: held.count() == 2, 60, "routine work in every place")
    before = set(held.values_list("pk", "attempt"))
    stat = make_order(variants=10, priority="stat")
    workers.until(lambda: run_of(stat).state == "scored", 60, "the STAT order")
    assert before & set(held.values_list("pk", "attempt")), "what ran before it ran no more"
    assert run_of(routine).state == "running"


def test_what_is_promoted_while_it_runs_passes_what_began_before_it(workers: Crowd) -> None:
    first, second = long_order(), long_order(variants=25)
    workers.engine_worker("engine-1", "--credits", "4")
    running = Job.objects.filter(state="running")
    workers.until(lambda: running.filter(run__order_id=second.pk).exists(), 60, "both")
    promoted = running.get(run__order_id=second.pk)
    urgency.change_priority(order=second, priority="stat", reason="worse", actor=director(second))
    workers.until(lambda: run_of(second).state == "scored", 60, "the promoted order")
    assert running.filter(run__order_id=first.pk, pk__lt=promoted.pk).exists()
    promoted.refresh_from_db()
    assert (promoted.attempt, promoted.rank) == (1, 0)


def resting() -> int:
    """Requests on hold in the engine, as the worker last said."""
    return int(Worker.objects.get().stats.get("engines", {}).get(DEPLOYMENT, {}).get("on_hold", 0))


def test_a_hold_reaches_the_engine_while_its_job_runs_and_the_job_goes_on_where_it_stood(workers: Crowd) -> None:
    order = long_order(variants=25)
    workers.engine_worker("engine-1", "--credits", "1")
    workers.until(lambda: run_of(order).state == "running", 60, "running")
    urgency.hold(order=order, reason="hold.specimen", actor=director(order))
    workers.until(resting, 30, "the hold")
    other = make_order(variants=10)  # its place is free meanwhile
    workers.until(lambda: run_of(other).state == "scored", 60, "another order")
    job = Job.objects.get(run__order_id=order.pk)
    assert (job.state, job.attempt) == ("running", 1)
    urgency.release(order=order, actor=director(order))
    workers.until(lambda: run_of(order).state == "scored", 60, "the order that goes on")
    job.refresh_from_db()
    assert (job.attempt, job.deaths) == (1, 0)


def test_cancelling_an_order_stops_its_running_job(workers: Crowd) -> None:
    order = long_order()
    workers.engine_worker("engine-1", "--credits", "1")
    workers.until(lambda: run_of(order).state == "running", 60, "running")
    order.refresh_from_db()
    actor = make_actor(role=Role.ACCESSIONER, organisation=order.performing_laboratory)
    services.cancel(actor=actor, order=order, reason="taken twice", expected_edits=order.edits)
    workers.until(lambda: not Job.objects.exclude(state__in=["cancelled", "succeeded"]).exists(), 30, "cancelling")
    again = make_order(variants=10)
    workers.until(lambda: run_of(again).state == "scored", 60, "the next order")
    assert run_of(order).state == "cancelled"


def test_revoking_a_ticket_stops_its_job_which_then_runs_again(workers: Crowd) -> None:
    order = long_order()
    workers.engine_worker("engine-1", "--credits", "1")
    workers.until(lambda: Job.objects.filter(state="running").exists(), 60, "running")
    running = Job.objects.get(state="running")
    current_app.control.revoke(running.task_id, terminate=True)
    workers.until(lambda: run_of(order).state == "scored", 120, "the order")
    assert Event.objects.filter(action="job.claimed", object_id=str(running.pk)).count() == 2
    assert Job.objects.get(pk=running.pk).deaths == 0
