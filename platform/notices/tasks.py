"""The Celery task of notices."""

from celery import shared_task

from notices import delivering


@shared_task(name="notices.deliver")
def deliver() -> None:
    """Send what is queued for e-mail and webhooks."""
    delivering.deliver()
