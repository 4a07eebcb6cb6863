"""Pytest plugin, named by `-p`: gives the session an embedded Postgres and Valkey, and Django the environment that leads to them.

With `pytest -n` every worker is a session of its own, with its own folder, ports and servers.

A `conftest.py` comes too late: pytest-django reads the settings before any is loaded. The environment is set at once, with ports
that are held from then on; the servers start when the first test asks for them, so a run of pure tests pays nothing.
"""

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [part for part in (str(ROOT / "platform"), str(ROOT)) if part not in sys.path]

from supervisor import roles  # noqa: E402 - the source root must be on the path first
from supervisor.ports import LOCALHOST, Reservation  # noqa: E402
from supervisor.postgres import Postgres  # noqa: E402
from supervisor.secrets_file import Secrets, new_secrets  # noqa: E402
from supervisor.valkey import Valkey  # noqa: E402

FOLDER_PREFIX = "helicase-tests-"
BYTE_CODE = ROOT / ".pytest_cache" / "byte_code"
SESSION_DATABASE = "helicase_session"


@dataclass
class Services:
    """The servers of this session; `start()` may be called by everyone who needs them."""

    folder: Path
    held: IO[str]
    secrets: Secrets
    postgres: Postgres
    valkey: Valkey
    started: bool = False

    def start(self) -> None:
        if not self.started:
            self.started = True
            self.postgres.start()
            self.valkey.start()

    def stop(self) -> None:
        if self.started:
            self.postgres.stop()
            self.valkey.stop()
        for server in (self.postgres, self.valkey):
            server.reservation.close()
        self.held.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def app_url(self, database: str) -> str:
        return f"postgres://{roles.APP}:{self.secrets.database_app}@{LOCALHOST}:{self.postgres.reservation.port}/{database}"

    def owner_url(self, database: str) -> str:
        return f"postgres://{roles.OWNER}:{self.secrets.database_owner}@{LOCALHOST}:{self.postgres.reservation.port}/{database}"

    def environment(self) -> dict[str, str]:
        """What Django and every process started by a test read."""
        return {
            "DJANGO_SETTINGS_MODULE": "config.settings.test",
            "SECRET_KEY": self.secrets.django_key,
            "DATABASE_URL": self.app_url(SESSION_DATABASE),
            "DATABASE_OWNER_URL": self.owner_url(SESSION_DATABASE),
            "REDIS_URL": self.valkey.url,
            "ALLOWED_HOSTS": "testserver,localhost,127.0.0.1",
            "PUBLIC_URL": "http://testserver",
            "DEMO": "0",
            "DATA_DIR": str(self.folder / "files"),
            "AUDIT_ANCHORS": str(self.folder / "anchors"),
            "MODELS_DIR": str(ROOT / "models"),
            "LOG_LEVEL": "WARNING",
            "OMP_WAIT_POLICY": "PASSIVE",  # before torch: compute threads that spin take the core of the other worker's tests
            "PYTHONPATH": f"{ROOT / 'platform'}{os.pathsep}{ROOT}",
        }


SERVICES_KEY = pytest.StashKey[Services]()


def keep_byte_code() -> None:
    """Where Python is told to write no byte code, keep it out of the way of the sources.

    The packages come without any (`supervisor.install`), and a process that compiles Django and torch anew takes seconds more.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(BYTE_CODE)
        sys.dont_write_bytecode = False


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    """A wrapper runs before pytest-django's own hook, whatever the order of registration."""
    keep_byte_code()
    services = new_services()
    early_config.stash[SERVICES_KEY] = services
    early_config.add_cleanup(services.stop)
    os.environ.update(services.environment())
    return (yield)


def pytest_configure(config: pytest.Config) -> None:
    # registered late: of two plugins with a fixture of one name, pytest takes the later, and ours must win over pytest-django's
    config.pluginmanager.import_plugin("tests.databases")
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.import_plugin("tests.sharing")


@pytest.fixture(scope="session")
def services(pytestconfig: pytest.Config) -> Services:
    """The running servers."""
    running = pytestconfig.stash[SERVICES_KEY]
    running.start()
    return running


def new_services() -> Services:
    """Servers that are not started yet, and the environment that leads to them."""
    _sweep_killed_sessions()
    hidden = Path(tempfile.mkdtemp(prefix=f".{FOLDER_PREFIX}"))
    hidden.chmod(0o755)  # the database's user walks through it
    held = (hidden / "held").open("w")
    fcntl.flock(held, fcntl.LOCK_EX)
    folder = hidden.rename(hidden.with_name(hidden.name[1:]))  # only now can a session that starts beside this one sweep it
    (folder / "files").mkdir()
    secrets = new_secrets()
    ports = Reservation(), Reservation()
    return Services(
        folder=folder,
        held=held,
        secrets=secrets,
        postgres=Postgres(folder / "postgres", folder / "postgres.log", secrets.database_superuser, ports[0], fast=True),
        valkey=Valkey(folder / "valkey", folder / "valkey.log", secrets.redis, ports[1], fast=True),
    )


def _sweep_killed_sessions() -> None:
    """Remove the folders of sessions that were killed; their servers died with them, and nobody holds the lock any more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        try:
            with (folder / "held").open("r") as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue
        shutil.rmtree(folder, ignore_errors=True)
