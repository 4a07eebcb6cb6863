"""What the engine page and the worklist show."""

from datetime import timedelta

import pytest

from engine_queue import lease, selectors
from engine_queue.models import Worker
from foundation import clock
from tests.engine_queue.rows import make_run, taken
from tests.engine_queue.workers import DEPLOYMENT

pytestmark = pytest.mark.django_db


def test_workers_are_shown_with_their_figures_the_living_first() -> None:
    for name in ("a", "b"):
        held = lease.take_name(name, kind="engine")
        held.announce(deployments=[DEPLOYMENT], fingerprints={DEPLOYMENT: "f"})
        held.extend({"running": 3, "waiting": 2, "held": 1, "tokens_per_second": 4.5})
    Worker.objects.filter(name="a").update(lease_until=clock.now() - timedelta(seconds=1))
    first, second = selectors.workers()
    assert (first.name, first.alive, second.name, second.alive) == ("b", True, "a", False)
    assert (first.deployments, first.running, first.waiting, first.held, first.tokens_per_second) == ([DEPLOYMENT], 3, 2, 1, 4.5)


def test_work_without_a_living_worker_is_a_loud_state() -> None:
    make_run()
    assert selectors.unserved_deployments() == [DEPLOYMENT]
    held = lease.take_name("a", kind="engine")
    assert selectors.unserved_deployments() == [DEPLOYMENT]
    held.announce(deployments=[DEPLOYMENT], fingerprints={})
    assert selectors.unserved_deployments() == []
    held.give_back()
    assert selectors.unserved_deployments() == [DEPLOYMENT]


def test_a_position_counts_what_starts_before() -> None:
    soon = clock.now() + timedelta(minutes=1)
    run = make_run(items=30)
    make_run(items=75, due=soon)
    make_run(items=25, rank=0)
    make_run(items=25, due=clock.now() + timedelta(days=2))
    assert selectors.queue_position(run) == 4
    for _ in range(6):
        taken()
    assert selectors.queue_position(run) is None
