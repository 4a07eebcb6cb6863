"""Platform jobs of the orders app. Tasks carry ids; the row decides whether there is anything to do."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from celery import shared_task

from orders import checking


@shared_task(name="orders.check_intake")
def check_intake(intake_id: str) -> None:
    """Check one upload; a second delivery of the same message finds nothing to do."""
    checking.check_intake(UUID(intake_id))


@shared_task(name="orders.recover_intakes")
def recover_intakes() -> None:
    """Give back uploads whose checking worker died."""
    checking.recover()


def deliver(payload: Mapping[str, Any]) -> None:
    """Hand an `intake.check` message to the platform worker."""
    check_intake.apply_async(args=(payload["intake"],), queue="platform", retry=False)
