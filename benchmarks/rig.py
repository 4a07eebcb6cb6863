"""The whole platform for a benchmark: its own Postgres and Valkey, and the processes of `make up`, in a folder that goes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measured import NotMeasured
from benchmarks.peer import ROOT

if TYPE_CHECKING:
    from supervisor.child import Child
    from supervisor.postgres import Postgres

MANAGE = ("manage.py",)
FILLED = "filled"  # in a folder that is kept: its database is whole
_PATIENCE = 120.0  # seconds until a process has to be there


@dataclass
class Rig:
    """Running servers, and processes that are started one by one. `environment` is theirs and ours."""

    folder: Path
    environment: dict[str, str]
    owner_url: str
    postgres: Postgres
    filled: bool = False  # the database was filled by an earlier call
    started: list[Child] = field(default_factory=list)

    def manage(self, *command: str, owner: bool = False) -> str:
        """Run a management command to its end and return what it said. Raises NotMeasured with its words when it fails."""
        extra = {"DATABASE_OWNER_URL": self.owner_url} if owner else {}
        child = self._child(command[0], *MANAGE, *command, extra=extra)
        if child.run_to_end():
            raise NotMeasured(f"manage.py {command[0]} failed: {child.last_lines()}")
        return child.log.read_text()

    def start(self, name: str, *command: str, script: Sequence[str] = MANAGE) -> None:
        """Start a process of the platform, which ends with us; `script` is what Python runs the command by."""
        child = self._child(name, *script, *command)
        child.start()
        self.started.append(child)

    def keep(self) -> None:
        """Nothing that comes takes this database away: a later call with the same folder finds it as it is."""
        (self.folder / FILLED).touch()

    def restart_database(self, *, fast: bool = False) -> None:
        """The database again, with empty buffers; what the system keeps of its files stays. `fast`: nothing has to survive."""
        from django.db import connections

        connections.close_all()
        self.postgres.stop()
        self.postgres.fast = fast
        self.postgres.start()

    def looked_after(self) -> None:
        """Raise NotMeasured when a process has died."""
        for child in self.started:
            if not child.running:
                raise NotMeasured(f"{child.name} has ended: {child.last_lines()}")

    def _child(self, name: str, *command: str, extra: dict[str, str] | None = None) -> Child:
        from supervisor.child import Child

        return Child(
            name=name,
            command=[sys.executable, *command],
            log=self.folder / "logs" / f"{name}.log",
            folder=ROOT,
            environment={**self.environment, **(extra or {})},
        )


@contextlib.contextmanager
def rig(kept: Path | None = None) -> Iterator[Rig]:
    """Servers with a provisioned database; Django of this process leads to them. The bundled model is registered.

    In a folder that is `kept` the database stays for the next call, once `keep` was called.
    """
    sys.path[:0] = [part for part in (str(ROOT / "platform"), str(ROOT)) if part not in sys.path]
    from supervisor.ports import Reservation
    from supervisor.postgres import Postgres
    from supervisor.secrets_file import load_or_create
    from supervisor.services import prepare_database
    from supervisor.valkey import Valkey

    folder = _folder(kept)
    filled = (folder / FILLED).exists()
    secrets, ports = load_or_create(folder / "secrets.json"), (Reservation(), Reservation())
    postgres = Postgres(folder / "postgres", folder / "postgres.log", secrets.database_superuser, ports[0])
    valkey = Valkey(folder / "valkey", folder / "valkey.log", secrets.redis, ports[1])
    made: Rig | None = None
    try:
        postgres.start()
        valkey.start()
        database = prepare_database(postgres, secrets)
        made = Rig(folder, _environment(folder, database.app, valkey.url, secrets.django_key), database.owner, postgres, filled)
        os.environ.update(made.environment)
        if not filled:
            shutil.copytree(ROOT / "models", folder / "models")  # what is registered is copied to its side
            made.manage("provision", owner=True)
        import django

        django.setup()
        yield made
    finally:
        _end(made)
        for server in (postgres, valkey):
            with contextlib.suppress(Exception):
                server.stop()
            server.reservation.close()
        if not (folder / FILLED).exists():
            forget(folder)


def forget(folder: Path) -> None:
    """Take a folder away, with what lies elsewhere because the database's user could not have entered it."""
    for part in ("postgres", "valkey"):
        if (folder / part).is_symlink():
            shutil.rmtree((folder / part).resolve(), ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def _folder(kept: Path | None) -> Path:
    """A fresh one, or the one that is kept, which one call at a time has for itself."""
    if kept is None:
        folder = Path(tempfile.mkdtemp(prefix="helicase-benchmark-"))
    else:
        folder = kept
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)  # open until this process ends
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as held:
            raise NotMeasured(f"another call measures in {folder.name}") from held
        if not (folder / FILLED).exists():
            forget(folder)  # half filled: that call was stopped
        folder.mkdir(exist_ok=True)
    folder.chmod(0o755)  # the database's user walks through it
    return folder


def until(condition: Callable[[], object], seconds: float = _PATIENCE, what: str = "it", pause: float = 0.02) -> None:
    """Wait for a condition; NotMeasured when it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise NotMeasured(f"{what} did not come within {seconds:.0f} s")
        time.sleep(pause)


def _end(made: Rig | None) -> None:
    from supervisor.child import wait_until_gone

    if made is not None:
        wait_until_gone(made.started, within_s=8.0)
        with contextlib.suppress(Exception):
            from django.db import connections

            connections.close_all()


def _environment(folder: Path, database: str, broker: str, key: str) -> dict[str, str]:
    (folder / "data").mkdir(exist_ok=True)
    return {
        "DJANGO_SETTINGS_MODULE": "config.settings.dev",
        "SECRET_KEY": key,
        "DATABASE_URL": database,
        "REDIS_URL": broker,
        "ALLOWED_HOSTS": "localhost",
        "PUBLIC_URL": "http://localhost",
        "DEMO": "0",
        "DATA_DIR": str(folder / "data"),
        "AUDIT_ANCHORS": str(folder / "anchors"),
        "MODELS_DIR": str(folder / "models"),
        "LOG_LEVEL": "WARNING",
        "OMP_WAIT_POLICY": "PASSIVE",
        "PYTHONPATH": f"{ROOT / 'platform'}{os.pathsep}{ROOT}",
        "PATH": os.environ.get("PATH", ""),
        "HOME": os.environ.get("HOME", "/"),
    }
