"""Platform jobs of oversight."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from celery import shared_task
from django.conf import settings

from accounts import break_glass
from foundation import clock
from oversight import checks, retention, telling

NIGHT = range(1, 5)  # hours, UTC
AT_ONCE = timedelta(minutes=4)


@shared_task(name="oversight.check")
def check(check_id: str) -> None:
    """Check the audit chain; a second delivery of the same message finds nothing to do."""
    checks.run(UUID(check_id))


@shared_task(name="oversight.watch")
def watch() -> None:
    """See that the chain is checked every night, tell what needs somebody, and write the end of what break-glass had open."""
    break_glass.close_ended()
    checks.watch()
    telling.watch()


@shared_task(name="oversight.retain")
def retain() -> None:
    """At night, delete what its retention is over for: some minutes of it, and the rest the next time."""
    now = clock.now()
    if now.hour in NIGHT:
        retention.run(until=now + AT_ONCE)


def deliver(payload: Mapping[str, Any]) -> None:
    """Hand a check to the worker for what takes long."""
    check.apply_async(args=(payload["check"],), queue=settings.INTAKE_QUEUES[1], retry=False)
