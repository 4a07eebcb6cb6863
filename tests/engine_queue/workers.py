"""Start real worker processes, and wait for what they do."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from celery import current_app

from tests.services import ROOT

DEPLOYMENT = "ecoli-orf-2k-fp32"


def wait_until(condition: Callable[[], object], seconds: float, what: Callable[[], str] = lambda: "it") -> None:
    """Wait for `condition`; fail in words when it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what()} did not happen within {seconds} s")
        time.sleep(0.02)


@dataclass
class Crowd:
    """Processes of one test; all of them are gone when it ends."""

    folder: Path
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def engine_worker(self, name: str = "engine-1", *options: str) -> subprocess.Popen[bytes]:
        return self.start("engine_worker", "--name", name, "--deployment", DEPLOYMENT, *options)

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        log = self.folder / f"{len(self.running)}-{command[0]}.log"
        with log.open("wb") as out:
            made = subprocess.Popen([sys.executable, "manage.py", *command], cwd=ROOT, env=os.environ, stdout=out, stderr=out)
        self.running.append(made)
        return made

    def log(self, process: subprocess.Popen[bytes]) -> str:
        at = self.running.index(process)
        return next(self.folder.glob(f"{at}-*.log")).read_text()

    def logs(self) -> str:
        return "\n".join(f"--- {path.name}\n{path.read_text()[-4000:]}" for path in sorted(self.folder.glob("*.log")))

    def until(self, condition: Callable[[], object], seconds: float, what: str) -> None:
        """Wait for `condition`; fail with the processes' own words when it does not come."""
        wait_until(condition, seconds, lambda: f"{self.logs()}\n{what}")


@contextmanager
def sending_to(url: str) -> Iterator[None]:
    """This process's tickets go to another broker."""
    before = current_app.conf.broker_url
    try:
        _send_to(url)
        yield
    finally:
        _send_to(before)


def _send_to(url: str) -> None:
    current_app.conf.update(broker_url=url)
    current_app._after_fork()  # type: ignore[attr-defined]  # forget the pools, without closing those of the other broker


@contextmanager
def crowd(folder: Path) -> Iterator[Crowd]:
    made = Crowd(folder)
    try:
        yield made
    finally:
        for process in made.running:
            process.kill()
            process.wait(10)
