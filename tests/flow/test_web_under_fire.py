"""A real web process with a small pool: what a crowd of refused requests, a restarted database and a full pool leave behind."""

import http.client
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from django.test import Client

from supervisor.ports import LOCALHOST, Reservation
from tests.engine_queue.workers import wait_until
from tests.factories import make_laboratory, make_user
from tests.services import ROOT, Services

pytestmark = pytest.mark.flow
# on a machine of many cores the executor that makes error pages has more threads than the pool has connections
SERVE = "import os, sys, uvicorn; os.cpu_count = lambda: 16; uvicorn.run('config.asgi:application', port=int(sys.argv[1]))"
POOL = 8


class Web:
    """The process, and a person who is logged in."""

    def __init__(self, port: int, log: Path) -> None:
        self.port, self.log = port, log
        client = Client()
        client.force_login(make_user(role="requester", organisation=make_laboratory()))
        self.cookie = {"Cookie": f"sessionid={client.cookies['sessionid'].value}"}

    def get(self, path: str) -> int:
        return self.ask(path, self.cookie)

    def ready(self) -> int:
        return self.health("ready", {})

    def health(self, what: str, headers: dict[str, str]) -> int:
        """With less time than the ten seconds that a page waits for a connection."""
        return self.ask(f"/health/{what}", headers, timeout=8)

    def ask(self, path: str, headers: dict[str, str], *, timeout: float = 30) -> int:
        connection = http.client.HTTPConnection(LOCALHOST, self.port, timeout=timeout)
        try:
            connection.request("GET", path, headers=headers)
            return connection.getresponse().status
        finally:
            connection.close()

    def get_many(self, path: str, times: int) -> set[int]:
        with ThreadPoolExecutor(40) as crowd:
            return set(crowd.map(self.get, [path] * times))

    def missing(self) -> str:
        return f"/orders/{uuid4()}/"

    def answers(self) -> bool:
        try:
            return self.ready() == 200
        except OSError:
            return False


@pytest.fixture
def web(clone_db: str, valkey_url: str, tmp_path: Path) -> Iterator[Web]:
    reservation = Reservation()
    port = reservation.port
    reservation.close()
    made = Web(port, tmp_path / "web.log")
    with made.log.open("wb") as out:
        environment = os.environ | {"DATABASE_POOL": "1"}
        process = subprocess.Popen([sys.executable, "-c", SERVE, str(port)], cwd=ROOT, env=environment, stdout=out, stderr=out)
    try:
        wait_until(made.answers, 60, made.log.read_text)
        yield made
    finally:
        process.kill()
        process.wait(10)


@pytest.fixture
def superuser(services: Services) -> Iterator[psycopg.Connection]:
    with psycopg.connect(services.postgres.url(), autocommit=True) as connection:
        yield connection


def end_connections(superuser: psycopg.Connection, clone_db: str) -> int:
    """As a restart of the database does it."""
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND usename = 'helicase_app'"
    return superuser.execute(others, [clone_db.rpartition("/")[2]]).rowcount


def test_a_crowd_of_missing_pages_leaves_the_pool_to_the_others(web: Web) -> None:
    assert web.get_many(web.missing(), 120) == {404}
    assert web.get("/") == 200, web.log.read_text()[-4000:]


def test_refused_pages_leave_the_pool_to_the_others(web: Web) -> None:
    assert web.get_many("/engine/", 120) == {403}
    assert web.get("/") == 200, web.log.read_text()[-4000:]


def test_after_a_restart_of_the_database_pages_and_refusals_are_what_they_were(
    web: Web, superuser: psycopg.Connection, clone_db: str
) -> None:
    web.get_many(web.missing(), 40)
    assert end_connections(superuser, clone_db) > 0
    assert web.get_many(web.missing(), 40) == {404}, web.log.read_text()[-4000:]
    assert web.get("/engine/") == 403
    assert web.get("/") == 200


def test_readiness_does_not_wait_as_long_as_a_page_for_a_connection(web: Web, clone_db: str) -> None:
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as blocker, ThreadPoolExecutor(POOL) as crowd:
        blocker.execute("LOCK TABLE django_session IN ACCESS EXCLUSIVE MODE")
        held = [crowd.submit(web.get, "/") for _ in range(POOL)]
        with psycopg.connect(clone_db, autocommit=True) as looker:
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            wait_until(lambda: looker.execute(waiting).fetchone() == (POOL,), 30)
        assert {web.health("ready", headers) for headers in ({}, web.cookie)} == {503}
        assert web.health("live", web.cookie) == 200
        blocker.rollback()
        assert {page.result() for page in held} == {200}
    assert web.ready() == 200


def test_a_search_is_not_written_down(web: Web) -> None:
    assert web.get("/?q=Okafor") == 200
    assert '"GET / HTTP/1.1" 200' in web.log.read_text() and "Okafor" not in web.log.read_text()
