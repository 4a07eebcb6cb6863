"""helicase_app reads and writes rows and nothing else; everything runs as it, these tests too."""

from collections.abc import Iterator

import psycopg
import pytest

from supervisor import roles
from tests.databases import Databases

NAME = "helicase_roles"


@pytest.fixture
def prepared(databases: Databases) -> Iterator[Databases]:
    databases.clone(NAME)
    with psycopg.connect(databases.services.owner_url(NAME)) as owner:
        owner.execute("CREATE TABLE mine (id bigint GENERATED ALWAYS AS IDENTITY, a int)")
        owner.execute("CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'")
    yield databases
    databases.drop(NAME)


@pytest.fixture
def app(prepared: Databases) -> Iterator[psycopg.Connection]:
    with psycopg.connect(prepared.services.app_url(NAME)) as connection:
        yield connection
        connection.rollback()


def test_it_reads_and_writes_rows_of_the_owners_tables(app: psycopg.Connection) -> None:
    app.execute("INSERT INTO mine (a) VALUES (1)")
    app.execute("UPDATE mine SET a = 2")
    assert app.execute("DELETE FROM mine RETURNING a, one()").fetchall() == [(2, 1)]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE other (a int)",
        "CREATE TEMPORARY TABLE other (a int)",
        "ALTER TABLE mine ADD COLUMN b int",
        "DROP TABLE mine",
        "TRUNCATE mine",
        "CREATE TRIGGER t BEFORE INSERT ON mine EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "ALTER TABLE mine DISABLE TRIGGER ALL",
        "CREATE ROLE friend",
        "CREATE DATABASE other",
        "SET ROLE helicase_owner",
        "SET session_replication_role = replica",
        "COPY mine TO PROGRAM 'true'",
    ],
)
def test_it_may_not(app: psycopg.Connection, statement: str) -> None:
    with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.ActiveSqlTransaction)):
        app.execute(statement)


def test_nothing_is_left_for_everybody(prepared: Databases) -> None:
    with psycopg.connect(prepared.services.postgres.url(NAME)) as connection:
        rights = connection.execute(
            "SELECT has_database_privilege('public', current_database(), 'CONNECT'),"
            " has_schema_privilege('public', 'public', 'USAGE'),"
            " has_function_privilege('public', 'one()', 'EXECUTE')"
        ).fetchone()
    assert rights == (False, False, False)


@pytest.mark.parametrize(("setting", "value"), [("statement_timeout", "30s"), ("lock_timeout", "5s")])
def test_no_statement_waits_for_ever(app: psycopg.Connection, setting: str, value: str) -> None:
    assert app.execute(f"SHOW {setting}").fetchone() == (value,)


def test_making_everything_again_changes_nothing(prepared: Databases) -> None:
    secrets = prepared.services.secrets
    with psycopg.connect(prepared.services.postgres.url(NAME), autocommit=True) as connection:
        acl = "SELECT datacl::text FROM pg_database WHERE datname = current_database()"
        before = connection.execute(acl).fetchone()
        roles.ensure_roles(connection, owner_password=secrets.database_owner, app_password=secrets.database_app)
        roles.grant_on_database(connection)
        assert connection.execute(acl).fetchone() == before
