"""What one checkout keeps under `.run`: secrets, data, logs, the lock, and the environment of the processes."""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from supervisor.errors import AlreadyRunningError, SetupError


@dataclass(frozen=True)
class Checkout:
    """The repository's folder and the places below it."""

    root: Path

    @property
    def run(self) -> Path:
        return self.root / ".run"

    @property
    def logs(self) -> Path:
        return self.run / "logs"

    @property
    def secrets(self) -> Path:
        return self.run / "secrets.json"

    @property
    def environment(self) -> Path:
        return self.run / "environment.json"

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def prepare(self) -> None:
        self.run.mkdir(exist_ok=True)
        self.run.chmod(0o755)  # the database's user walks through it to its own folder
        for private in (self.logs, self.run / "data"):
            private.mkdir(exist_ok=True)
            private.chmod(0o700)

    @contextlib.contextmanager
    def lock(self) -> Iterator[IO[str]]:
        """Held while `make up` runs; the kernel lets go of it however the process ends."""
        with (self.run / "lock").open("a+") as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held.seek(0)
                who = held.read().strip() or "just starting"
                raise AlreadyRunningError(f"Helicase already runs from this folder ({who}); stop that with Ctrl-C first") from None
            note_holder(held, f"process {os.getpid()}")
            yield held

    def save_environment(self, environment: dict[str, str]) -> None:
        """For `python -m supervisor manage …`; holds passwords, so only its owner reads it."""
        unfinished = self.environment.with_suffix(".part")
        unfinished.unlink(missing_ok=True)
        with os.fdopen(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            json.dump(environment, file, indent=2)
        unfinished.rename(self.environment)

    def load_environment(self) -> dict[str, str]:
        try:
            loaded: dict[str, str] = json.loads(self.environment.read_text())
        except FileNotFoundError:
            raise SetupError("there is no environment yet: start Helicase once with `make up`") from None
        return loaded


def note_holder(held: IO[str], text: str) -> None:
    """What a second `make up` is told."""
    held.seek(0)
    held.truncate()
    held.write(text)
    held.flush()
