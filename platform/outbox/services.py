"""Post a message in a transaction; hand it over after the commit, and again until it has gone."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import connection, transaction

from foundation import clock
from outbox.models import Message

log = structlog.get_logger(__name__)

Handler = Callable[[Mapping[str, Any]], None]
FORMAT = 1
_handlers: dict[str, Handler] = {}


def handles(topic: str, handler: Handler) -> None:
    """Register the one function that hands over messages of `topic` (called from `AppConfig.ready`)."""
    _handlers[topic] = handler


def post(*, topic: str, payload: Mapping[str, Any], organisation_id: UUID) -> Message:
    """Write a message in the caller's transaction and try to hand it over as soon as that has committed."""
    if not connection.in_atomic_block:
        raise RuntimeError("outbox.post belongs inside the transaction it speaks of")
    now = clock.now()
    message = Message.objects.create(
        topic=topic, payload={"format": FORMAT, **payload}, organisation_id=organisation_id, created_at=now, not_before=now
    )
    transaction.on_commit(lambda: _deliver_now(message.pk), robust=True)
    return message


def dispatch(*, limit: int = 100) -> int:
    """Hand over what is waiting; returns how many went.

    Several dispatchers may run at once, and post's own try after the commit beside them: each row is locked while it is handed
    over and skipped by the others. A lock around the whole would add nothing, and would let one slow receiver stop everybody.
    """
    sent = 0
    for _ in range(limit):
        with transaction.atomic():
            message = (
                Message.objects.select_for_update(skip_locked=True)
                .filter(sent_at=None, not_before__lte=clock.now(), topic__in=_handlers)
                .order_by("not_before", "id")
                .first()
            )
            if message is None:
                return sent
            sent += _hand_over(message)
    return sent


def _deliver_now(pk: int) -> None:
    with transaction.atomic():
        message = Message.objects.select_for_update(skip_locked=True).filter(pk=pk, sent_at=None).first()
        if message is not None and message.topic in _handlers:
            _hand_over(message)


def _hand_over(message: Message) -> int:
    message.tries += 1
    try:
        with transaction.atomic():
            _handlers[message.topic](message.payload)
    except Exception as error:  # noqa: BLE001 -- the edge: whatever a receiver does, the message stays for another try
        message.last_error = type(error).__name__
        message.not_before = clock.now() + timedelta(seconds=min(600, 2 ** min(message.tries, 9)))
        log.warning("outbox.failed", topic=message.topic, message=message.pk, error=type(error).__name__)
        message.save(update_fields=["tries", "last_error", "not_before"])
        return 0
    message.sent_at = clock.now()
    message.save(update_fields=["tries", "sent_at"])
    return 1
