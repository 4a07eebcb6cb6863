"""Housekeeping of the interfaces."""

from celery import shared_task

from interop import idempotency


@shared_task(name="interop.sweep_answers")
def sweep_answers() -> None:
    """Forget the answers of old Idempotency-Keys."""
    idempotency.sweep()
