"""Platform jobs of the orders app. Tasks carry ids; the row decides whether there is anything to do."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from celery import shared_task
from django.conf import settings

from orders import assignment, checking, escalation, holding, risk
from orders.manifests import claims, working

MINUTES = 15  # one check may take; then the file is refused with words


@shared_task(name="orders.check_intake", soft_time_limit=MINUTES * 60)
def check_intake(intake_id: str) -> None:
    """Check one upload; a second delivery of the same message finds nothing to do."""
    checking.check_intake(UUID(intake_id))


@shared_task(name="orders.recover_intakes")
def recover_intakes() -> None:
    """Give back uploads and manifests whose worker died."""
    checking.recover()
    claims.recover()


@shared_task(name="orders.work_on_manifest", soft_time_limit=MINUTES * 60)
def work_on_manifest(manifest_id: str) -> None:
    """Check or place some rows of a manifest; a second delivery of the same message finds nothing to do."""
    working.work(UUID(manifest_id))


def deliver_manifest(payload: Mapping[str, Any]) -> None:
    """Hand a `manifest.work` message to the workers for files of its size."""
    queue = settings.INTAKE_QUEUES[bool(payload.get("large"))]
    work_on_manifest.apply_async(args=(payload["manifest"],), queue=queue, retry=False)


@shared_task(name="orders.watch_due_times")
def watch_due_times() -> None:
    """Say which open orders are at risk of being late, and which are late."""
    risk.watch()


@shared_task(name="orders.escalate")
def escalate() -> None:
    """Tell people of orders whose time is half, nearly or wholly used."""
    escalation.sweep()


@shared_task(name="orders.expire_hold_requests")
def expire_hold_requests() -> None:
    """End requests to hold a STAT order that nobody has answered in time."""
    holding.expire()


@shared_task(name="orders.release_leavers")
def release_leavers() -> None:
    """Take open work from people who left, so that somebody takes it."""
    assignment.release_leavers()


def deliver(payload: Mapping[str, Any]) -> None:
    """Hand an `intake.check` message to the workers for files of its size."""
    check_intake.apply_async(args=(payload["intake"],), queue=settings.INTAKE_QUEUES[bool(payload.get("large"))], retry=False)
