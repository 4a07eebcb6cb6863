"""DATABASE_URL and REDIS_URL given from outside: tried before anything starts, so that a wrong one is one clear line."""

from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import psycopg
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from supervisor import roles
from supervisor.errors import ExternalServiceError
from supervisor.secrets_file import Secrets

CONNECT_TIMEOUT_S = 5
OLDEST_POSTGRES = 150000  # the schema `public` is closed to everybody from 15 on

_HINTS = (
    ("password authentication failed", "user name or password is wrong"),
    ("no password supplied", "the URL holds no password"),
    ("does not exist", "there is no such database or user"),
    ("Connection refused", "nothing listens there"),
    ("could not translate host name", "the host name is unknown"),
    ("failed to resolve host", "the host name is unknown"),
    ("timeout expired", "no PostgreSQL answers there"),
    ("invalid response to SSL negotiation", "what listens there is not PostgreSQL"),
    ("server closed the connection unexpectedly", "what listens there is not PostgreSQL, or it closed the connection"),
)


@dataclass(frozen=True)
class DatabaseUrls:
    """Where the processes connect (helicase_app) and where migrations connect (helicase_owner)."""

    app: str
    owner: str


def database_urls(*, database_url: str, database_owner_url: str, secrets: Secrets) -> DatabaseUrls:
    """Check the given URLs; make the two roles where the given user may create roles."""
    with _connect("DATABASE_URL", database_url) as connection:
        if connection.info.server_version < OLDEST_POSTGRES:
            found = connection.info.server_version // 10_000
            raise ExternalServiceError(f"DATABASE_URL: PostgreSQL 15 or newer is needed, that one is {found}")
        if database_owner_url:
            return _checked_pair(connection, database_url, database_owner_url)
        if not _may_create_roles(connection):
            raise ExternalServiceError(
                f"DATABASE_URL: user {connection.info.user} may not create roles; give a user that may, or the pair "
                f"DATABASE_URL (as {roles.APP}) and DATABASE_OWNER_URL (as {roles.OWNER})"
            )
        return _make_roles(connection, database_url, secrets)


def check_redis(url: str) -> None:
    """Raise unless a Redis or Valkey answers there."""
    if urlsplit(url).scheme not in ("redis", "rediss"):
        raise ExternalServiceError("REDIS_URL: a URL redis://… or rediss://… is needed")
    try:
        options = {"socket_connect_timeout": CONNECT_TIMEOUT_S, "socket_timeout": CONNECT_TIMEOUT_S, "retry": Retry(NoBackoff(), 0)}
        with redis.Redis.from_url(url, **options) as client:
            client.ping()
    except (redis.AuthenticationError, redis.ResponseError) as problem:
        raise ExternalServiceError(f"REDIS_URL: {_place(url)} refuses: {_first_line(problem)}") from problem
    except redis.InvalidResponse as problem:
        raise ExternalServiceError(f"REDIS_URL: what listens at {_place(url)} is not Redis") from problem
    except (redis.RedisError, OSError, ValueError) as problem:
        raise ExternalServiceError(f"REDIS_URL: cannot use {_place(url)}: {_first_line(problem)}") from problem


def check_database(url: str) -> None:
    """Raise unless a PostgreSQL takes this connection."""
    _connect("DATABASE_URL", url).close()


def make_roles(*, admin_url: str, database_url: str, database_owner_url: str) -> None:
    """Make both roles with the passwords of the two URLs, as the production set-up does before it migrates."""
    app, owner = urlsplit(database_url), urlsplit(database_owner_url)
    _require_role_names(app.username, owner.username)
    with _connect("DATABASE_ADMIN_URL", admin_url) as connection:
        roles.ensure_roles(connection, owner_password=unquote(owner.password or ""), app_password=unquote(app.password or ""))
        roles.grant_on_database(connection)
    with _connect("DATABASE_OWNER_URL", database_owner_url) as connection:
        roles.set_default_privileges(connection)


def _require_role_names(app: str | None, owner: str | None) -> None:
    if (app, owner) != (roles.APP, roles.OWNER):
        raise ExternalServiceError(f"DATABASE_URL must connect as {roles.APP} and DATABASE_OWNER_URL as {roles.OWNER}")


def _connect(variable: str, url: str) -> psycopg.Connection:
    if urlsplit(url).scheme not in ("postgres", "postgresql"):
        raise ExternalServiceError(f"{variable}: a URL postgresql://user:password@host:port/database is needed")
    try:
        return psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_S, autocommit=True)
    except (psycopg.Error, ValueError, UnicodeError) as problem:
        text = str(problem)
        hint = next((hint for sign, hint in _HINTS if sign in text), _first_line(problem))
        raise ExternalServiceError(f"{variable}: cannot use {_place(url)}: {hint}") from problem


def _checked_pair(connection: psycopg.Connection, database_url: str, database_owner_url: str) -> DatabaseUrls:
    with _connect("DATABASE_OWNER_URL", database_owner_url) as owner:
        if owner.info.dbname != connection.info.dbname:
            raise ExternalServiceError("DATABASE_URL and DATABASE_OWNER_URL name different databases")
        _require_role_names(connection.info.user, owner.info.user)
        roles.set_default_privileges(owner)
    return DatabaseUrls(app=database_url, owner=database_owner_url)


def _may_create_roles(connection: psycopg.Connection) -> bool:
    row = connection.execute("SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user").fetchone()
    return bool(row and row[0])


def _make_roles(connection: psycopg.Connection, database_url: str, secrets: Secrets) -> DatabaseUrls:
    urls = DatabaseUrls(
        app=_as_user(database_url, roles.APP, secrets.database_app),
        owner=_as_user(database_url, roles.OWNER, secrets.database_owner),
    )
    # roles belong to the whole server: another Helicase may live there, and a new password would lock it out
    exist = {name: roles.role_exists(connection, name) for name in (roles.OWNER, roles.APP)}
    if any(exist.values()):
        _require_our_password(urls)
    try:
        if not all(exist.values()):
            roles.ensure_roles(connection, owner_password=secrets.database_owner, app_password=secrets.database_app)
        roles.grant_on_database(connection)
        with _connect("DATABASE_URL", urls.owner) as owner:
            roles.set_default_privileges(owner)
    except psycopg.Error as problem:
        who = connection.info.user
        raise ExternalServiceError(f"DATABASE_URL: user {who} could not prepare the roles: {_first_line(problem)}") from problem
    return urls


def _require_our_password(urls: DatabaseUrls) -> None:
    try:
        for url in (urls.app, urls.owner):
            psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_S).close()
    except psycopg.OperationalError as problem:
        raise ExternalServiceError(
            f"DATABASE_URL: a role {roles.OWNER} or {roles.APP} exists there and this checkout does not know its password; "
            "give the pair DATABASE_URL and DATABASE_OWNER_URL"
        ) from problem


def _as_user(url: str, user: str, password: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{user}:{quote(password, safe='')}@{host}"))


def _place(url: str) -> str:
    """The URL without its password."""
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    return urlunsplit(parts._replace(netloc=f"{name}@{host}" if name else host, query=""))


def _first_line(problem: Exception) -> str:
    return next((line.strip() for line in str(problem).splitlines() if line.strip()), type(problem).__name__)
