"""The two database roles and what each may do: the only place where this SQL stands.

helicase_owner owns the tables and migrates. helicase_app is what every process and every test runs as: it reads and writes rows,
and has no DDL. Protected tables take single rights away again in their own migrations.
"""

from typing import LiteralString

import psycopg
from psycopg import sql

OWNER = "helicase_owner"
APP = "helicase_app"

# a query, a lock or a forgotten transaction may not hold up a laboratory; a process with longer work raises its own limit
APP_TIMEOUTS = {"statement_timeout": "30s", "lock_timeout": "5s", "idle_in_transaction_session_timeout": "60s"}

# run by a superuser, by whoever may administer the database, or by its owner; twice does no harm
DATABASE_GRANTS: tuple[LiteralString, ...] = (
    "REVOKE ALL ON DATABASE {database} FROM PUBLIC",
    "GRANT ALL ON DATABASE {database} TO {owner}",
    "GRANT CONNECT ON DATABASE {database} TO {app}",
    "REVOKE ALL ON SCHEMA public FROM PUBLIC",
    "GRANT ALL ON SCHEMA public TO {owner}",
    "GRANT USAGE ON SCHEMA public TO {app}",
)
# run by helicase_owner itself, so that it also works where nobody is a superuser
DEFAULT_PRIVILEGES: tuple[LiteralString, ...] = (
    "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {app}",
    "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT USAGE, SELECT ON SEQUENCES TO {app}",
    "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC",
    "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT EXECUTE ON FUNCTIONS TO {app}",
)


def role_exists(connection: psycopg.Connection, name: str) -> bool:
    return connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone() is not None


def database_exists(connection: psycopg.Connection, name: str) -> bool:
    return connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone() is not None


def ensure_roles(connection: psycopg.Connection, *, owner_password: str, app_password: str) -> None:
    """Create both roles, or give them these passwords; without any right over the cluster."""
    for name, password in ((OWNER, owner_password), (APP, app_password)):
        if not role_exists(connection, name):
            connection.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(name)))
        connection.execute(
            sql.SQL("ALTER ROLE {} LOGIN NOCREATEDB NOCREATEROLE PASSWORD {}").format(sql.Identifier(name), sql.Literal(password))
        )
    for setting, value in APP_TIMEOUTS.items():
        connection.execute(
            sql.SQL("ALTER ROLE {} SET {} = {}").format(sql.Identifier(APP), sql.Identifier(setting), sql.Literal(value))
        )


def create_database(connection: psycopg.Connection, name: str, *, template: str = "template0") -> None:
    """Create a database of helicase_owner; the connection must be in autocommit, as CREATE DATABASE wants it."""
    connection.execute(
        sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {}").format(
            sql.Identifier(name), sql.Identifier(OWNER), sql.Identifier(template)
        )
    )


def grant_on_database(connection: psycopg.Connection) -> None:
    """Who may do what in the connected database; a clone needs it again, since CREATE DATABASE copies no rights on the database."""
    _run(connection, DATABASE_GRANTS)


def set_default_privileges(owner_connection: psycopg.Connection) -> None:
    """What helicase_app may do with everything that helicase_owner will create here; call it before the first migration."""
    _run(owner_connection, DEFAULT_PRIVILEGES)


def _run(connection: psycopg.Connection, statements: tuple[LiteralString, ...]) -> None:
    for statement in statements:
        connection.execute(
            sql.SQL(statement).format(
                database=sql.Identifier(connection.info.dbname), owner=sql.Identifier(OWNER), app=sql.Identifier(APP)
            )
        )
