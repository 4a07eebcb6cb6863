"""Services from outside: a wrong address is one clear line, a right one gets its roles."""

import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import psycopg
import pytest

from supervisor import external, roles
from supervisor.errors import ExternalServiceError
from supervisor.secrets_file import new_secrets
from tests.databases import Databases
from tests.services import Services

NAME = "helicase_external"


@pytest.fixture
def database(databases: Databases) -> Iterator[str]:
    """An empty database on a server that has the two roles already; the value is the superuser's URL."""
    with psycopg.connect(databases.services.postgres.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {NAME} TEMPLATE template0")
    yield databases.services.postgres.url(NAME)
    databases.drop(NAME)


def refusal(services: Services, url: str, owner_url: str = "") -> str:
    with pytest.raises(ExternalServiceError) as caught:
        external.database_urls(database_url=url, database_owner_url=owner_url, secrets=services.secrets)
    assert "\n" not in str(caught.value)
    assert urlsplit(url).password is None or str(urlsplit(url).password) not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("mysql://a:hush@localhost/db", "a URL postgresql://user:password@host:port/database is needed"),
        ("postgres://a:hush@127.0.0.1:1/db", "nothing listens there"),
        ("postgres://a:hush@no-such-host.invalid/db", "the host name is unknown"),
        ("postgres://a:hush@127.0.0.1:none/db", "invalid"),
    ],
)
def test_a_wrong_database_address_names_the_reason(services: Services, url: str, reason: str) -> None:
    assert reason in refusal(services, url)


def test_a_wrong_password_is_named(services: Services) -> None:
    wrong = services.postgres.url().replace(services.postgres.password, "not-the-password")
    assert "user name or password is wrong" in refusal(services, wrong)


def test_a_missing_database_is_named(services: Services) -> None:
    assert "there is no such database" in refusal(services, services.postgres.url("no_such_database"))


def test_another_server_than_postgresql_is_named(services: Services, some_web_server: int) -> None:
    assert "not PostgreSQL" in refusal(services, f"postgres://a:hush@127.0.0.1:{some_web_server}/db")


def test_a_user_without_the_right_to_make_roles_is_told_the_two_ways(services: Services, databases: Databases) -> None:
    message = refusal(services, services.app_url("helicase_template"))
    assert "may not create roles" in message
    assert "DATABASE_OWNER_URL" in message


def test_a_superuser_gets_the_two_roles(services: Services, database: str) -> None:
    urls = external.database_urls(database_url=database, database_owner_url="", secrets=services.secrets)
    with psycopg.connect(urls.owner) as owner:
        owner.execute("CREATE TABLE kept (a int)")
    with psycopg.connect(urls.app) as app:
        app.execute("INSERT INTO kept VALUES (1)")
        assert app.info.user == roles.APP


def test_roles_of_another_helicase_are_not_given_a_new_password(services: Services, database: str) -> None:
    with pytest.raises(ExternalServiceError, match="does not know its password"):
        external.database_urls(database_url=database, database_owner_url="", secrets=new_secrets())
    psycopg.connect(services.app_url("postgres")).close()


def test_the_pair_is_taken_as_given(services: Services, databases: Databases) -> None:
    app, owner = services.app_url("helicase_template"), services.owner_url("helicase_template")
    urls = external.database_urls(database_url=app, database_owner_url=owner, secrets=new_secrets())
    assert (urls.app, urls.owner) == (app, owner)


def test_the_pair_in_the_wrong_order_is_refused(services: Services, databases: Databases) -> None:
    app, owner = services.app_url("helicase_template"), services.owner_url("helicase_template")
    assert "must connect as helicase_app" in refusal(services, owner, app)


def test_roles_are_made_for_production_from_the_urls(services: Services, database: str) -> None:
    app, owner = services.app_url(NAME), services.owner_url(NAME)
    for _ in range(2):
        external.make_roles(admin_url=database, database_url=app, database_owner_url=owner)
    with psycopg.connect(owner) as connection:
        connection.execute("CREATE TABLE made (a int)")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1/", "a URL redis://… or rediss://… is needed"),
        ("redis://:hush@127.0.0.1:1/0", "Connection refused"),
        ("redis://:hush@no-such-host.invalid/0", "cannot use redis://no-such-host.invalid/0"),
    ],
)
def test_a_wrong_redis_address_names_the_reason(url: str, reason: str) -> None:
    with pytest.raises(ExternalServiceError) as caught:
        external.check_redis(url)
    assert reason in str(caught.value)
    assert "hush" not in str(caught.value)


def test_a_wrong_redis_password_is_named(services: Services) -> None:
    with pytest.raises(ExternalServiceError, match="refuses"):
        external.check_redis(f"redis://:wrong@127.0.0.1:{services.valkey.reservation.port}/0")


def test_another_server_than_redis_is_named(some_web_server: int) -> None:
    with pytest.raises(ExternalServiceError, match="is not Redis"):
        external.check_redis(f"redis://127.0.0.1:{some_web_server}/0")


@pytest.fixture
def some_web_server() -> Iterator[int]:
    """The port of a server that answers one connection as HTTP would."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        answering = threading.Thread(target=_answer_once, args=[server])
        answering.start()
        yield server.getsockname()[1]
        answering.join()


def _answer_once(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(1024)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
