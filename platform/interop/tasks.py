"""Housekeeping of the interfaces."""

import structlog
from celery import shared_task

from interop import idempotency
from interop.fhir import ordering

log = structlog.get_logger(__name__)


@shared_task(name="interop.sweep_answers")
def sweep_answers() -> None:
    """Forget the answers of old Idempotency-Keys."""
    idempotency.sweep()


@shared_task(name="interop.place_fhir_orders")
def place_fhir_orders() -> None:
    """Go on with what was asked for by FHIR, now that its file is checked. What fails by our fault does not stop the others."""
    for pk in ordering.waiting():
        try:
            ordering.settle(pk)
        except Exception as error:  # the edge: one that fails is counted, and ends with a person
            log.exception("fhir.not_placed", asked=str(pk), error=type(error).__name__)
            ordering.failed(pk)
