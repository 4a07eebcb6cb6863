"""The lease of a platform worker: it holds no jobs, only its name."""

import os
import signal
from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from celery import bootsteps
from django.db import Error

from engine_queue.keeper import Keeper

log = structlog.get_logger(__name__)


class Standing:
    """What a keeper asks of a worker without an engine."""

    def held(self) -> Sequence[int]:
        """No jobs."""
        return ()

    def progress(self) -> int | None:
        """No engine."""
        return None

    def stats(self) -> Mapping[str, Any]:
        """No figures."""
        return {}

    def stop_jobs(self, jobs: Sequence[int], reason: str) -> None:
        """Nothing to stop."""

    def halt(self, reason: str) -> None:
        """Its tasks fail by themselves while the database is away."""
        log.error("worker.halted", reason=reason)

    def resume(self) -> None:
        """As above."""
        log.warning("worker.resumed")

    def die(self, reason: str) -> None:
        """Leave by a warm shutdown."""
        log.critical("worker.leaves", reason=reason)
        os.kill(os.getpid(), signal.SIGTERM)


class KeepName(bootsteps.StartStopStep):
    """Starts the keeper after the pool has forked: a thread does not survive a fork."""

    requires = ("celery.worker.components:Pool",)
    keeper: Keeper

    def start(self, worker: Any) -> None:
        """Begin to renew."""
        self.keeper.start()

    def stop(self, worker: Any) -> None:
        """Let the name go."""
        self.keeper.stop()
        try:
            self.keeper.lease.give_back()
        except Error as error:
            log.warning("lease.not_given_back", error=type(error).__name__)
