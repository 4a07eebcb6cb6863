"""A platform worker that is killed while it places a manifest: another one goes on, and every row is one order."""

import os
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from audit.models import Event
from engine_queue.models import Run, Worker
from foundation import clock
from orders.manifests import claims, services
from orders.models import Manifest, Order
from orders.tasks import deliver_manifest
from tests.engine_queue.workers import Crowd, crowd
from tests.orders.test_manifests import Bench, cells, states

pytestmark = pytest.mark.flow

ROWS, STUCK = 8, 5  # the row whose transaction is open when its worker dies
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@pytest.fixture
def workers(clone_db: str, valkey_url: str, tmp_path: Path) -> Iterator[Crowd]:
    with crowd(tmp_path) as made:
        yield made


def platform_worker(workers: Crowd, name: str) -> list[int]:
    """Start one; its process and that of its pool."""
    process = workers.start("platform_worker", "--name", name, "--queue", "intake", "--concurrency", "1")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    workers.until(lambda: Worker.objects.filter(name=name).exists() and children.read_text().split(), 60, name)
    return [process.pid, *map(int, children.read_text().split())]


def somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(WAITING)
        return bool(cursor.fetchone()[0])


def facts() -> tuple[int, ...]:
    """Orders, record numbers of them, runs, and events of placing."""
    numbers, placed = Order.objects.values("stated_mrn").distinct(), Event.objects.filter(action="order.placed")
    return Order.objects.count(), numbers.count(), Run.objects.count(), placed.count()


def test_killed_while_it_places_a_row_another_goes_on_and_each_row_is_one_order(workers: Crowd, clone_db: str) -> None:
    bench = Bench()
    manifest = bench.sent(*(cells(n) for n in range(ROWS)))
    services.place(actor=bench.actor, manifest=manifest, valid_only=False, expected_version=manifest.version)
    stuck = manifest.rows.get(number=STUCK + 1).intake_id  # the header is row 1
    with psycopg.connect(clone_db) as holder:
        holder.execute("SELECT FROM orders_intake WHERE id = %s FOR UPDATE", [stuck])  # which `place` locks
        first = platform_worker(workers, "platform-1")
        deliver_manifest({"manifest": str(manifest.pk)})
        workers.until(somebody_waits, 60, "a row that waits")
        for pid in first:
            os.kill(pid, signal.SIGKILL)
    workers.running[0].wait(10)
    workers.until(lambda: not somebody_waits(), 10, "the end of its connection")
    assert states(manifest) == ["placed"] * (STUCK - 1) + ["valid"] * (ROWS - STUCK + 1)
    assert facts() == (STUCK - 1,) * 4
    Manifest.objects.update(claimed_at=clock.now() - timedelta(minutes=2))
    assert claims.recover() == 1
    platform_worker(workers, "platform-2")
    deliver_manifest({"manifest": str(manifest.pk)})
    workers.until(lambda: Manifest.objects.get().state == "placed", 60, "the rest")
    assert states(manifest) == ["placed"] * ROWS and facts() == (ROWS,) * 4
