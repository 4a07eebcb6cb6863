"""Platform jobs of audit reports. The row decides whether there is anything to do."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from celery import shared_task
from django.conf import settings

from inspection import claims, making

MINUTES = 30  # one report may take; then it has failed


@shared_task(name="inspection.make_report", soft_time_limit=MINUTES * 60)
def make_report(report_id: str) -> None:
    """Make one report; a second delivery of the same message finds nothing to do."""
    making.make(UUID(report_id))


@shared_task(name="inspection.recover_reports")
def recover_reports() -> None:
    """Give back reports whose worker died."""
    claims.recover()


def deliver(payload: Mapping[str, Any]) -> None:
    """Hand the message to the workers for large files: a report of a year takes minutes, and holds up no check of an upload."""
    make_report.apply_async(args=(payload["report"],), queue=settings.INTAKE_QUEUES[-1], retry=False)
