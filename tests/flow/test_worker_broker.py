"""A broker that goes away and comes back empty: the worker goes on, and consumes again on both of its channels."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine_queue import sweeper
from engine_queue.models import Job, Result, Run
from orders.models import Order
from supervisor.ports import Reservation
from supervisor.valkey import Valkey
from tests.engine_queue.workers import Crowd, crowd, sending_to
from tests.factories import make_order

pytestmark = pytest.mark.flow


@pytest.fixture
def broker(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Valkey]:
    """A server of the test's own, known to this process and to those it starts. It keeps nothing over a restart."""
    tmp_path.chmod(0o755)
    port = Reservation()
    server = Valkey(tmp_path / "valkey", tmp_path / "valkey.log", "secret", port, fast=True)
    server.start()
    monkeypatch.setenv("REDIS_URL", server.url)
    settings.REDIS_URL = server.url
    with sending_to(server.url):
        yield server
    server.stop()
    port.close()


@pytest.fixture
def workers(clone_db: str, broker: Valkey, tmp_path: Path) -> Iterator[Crowd]:
    with crowd(tmp_path) as made:
        yield made


def scored(order: Order) -> bool:
    return Run.objects.get(order_id=order.pk).state == "scored"


def test_after_a_restart_of_the_broker_the_worker_finishes_and_takes_stat_and_routine(workers: Crowd, broker: Valkey) -> None:
    order = make_order(variants=300)
    sweeper.sweep()
    worker = workers.engine_worker("engine-1", "--credits", "2")
    workers.until(lambda: Result.objects.count() >= 50, 60, "the first results")
    broker.stop()
    workers.until(lambda: not Job.objects.filter(state="running").exists(), 60, "what runs without a broker")
    broker.start()
    sweeper.sweep()
    workers.until(lambda: scored(order), 60, "the rest")
    for priority in ("stat", "routine"):
        later = make_order(variants=5, priority=priority)
        workers.until(lambda: scored(later), 60, f"a later {priority} order")  # noqa: B023 -- called within the turn
    assert worker.poll() is None
    assert set(Job.objects.values_list("deaths", "state")) == {(0, "succeeded")}
