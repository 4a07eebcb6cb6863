"""A worker that never comes back, and what it leaves in the broker."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import redis

from engine_queue import sweeper, tickets
from engine_queue.models import Job, Worker
from foundation import clock
from tests.engine_queue.workers import DEPLOYMENT, Crowd, crowd
from tests.factories import make_order

pytestmark = pytest.mark.flow

ROUTINE = tickets.routine_queue(DEPLOYMENT)


@pytest.fixture
def broker(valkey_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(valkey_url) as client:
        yield client


@pytest.fixture
def workers(clone_db: str, valkey_url: str, tmp_path: Path) -> Iterator[Crowd]:
    with crowd(tmp_path) as made:
        yield made


def left_behind(workers: Crowd, broker: redis.Redis) -> int:
    """Messages that a killed worker held."""
    make_order(variants=300)
    worker = workers.engine_worker("engine-9", "--credits", "2")
    workers.until(lambda: Job.objects.filter(state="running").exists(), 60, "work")
    worker.kill()
    worker.wait(10)
    return int(broker.hlen("unacked:engine-9"))


def test_its_messages_go_back_when_its_lease_is_long_gone_and_not_before(workers: Crowd, broker: redis.Redis) -> None:
    held, queued = left_behind(workers, broker), int(broker.llen(ROUTINE))
    assert held > 0
    Worker.objects.update(lease_until=clock.now() - timedelta(minutes=9))
    assert (sweeper.sweep().returned, int(broker.hlen("unacked:engine-9"))) == (0, held)
    Worker.objects.update(lease_until=clock.now() - timedelta(minutes=11))
    assert sweeper.sweep().returned == held
    assert (int(broker.hlen("unacked:engine-9")), int(broker.llen(ROUTINE)) >= queued + held) == (0, True)


def test_messages_under_a_name_that_nobody_here_knows_are_left_alone(workers: Crowd, broker: redis.Redis) -> None:
    held = left_behind(workers, broker)
    Worker.objects.all().delete()
    assert (sweeper.sweep().returned, int(broker.hlen("unacked:engine-9"))) == (0, held)
