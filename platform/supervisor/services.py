"""The database and the broker of `make up`: the ones named in the environment, or our own."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import psycopg

from supervisor import roles
from supervisor.checkout import Checkout
from supervisor.external import DatabaseUrls, check_redis, database_urls
from supervisor.ports import LOCALHOST, Reservation
from supervisor.postgres import Postgres
from supervisor.progress import step
from supervisor.secrets_file import Secrets
from supervisor.valkey import Valkey
from supervisor.watch import Watched

DATABASE = "helicase"


@dataclass(frozen=True)
class RunningServices:
    """Where they are, and which of them we watch."""

    database: DatabaseUrls
    redis_url: str
    watched: list[Watched]


@contextlib.contextmanager
def running_services(checkout: Checkout, secrets: Secrets, environ: Mapping[str, str]) -> Iterator[RunningServices]:
    """Start what is not given from outside; stop it at the end, clients first."""
    own: list[Watched] = []
    with contextlib.ExitStack() as at_exit:
        if environ.get("REDIS_URL"):
            with step("external Redis"):
                check_redis(environ["REDIS_URL"])
        if environ.get("DATABASE_URL"):
            with step("external PostgreSQL"):
                database = database_urls(
                    database_url=environ["DATABASE_URL"], database_owner_url=environ.get("DATABASE_OWNER_URL", ""), secrets=secrets
                )
        else:
            postgres = Postgres(checkout.run / "postgres", checkout.log("postgres"), secrets.database_superuser, Reservation())
            at_exit.callback(postgres.reservation.close)
            at_exit.callback(postgres.stop)
            with step("embedded PostgreSQL"):
                own.append(_launched("postgres", postgres))
                database = prepare_database(postgres, secrets)
        redis_url = environ.get("REDIS_URL", "")
        if not redis_url:
            valkey = Valkey(checkout.run / "valkey", checkout.log("valkey"), secrets.redis, Reservation())
            at_exit.callback(valkey.reservation.close)
            at_exit.callback(valkey.stop)
            with step("embedded Valkey"):
                own.append(_launched("valkey", valkey))
            redis_url = valkey.url
        yield RunningServices(database=database, redis_url=redis_url, watched=own)


def prepare_database(postgres: Postgres, secrets: Secrets) -> DatabaseUrls:
    """Roles, the database and its rights in a server of ours; harmless when all of it is there."""
    at = f"{LOCALHOST}:{postgres.reservation.port}/{DATABASE}"
    urls = DatabaseUrls(
        app=f"postgres://{roles.APP}:{secrets.database_app}@{at}", owner=f"postgres://{roles.OWNER}:{secrets.database_owner}@{at}"
    )
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        roles.ensure_roles(connection, owner_password=secrets.database_owner, app_password=secrets.database_app)
        if not roles.database_exists(connection, DATABASE):
            roles.create_database(connection, DATABASE)
    with psycopg.connect(postgres.url(DATABASE), autocommit=True) as connection:
        roles.grant_on_database(connection)
    with psycopg.connect(urls.owner, autocommit=True) as connection:
        roles.set_default_privileges(connection)
    return urls


def _launched(name: str, server: Postgres | Valkey) -> Watched:
    watched = Watched(name=name, start=server.start)
    watched.launch()
    return watched
