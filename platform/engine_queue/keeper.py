"""The thread that keeps a worker's leases, and tells it to stop when it cannot."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import structlog
from django.db import Error

from engine_queue import lease
from engine_queue.lease import NameLease
from engine_queue.lease_time import LEASE_SECONDS
from engine_queue.models import Job
from engine_queue.units import own_connection, unit

log = structlog.get_logger(__name__)

PERIOD_SECONDS = 2.0


class Kept(Protocol):
    """What the keeper asks of the worker it keeps."""

    def held(self) -> Sequence[int]:
        """Ids of the jobs it holds."""

    def progress(self) -> int | None:
        """A counter that moves while the engine computes; None while it has nothing to compute."""

    def stats(self) -> Mapping[str, Any]:
        """Figures for the engine page."""

    def stop_jobs(self, jobs: Sequence[int], reason: str) -> None:
        """Stop computing these jobs and give them back."""

    def halt(self, reason: str) -> None:
        """Stop computing everything and take nothing new."""

    def resume(self) -> None:
        """Take work again."""

    def die(self, reason: str) -> None:
        """Leave: this process can no longer serve."""


class Keeper(threading.Thread):
    """Renews every two seconds. `beat` is one turn, so that tests need no waiting."""

    def __init__(self, name: NameLease, kept: Kept, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__(name="lease", daemon=True)
        self.lease, self.kept, self.monotonic = name, kept, monotonic
        self.renewed_at = self.progressed_at = monotonic()
        self._progress: int | None = None
        self._halted = False
        self._stop_event = threading.Event()

    @own_connection
    def run(self) -> None:
        """Beat until stopped."""
        while not self._stop_event.wait(PERIOD_SECONDS):
            try:
                self.beat()
            except Exception:  # process edge: without this thread the leases would end and nobody would know why
                log.exception("lease.failed", worker=self.lease.name)

    def stop(self) -> None:
        """End after the present beat."""
        self._stop_event.set()
        if self.is_alive():
            self.join(2)

    def beat(self) -> None:
        """Renew what can be renewed; stop what cannot."""
        moving = self._moving()
        try:
            with unit():
                kept = self.lease.extend(self.kept.stats())
                if kept:
                    self._keep_jobs(moving)
        except Error as error:
            log.warning("lease.not_renewed", worker=self.lease.name, error=type(error).__name__)
        else:
            if kept:
                self.renewed_at = self.monotonic()
            else:
                self.kept.die("another process has taken this worker's name")
        self._judge()

    def _moving(self) -> bool:
        """Whether the engine computed something since the last beat, or has nothing to compute."""
        progress = self.kept.progress()
        moving = progress is None or progress != self._progress
        self._progress = progress
        if moving:
            self.progressed_at = self.monotonic()
        return moving

    def _keep_jobs(self, moving: bool) -> None:
        held = list(self.kept.held())
        if not held:
            return
        running = Job.objects.filter(pk__in=held, state="running", lease_owner=self.lease.incarnation)
        ours = dict(running.values_list("pk", "cancel_requested"))
        if moving:
            lease.extend_jobs(self.lease.incarnation, list(ours))
        gone = [job for job in held if job not in ours]
        if gone:
            self.kept.stop_jobs(gone, "lease lost")
        cancelled = [job for job, requested in ours.items() if requested]
        if cancelled:
            self.kept.stop_jobs(cancelled, "cancelled")

    def _judge(self) -> None:
        limit = LEASE_SECONDS - lease.MARGIN_SECONDS
        now = self.monotonic()
        if now - self.progressed_at > limit:
            self.kept.die(f"the engine computed nothing for {limit} seconds although it has work")
        elif now - self.renewed_at > limit and not self._halted:
            self._halted = True
            self.kept.halt("the database cannot be reached to renew the leases")
        elif now - self.renewed_at <= limit and self._halted:
            self._halted = False
            self.kept.resume()
