"""STAT beside routine work that holds every place; cancelling reaches what runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import current_app

from accounts.roles import Role
from audit.models import Event
from engine_queue.models import Job, Result, Run
from orders import services
from orders.models import Order
from tests.engine_queue.workers import Crowd, crowd
from tests.factories import make_actor, make_order, make_ready_intake, make_test_version

pytestmark = pytest.mark.flow


@pytest.fixture
def workers(clone_db: str, valkey_url: str, tmp_path: Path) -> Iterator[Crowd]:
    with crowd(tmp_path) as made:
        yield made


def run_of(order: Order) -> Run:
    return Run.objects.get(order_id=order.pk)


def long_order() -> Order:
    """One whose jobs take seconds each."""
    return make_order(intake=make_ready_intake(test_version=make_test_version(window=500), variants=75), priority="routine")


def test_a_stat_order_is_scored_while_routine_work_holds_every_place(workers: Crowd) -> None:
    routine = long_order()
    workers.engine_worker("engine-1", "--credits", "1")
    workers.until(lambda: Job.objects.filter(state="running").exists(), 60, "routine work")
    stat = make_order(variants=10, priority="stat")
    workers.until(lambda: run_of(stat).state == "scored", 60, "the STAT order")
    assert run_of(routine).state == "running"
    assert Result.objects.filter(run=run_of(routine)).count() <= 50


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
