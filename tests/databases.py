"""Databases for tests: one migrated template per session, and clones of it. Nothing is ever truncated.

* An ordinary `django_db` test runs, as helicase_app, in a rolled-back transaction on the session's one clone.
* A test with real processes or committed transactions asks for `clone_db` and gets a fresh database of its own.
"""

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest
import redis
from django.db import connections
from psycopg import sql
from pytest_django.plugin import DjangoDbBlocker

from supervisor import roles
from tests.services import ROOT, SESSION_DATABASE, Services

TEMPLATE_DATABASE = "helicase_template"
# A superuser's, in the databases of tests alone: `tests.forging` puts an order into the past, which the application cannot.
FORGING = """
    CREATE FUNCTION forging(begins boolean) RETURNS void LANGUAGE sql SECURITY DEFINER AS $$
        SELECT set_config('session_replication_role', CASE WHEN begins THEN 'replica' ELSE 'origin' END, true)
    $$;
    GRANT EXECUTE ON FUNCTION forging(boolean) TO helicase_app;
"""
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Databases:
    """Creates and drops clones of the migrated template."""

    services: Services

    def clone(self, name: str, *, template: str = TEMPLATE_DATABASE) -> None:
        with self._superuser() as connection:
            roles.create_database(connection, name, template=template)
        with psycopg.connect(self.services.postgres.url(name), autocommit=True) as connection:
            roles.grant_on_database(connection)

    def drop(self, name: str) -> None:
        with self._superuser() as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def build_template(self) -> None:
        """Roles, an empty database, and every migration, run as helicase_owner by the command that production uses."""
        secrets = self.services.secrets
        with self._superuser() as connection:
            roles.ensure_roles(connection, owner_password=secrets.database_owner, app_password=secrets.database_app)
            roles.create_database(connection, TEMPLATE_DATABASE)
        with psycopg.connect(self.services.postgres.url(TEMPLATE_DATABASE), autocommit=True) as connection:
            roles.grant_on_database(connection)
        with psycopg.connect(self.services.owner_url(TEMPLATE_DATABASE), autocommit=True) as connection:
            roles.set_default_privileges(connection)
        outcome = subprocess.run(
            [sys.executable, "manage.py", "provision"],
            cwd=ROOT,
            env=os.environ | self.services.environment() | self.urls(TEMPLATE_DATABASE),
            capture_output=True,
            text=True,
            check=False,
        )
        if outcome.returncode:
            pytest.exit(f"manage.py provision failed:\n{outcome.stdout}{outcome.stderr}", returncode=3)
        with psycopg.connect(self.services.postgres.url(TEMPLATE_DATABASE), autocommit=True) as connection:
            connection.execute(FORGING)

    def urls(self, name: str) -> dict[str, str]:
        return {"DATABASE_URL": self.services.app_url(name), "DATABASE_OWNER_URL": self.services.owner_url(name)}

    @staticmethod
    def point_django_to(name: str) -> str:
        """Every connection that Django opens from now on leads to this database. Returns the name of the one before."""
        _disconnect()
        before: str = connections.settings["default"]["NAME"]
        for settings in connections.settings.values():
            # changed in place: the connections of every thread share this dictionary
            settings["NAME"] = name
        return before

    def _superuser(self) -> psycopg.Connection:
        return psycopg.connect(self.services.postgres.url(), autocommit=True)


@pytest.fixture(scope="session")
def databases(services: Services) -> Databases:
    """The migrated template, built once."""
    made = Databases(services)
    made.build_template()
    return made


@pytest.fixture(scope="session")
def django_db_setup(databases: Databases, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """In place of pytest-django's: the settings already name the session's database, which only has to be cloned."""
    databases.clone(SESSION_DATABASE)
    yield
    with django_db_blocker.unblock():
        _disconnect()
    databases.drop(SESSION_DATABASE)


@pytest.fixture
def clone_db(
    request: pytest.FixtureRequest, databases: Databases, django_db_blocker: DjangoDbBlocker, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """A database of the test's own; Django and the environment of started processes point to it. The value is its DATABASE_URL."""
    if {"db", "transactional_db"} & set(request.fixturenames):
        pytest.fail("clone_db gives committed transactions on its own database: take away the django_db mark", pytrace=False)
    name = f"helicase_clone_{next(_numbers)}"
    databases.clone(name)
    for variable, url in databases.urls(name).items():
        monkeypatch.setenv(variable, url)
    opened: list[psycopg.Connection] = []
    connect = psycopg.connect
    monkeypatch.setattr(psycopg, "connect", lambda *args, **options: opened.append(connect(*args, **options)) or opened[-1])
    with django_db_blocker.unblock():
        before = databases.point_django_to(name)
        try:
            yield os.environ["DATABASE_URL"]
        finally:
            databases.point_django_to(before)
            for connection in opened:
                # Django's test client switches off, for the length of a request, that a request gives its connection back; one that
                # ends in another thread at this moment keeps it, and whichever test runs when it is collected would fail for it
                connection.close()
            databases.drop(name)


@pytest.fixture
def valkey_url(services: Services) -> str:
    """The session's Valkey, emptied. One server for all: Django's settings named it before the first test."""
    with redis.Redis.from_url(services.valkey.url) as client:
        client.flushall()
    return services.valkey.url


def _disconnect() -> None:
    for connection in connections.all(initialized_only=True):
        connection.close()
        if connection.vendor == "postgresql":
            connection.close_pool()
