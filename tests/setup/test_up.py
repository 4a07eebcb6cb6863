"""`make up` with real processes: starts, stops, starts again, and survives what kills it."""

import contextlib
import http.client
import os
import shutil
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.setup.stand_in import Running, kill_all, processes_of, wait_until_none_is_left

pytestmark = pytest.mark.flow
Up = Callable[..., Running]


def find(root: Path, part: str) -> int:
    return next(int(line.split()[0]) for line in processes_of(root) if part in line)


def page_status(address: str) -> int:
    host, port = address.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    connection.request("GET", "/")
    with contextlib.closing(connection):
        return connection.getresponse().status


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_signal_ends_everything_and_leaves_no_process(up: Up, checkout: Path, number: signal.Signals) -> None:
    running = up()
    assert page_status(running.ready()) == 200
    assert running.end(number) == 0
    assert processes_of(checkout) == []


def test_the_first_start_in_an_empty_checkout_makes_everything_and_says_ready_once(up: Up, checkout: Path) -> None:
    shutil.rmtree(checkout / ".run")
    running = up()
    address = running.ready()
    running.end()
    assert [line for line in running.lines if line.startswith("READY")] == [f"READY {address}"]


def test_a_second_start_keeps_the_data(up: Up) -> None:
    for count in (1, 2):
        running = up()
        running.wait_for(rf"^starts {count}$")
        running.ready()
        running.end()


def test_without_demo_no_demo_is_made(up: Up) -> None:
    running = up(DEMO="0")
    running.ready()
    running.end()
    assert "starts" not in running.text


def test_it_starts_again_with_its_data_after_all_was_killed(up: Up, checkout: Path) -> None:
    running = up()
    running.ready()
    kill_all(checkout)
    running.end()
    again = up()
    again.wait_for(r"^starts 2$")
    again.ready()
    assert again.end() == 0


def test_when_only_the_supervisor_is_killed_its_processes_go_too(up: Up, checkout: Path) -> None:
    running = up()
    running.ready()
    os.kill(running.process.pid, signal.SIGKILL)
    running.end()
    wait_until_none_is_left(checkout)


def test_a_busy_port_is_left_to_its_owner(up: Up) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        running = up(PORT=str(port))
        address = running.ready()
    running.end()
    assert int(address.rsplit(":", 1)[1]) > port


def test_a_second_one_in_the_same_folder_says_so_and_leaves_the_first_alone(up: Up) -> None:
    first = up()
    address = first.ready()
    second = up()
    second.wait_for(r"^helicase: Helicase already runs from this folder .*" + address)
    assert second.refused() == 2
    assert page_status(address) == 200
    first.end()


@pytest.mark.parametrize(("name", "part"), [("engine-1", "engine_worker"), ("postgres", "/bin/postgres"), ("web", "uvicorn")])
def test_a_process_that_dies_is_started_again(up: Up, checkout: Path, name: str, part: str) -> None:
    running = up()
    running.ready()
    before = find(checkout, part)
    os.kill(before, signal.SIGKILL)
    running.wait_for(rf"^{name} ended with signal SIGKILL; it is started again")
    while not [line for line in processes_of(checkout) if part in line]:
        time.sleep(0.05)
    assert find(checkout, part) != before
    assert running.end() == 0


def test_a_failing_migration_shows_its_last_lines_and_leaves_no_process(up: Up, checkout: Path) -> None:
    (checkout / "manage.py").write_text("raise SystemExit('the migration is broken')")
    running = up()
    running.wait_for(r"^helicase: manage.py provision failed with exit code 1")
    assert running.refused() == 1
    assert "the migration is broken" in running.text
    assert processes_of(checkout) == []


def test_what_somebody_has_to_change_is_one_line(up: Up, checkout: Path) -> None:
    running = up(REFUSED="1")
    assert running.refused() == 2
    assert running.lines[-1] == "helicase: something has to be changed first"
    assert processes_of(checkout) == []


@pytest.mark.parametrize(
    ("variable", "url"),
    [
        ("DATABASE_URL", "postgres://someone:hush@127.0.0.1:1/db"),
        ("REDIS_URL", "redis://:hush@127.0.0.1:1/0"),
        ("PORT", "many"),
        ("DEMO", "2"),
        ("LOG_LEVEL", "foo"),
        ("MODELS_DIR", "/nowhere"),
    ],
)
def test_a_wrong_address_is_one_clear_line(up: Up, variable: str, url: str) -> None:
    running = up(**{variable: url})
    running.wait_for(rf"^helicase: {variable}")
    assert running.refused() == 2
    assert "Traceback" not in running.text
    assert "hush" not in running.text


def test_only_the_owner_of_the_checkout_reads_its_secrets(up: Up, checkout: Path) -> None:
    running = up()
    running.ready()
    running.end()
    for name in ("secrets.json", "environment.json"):
        assert (checkout / ".run" / name).stat().st_mode & 0o077 == 0
