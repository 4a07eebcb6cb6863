"""Tickets: a message that says there is work. It is no address: whoever receives it claims the best job there is."""

from collections.abc import Sequence

from engine_queue.models import Job


def send_on_commit(jobs: Sequence[Job]) -> None:
    """After the commit, send one ticket for each job."""


def revoke(task_ids: Sequence[str]) -> None:
    """Ask the workers that hold these tickets to stop their jobs."""
