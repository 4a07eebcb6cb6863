"""Periodic work of the store."""

from celery import shared_task

from storage import services


@shared_task(name="storage.sweep_orphans")
def sweep_orphans() -> int:
    """Delete files that a failed transaction left behind."""
    return services.sweep_orphans()
