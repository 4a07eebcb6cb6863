"""Start real worker processes, and wait for what they do."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.services import ROOT

DEPLOYMENT = "ecoli-orf-6l-fp32"


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
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"{what} did not happen within {seconds} s\n{self.logs()}")
            time.sleep(0.05)


@contextmanager
def crowd(folder: Path) -> Iterator[Crowd]:
    made = Crowd(folder)
    try:
        yield made
    finally:
        for process in made.running:
            process.kill()
            process.wait(10)
