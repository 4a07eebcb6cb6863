"""One child process: its own session, a log file, a leash that ends it when the supervisor dies, and a stop that ends.

Own session: Ctrl-C in a terminal reaches the whole foreground group at once, and the database must outlive its clients.
"""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from supervisor.identity import Identity

PR_SET_PDEATHSIG = 1
LONGEST_LOG = 20_000_000  # bytes; looked at when a process starts, one older log is kept
# loaded here and not in the child: between fork and exec nothing may be imported
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass
class Child:
    """A process that can be started, watched and stopped."""

    name: str
    command: Sequence[str]
    log: Path
    folder: Path
    environment: Mapping[str, str] | None = None
    identity: Identity | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    orphan_signal: signal.Signals = signal.SIGKILL  # what the kernel sends when the supervisor is gone
    keep_open: tuple[int, ...] = ()  # file descriptors that the child inherits
    show: bool = False  # standard output goes to our terminal: for what must not lie in a log
    standard_input: str = ""  # for a secret that must not stand in the process list
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        """Start the process; call it from the main thread, since the leash hangs on the thread that forked."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        _keep_short(self.log)
        leash = partial(_die_with_parent, int(self.orphan_signal), os.getpid())
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - commands are ours
                list(self.command),
                stdin=subprocess.PIPE if self.standard_input else subprocess.DEVNULL,
                stdout=None if self.show else log,
                stderr=log,
                cwd=self.folder,
                env=None if self.environment is None else dict(self.environment),
                start_new_session=True,
                pass_fds=self.keep_open,
                preexec_fn=leash,
                **(self.identity.popen_arguments if self.identity else {}),
            )
        if self.standard_input and self.process.stdin:
            self.process.stdin.write(self.standard_input.encode())
            self.process.stdin.close()

    def run_to_end(self) -> int:
        """Start and wait; when something interrupts the wait, the process does not outlive it."""
        self.start()
        try:
            return self.process.wait() if self.process else 0
        finally:
            self.kill()

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def exit_status(self) -> str:
        code = self.process.returncode if self.process else None
        if code is None:
            return "still running"
        return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"

    def ask_to_stop(self) -> None:
        if self.process is not None and self.running:
            self.process.send_signal(self.stop_signal)

    def stop(self, *, within_s: float) -> None:
        """Ask, wait until the time is over, then kill the whole session of the process."""
        self.ask_to_stop()
        self.wait_or_kill(within_s=within_s)

    def wait_or_kill(self, *, within_s: float) -> bool:
        """Whether it ended by itself."""
        if self.process is None:
            return True
        try:
            self.process.wait(max(within_s, 0.01))
        except subprocess.TimeoutExpired:
            self.kill()
            return False
        return True

    def kill(self) -> None:
        if self.process is not None and self.running:
            # its session is its group: helpers that it started go with it
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def last_lines(self, count: int = 15) -> str:
        """The end of the log, read from the last 16 KiB only."""
        try:
            with self.log.open("rb") as log:
                log.seek(max(0, self.log.stat().st_size - 16_384))
                text = log.read().decode(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-count:])


def wait_until_gone(children: Sequence[Child], *, within_s: float) -> list[Child]:
    """Stop several children that do not depend on each other, side by side; those that had to be killed."""
    for child in children:
        child.ask_to_stop()
    deadline = time.monotonic() + within_s
    return [child for child in children if not child.wait_or_kill(within_s=deadline - time.monotonic())]


def _keep_short(log: Path) -> None:
    if log.exists() and log.stat().st_size > LONGEST_LOG:
        log.replace(log.with_name(f"{log.name}.1"))


def _die_with_parent(signal_number: int, parent: int) -> None:
    """Runs in the child between fork and exec, after the change of user (which would clear the setting)."""
    _LIBC.prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # the parent died before the leash was tied
