"""The commands that start processes: one clear line when they cannot, and what they do when they can."""

import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import redis

from audit.models import Event
from engine import __version__ as engine_version
from engine_queue import selectors, sweeper
from engine_queue.models import Result, Run, Sweep, Worker
from foundation import clock
from registry.models import Deployment, ModelVersion
from registry.services import inspected
from tests.engine_queue.workers import DEPLOYMENT, Crowd, crowd
from tests.factories import make_order, make_test_version

pytestmark = pytest.mark.flow


@pytest.fixture
def workers(clone_db: str, valkey_url: str, tmp_path: Path) -> Iterator[Crowd]:
    with crowd(tmp_path) as made:
        yield made


def refused(workers: Crowd, *command: str) -> str:
    """The one line of a command that ended with status 2."""
    process = workers.start(*command)
    assert process.wait(60) == 2, workers.log(process)
    lines = workers.log(process).splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def engine_worker(*more: str) -> tuple[str, ...]:
    return ("engine_worker", "--name", "engine-1", *more)


def test_an_unknown_deployment_is_one_line(workers: Crowd) -> None:
    make_test_version()
    assert "there is no deployment other (ecoli-orf-2k-fp32)" in refused(workers, *engine_worker("--deployment", "other"))


def test_a_missing_model_folder_is_one_line(workers: Crowd) -> None:
    make_test_version()
    ModelVersion.objects.using("owner").update(folder="nowhere")
    assert "needs the model folder" in refused(workers, *engine_worker("--deployment", DEPLOYMENT))
    assert not Worker.objects.exists()


def test_a_taken_name_is_one_line_for_both_kinds_of_worker(workers: Crowd) -> None:
    make_test_version()
    first = workers.start("platform_worker", "--name", "engine-1", "--concurrency", "1")
    workers.until(lambda: Worker.objects.filter(name="engine-1").exists(), 60, "the first worker")
    expected = f"engine-1 is held by process {first.pid} on "
    assert expected in refused(workers, *engine_worker("--deployment", DEPLOYMENT))
    assert expected in refused(workers, "platform_worker", "--name", "engine-1")


def test_a_machine_that_gives_other_bits_refuses_the_deployment(workers: Crowd) -> None:
    make_test_version()
    Deployment.objects.update(fingerprint="0" * 64)
    process = workers.start(*engine_worker("--deployment", DEPLOYMENT))
    assert process.wait(60) == 2
    assert workers.log(process).startswith(
        f"CommandError: deployment {DEPLOYMENT} is pinned to fingerprint 000000000000… and this machine gives"
    )
    assert Worker.objects.get().deployments == []


def test_a_machine_of_the_same_settings_that_computes_other_bits_refuses_the_deployment(workers: Crowd) -> None:
    test = make_test_version()
    first = workers.start(*engine_worker("--deployment", DEPLOYMENT))
    workers.until(lambda: Worker.objects.filter(deployments=[DEPLOYMENT]).exists(), 60, "the first load")
    first.kill()
    first.wait(10)
    pinned = test.deployment
    pinned.refresh_from_db()
    columns = {"model_version": pinned.model_version, "precision": pinned.precision, "pin": pinned.pin, "created_at": clock.now()}
    Deployment.objects.create(name="other", fingerprint=pinned.fingerprint, golden="0" * 64, **columns)
    line = refused(workers, *engine_worker("--deployment", "other"))
    assert f"is pinned to golden bits 000000000000… and this machine gives {pinned.golden[:12]}…" in line


def test_a_folder_that_is_not_what_was_registered_is_refused_and_the_page_can_say_why(workers: Crowd) -> None:
    model = make_test_version().deployment.model_version
    inspected(model, {"fingerprint": "x", "golden": "y", "engine_version": engine_version, "weights_sha256": "0" * 64})
    line = refused(workers, *engine_worker("--deployment", DEPLOYMENT))
    assert "its folder no longer holds the weights that were registered as ecoli-orf-2k 1.0" in line
    (seen,) = selectors.workers()
    assert not seen.alive
    assert line.endswith(seen.refused[DEPLOYMENT])


def test_the_first_worker_pins_fingerprint_and_golden_bits_and_says_who_did(workers: Crowd) -> None:
    make_order(variants=5)
    worker = workers.engine_worker()
    workers.until(lambda: Result.objects.exists(), 60, "a result")
    pinned = Deployment.objects.get()
    assert pinned.fingerprint == Result.objects.first().fingerprint != ""  # type: ignore[union-attr]
    event = Event.objects.get(action="deployment.pinned")
    assert (event.actor_name, event.facts["golden"]) == ("engine-1", pinned.golden)
    assert len(pinned.golden) == 64
    worker.send_signal(signal.SIGINT)
    assert worker.wait(30) == 0, workers.log(worker)


def test_with_a_flushed_broker_beat_and_a_platform_worker_bring_a_run_to_its_end(workers: Crowd, valkey_url: str) -> None:
    sweeper.sweep()
    order = make_order(variants=60)
    with redis.Redis.from_url(valkey_url) as broker:
        broker.flushall()
    workers.engine_worker()
    workers.start("platform_worker", "--name", "platform-1", "--concurrency", "1")
    for _ in range(2):
        workers.start("beat")
    workers.until(lambda: Run.objects.get(order_id=order.pk).state == "scored", 60, "scoring")
    workers.until(lambda: workers.logs().count("stands by") == 1, 30, "one beat standing by")
    assert Sweep.objects.get().broker_since is not None
    for process in workers.running:
        process.send_signal(signal.SIGINT)
    assert [process.wait(10) for process in workers.running] == [0, 0, 0, 0], workers.logs()
    assert Worker.objects.filter(lease_until__gt=clock.now()).count() == 0


def test_the_health_of_a_worker_is_told_by_exit_status_and_one_line(workers: Crowd) -> None:
    def health(name: str) -> tuple[int, str]:
        process = workers.start("worker_health", "--name", name)
        return process.wait(60), workers.log(process).strip()

    worker = workers.start("platform_worker", "--name", "platform-1", "--concurrency", "1")
    workers.until(lambda: Worker.objects.exists(), 60, "the worker")
    assert health("platform-1") == (0, "")
    assert health("platform-2") == (1, "CommandError: no worker platform-2 has ever started")
    Worker.objects.update(name="platform-3", stats={"halted": "no database"})  # no longer renewed
    assert health("platform-3") == (1, "CommandError: worker platform-3 takes no work: no database")
    Worker.objects.update(lease_until=clock.now() - timedelta(seconds=1))
    assert health("platform-3") == (1, "CommandError: the lease of worker platform-3 has ended")
    worker.kill()
