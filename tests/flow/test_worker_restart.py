"""A worker that dies or is stopped loses nothing and repeats nothing that was committed."""

import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from audit.models import Event
from engine_queue.models import Job, Result, Run
from orders.models import Order
from tests.engine_queue.workers import Crowd, crowd
from tests.factories import make_order

pytestmark = pytest.mark.flow

ITEMS = 300  # twelve jobs
BITS = ("id", "item_id", "ll_ref", "ll_alt", "delta", "attempt", "at_version")


@pytest.fixture
def workers(clone_db: str, valkey_url: str, tmp_path: Path) -> Iterator[Crowd]:
    with crowd(tmp_path) as made:
        yield made


def scored(order: Order) -> bool:
    return Run.objects.get(order_id=order.pk).state == "scored"


def committed() -> int:
    return Result.objects.count()


def claims() -> Counter[str]:
    return Counter(Event.objects.filter(action="job.claimed").values_list("object_id", flat=True))


def rows() -> list[tuple[Any, ...]]:
    return list(Result.objects.order_by("id").values_list(*BITS))


def test_an_order_runs_through_a_real_worker(workers: Crowd) -> None:
    order = make_order(variants=60)
    workers.engine_worker()
    workers.until(lambda: scored(order), 60, "scoring")
    order.refresh_from_db()
    assert (order.state, order.items_done, committed()) == ("awaiting_review", 60, 60)
    assert set(Result.objects.values_list("failure", "batch_invariant")) == {("", True)}


def test_killed_half_way_and_started_again_it_finishes_and_repeats_nothing_committed(workers: Crowd) -> None:
    order = make_order(variants=ITEMS)
    worker = workers.engine_worker()
    workers.until(lambda: committed() >= 0.3 * ITEMS, 60, "30 % of the results")
    worker.kill()
    worker.wait(10)
    before = rows()
    assert 0.3 * ITEMS <= len(before) <= 0.7 * ITEMS
    workers.engine_worker()
    workers.until(lambda: scored(order), 30, "the rest")  # a deadline to fail at, no measurement
    assert rows()[: len(before)] == before
    assert committed() == Result.objects.values("item").distinct().count() == ITEMS
    assert set(Job.objects.filter(attempt__gt=1).values_list("deaths", flat=True)) == {1}


def test_stopped_under_load_it_gives_work_back_and_nothing_runs_twice(workers: Crowd) -> None:
    order = make_order(variants=ITEMS)
    worker = workers.engine_worker("engine-1", "--drain-seconds", "0")
    workers.until(lambda: committed() >= 50, 60, "the first results")
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0, workers.log(worker)
    finished = set(map(str, Job.objects.filter(state="succeeded").values_list("pk", flat=True)))
    assert set(Job.objects.values_list("state", flat=True)) == {"succeeded", "queued"}, workers.logs()
    workers.engine_worker("engine-2")
    workers.until(lambda: scored(order), 60, "the rest")
    assert {claims()[job] for job in finished} == {1}
    assert set(Job.objects.values_list("deaths", flat=True)) == {0}
    assert committed() == ITEMS


def test_asked_to_stop_it_finishes_what_it_holds_when_there_is_time(workers: Crowd) -> None:
    make_order(variants=ITEMS)
    worker = workers.engine_worker("engine-1", "--credits", "2", "--drain-seconds", "60")
    workers.until(lambda: committed() >= 25, 60, "the first results")
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(60) == 0, workers.log(worker)
    assert set(Job.objects.exclude(attempt=0).values_list("state", flat=True)) == {"succeeded"}
