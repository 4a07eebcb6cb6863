"""The Celery task of reports."""

from celery import shared_task

from reports import critical_notices


@shared_task(name="reports.escalate_critical")
def escalate_critical() -> None:
    """Tell people of critical results that nobody has read back."""
    critical_notices.sweep()
