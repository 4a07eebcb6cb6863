"""The Celery task of the outbox."""

from celery import shared_task

from outbox import services


@shared_task(name="outbox.dispatch")
def dispatch() -> None:
    """Hand over what waits in the outbox."""
    services.dispatch()
