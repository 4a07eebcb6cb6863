"""A worker that dies or is stopped loses nothing and repeats nothing that was committed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine_queue.models import Job, Result, Run
from orders.models import Order
from tests.engine_queue.workers import Crowd, crowd
from tests.factories import make_order

pytestmark = pytest.mark.flow


@pytest.fixture
def workers(clone_db: str, valkey_url: str, tmp_path: Path) -> Iterator[Crowd]:
    with crowd(tmp_path) as made:
        yield made


def scored(order: Order) -> bool:
    return Run.objects.get(order_id=order.pk).state == "scored"


def committed(order: Order) -> int:
    return Result.objects.filter(run__order_id=order.pk).count()


def test_an_order_runs_through_a_real_worker(workers: Crowd) -> None:
    order = make_order(variants=60)
    workers.engine_worker()
    workers.until(lambda: scored(order), 60, "scoring")
    order.refresh_from_db()
    assert (order.state, order.items_done, committed(order)) == ("awaiting_review", 60, 60)
