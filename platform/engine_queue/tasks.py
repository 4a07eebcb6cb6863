"""Celery tasks of the engine queue. They carry ids at most; the database says what there is to do."""

from collections.abc import Mapping
from typing import Any

from celery import shared_task

from engine_queue import sweeper, tickets


@shared_task(name=tickets.TASK)
def ticket(message: Mapping[str, Any]) -> None:
    """Never runs: engine workers hand tickets to their crew. In another worker's pool it was sent to the wrong queue."""
    raise RuntimeError("a ticket belongs to an engine worker")


@shared_task(name="engine_queue.sweep")
def sweep() -> None:
    """One turn of the sweeper."""
    sweeper.sweep()
