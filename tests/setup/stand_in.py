"""A small checkout with the real supervisor and a stand-in platform, so that starting and stopping is tested in seconds.

The stand-in keeps the contract: the same commands, a page at `/`, a row in the database that shows what was kept.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.services import ROOT

MANAGE = """
import os, sys, time
import psycopg
verb = sys.argv[1]
if verb == "provision":
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as c:
        c.execute("CREATE TABLE IF NOT EXISTS starts (at timestamptz DEFAULT now())")
    if os.environ.get("REFUSED"):
        print("CommandError: something has to be changed first", file=sys.stderr)
        sys.exit(2)
elif verb == "seed_demo":
    with psycopg.connect(os.environ["DATABASE_URL"]) as c:
        c.execute("INSERT INTO starts DEFAULT VALUES")
        print("starts", c.execute("SELECT count(*) FROM starts").fetchone()[0])
elif verb == "platform_worker" and os.environ.get("BROKEN_WORKER"):
    sys.exit("the worker cannot work")
else:
    time.sleep(3600)
"""
APPLICATION = """
async def application(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})
"""
PATIENCE_S = 60.0
STOP_PROMISE_S = 10.0  # Ctrl-C ends everything within this time


def build(root: Path) -> Path:
    """A checkout at `root`."""
    (root / "platform" / "config").mkdir(parents=True)
    part = Path("platform") / "supervisor"
    shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "platform" / "config" / "__init__.py").touch()
    (root / "platform" / "config" / "asgi.py").write_text(APPLICATION)
    (root / "manage.py").write_text(MANAGE)
    return root


@dataclass
class Running:
    """A started `python -m supervisor up`, and what it has printed."""

    root: Path
    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    patience_s: float = PATIENCE_S

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def wait_for(self, pattern: str) -> str:
        """The first match in the output; fails when the process ends or patience does."""
        deadline = time.monotonic() + self.patience_s
        while time.monotonic() < deadline:
            if found := re.search(pattern, self.text, re.MULTILINE):
                return found.group(0)
            if self.process.poll() is not None and not self.reader.is_alive():
                break
            time.sleep(0.05)
        raise AssertionError(f"no {pattern!r} in:\n{self.text}")

    def ready(self) -> str:
        return self.wait_for(r"^READY http://\S+$").removeprefix("READY ")

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        """Signal the whole process group, as a terminal does, and wait."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)
        code = self.process.wait(STOP_PROMISE_S)
        self.reader.join(PATIENCE_S)
        return code

    def refused(self) -> int:
        """Wait, without a signal, until it has given up; the exit code."""
        code = self.process.wait(PATIENCE_S)
        self.reader.join(PATIENCE_S)
        return code

    def __post_init__(self) -> None:
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        with self.process.stdout as output:
            for line in output:
                self.lines.append(line.rstrip("\n"))


def start(root: Path, *, patience_s: float = PATIENCE_S, **variables: str) -> Running:
    """`make up` without the installation, in a process group of its own."""
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    process = subprocess.Popen(
        [sys.executable, "-m", "supervisor", "up"],
        cwd=root,
        env=keep | {"PYTHONPATH": "platform:.", "DEMO": "1"} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    return Running(root, process, patience_s=patience_s)


def processes_of(root: Path) -> list[str]:
    """Command lines of live processes that name the folder or stand below it; zombies have neither."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            folder = (entry / "cwd").readlink()
        except OSError:
            continue
        if command and (str(root) in command or folder.is_relative_to(root)):
            found.append(f"{entry.name} {command}")
    return found


def kill_all(root: Path) -> None:
    """`kill -9` for everything of a checkout; what goes by itself meanwhile is gone too."""
    for line in processes_of(root):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(line.split()[0]), signal.SIGKILL)


def wait_until_none_is_left(root: Path) -> None:
    while processes_of(root):  # pytest's time-out ends this
        time.sleep(0.05)
