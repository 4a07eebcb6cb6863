"""Carry out what is queued for e-mail and webhooks, apart from whatever it speaks of, and again until it is there or given up."""

from collections.abc import Callable
from datetime import timedelta
from time import monotonic
from typing import Any

import structlog
from django.db import connection, transaction
from django.db.models import F

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor, process
from foundation.errors import Refused
from notices import mail, outcomes, webhook
from notices.errors import DeliveryFailed, Undeliverable
from notices.machines import DELIVERY
from notices.models import Channel, Delivery

log = structlog.get_logger(__name__)
ACTOR = process("notices")
LOCK = 7_241_006  # advisory: one delivers at a time, so that a slow receiver takes one process and no more
ATTEMPTS = 8  # over about three hours; then a person has to look
LEASE = timedelta(minutes=2)  # after which an attempt of a process that died is made again
BUDGET_SECONDS = 30.0  # of one turn
_CHANNELS: dict[str, Callable[[Delivery], None]] = {Channel.EMAIL: mail.send, Channel.WEBHOOK: webhook.send}


def deliver(*, budget: float = BUDGET_SECONDS) -> int:
    """One turn: what is due, until nothing is left or the time is used up; how many attempts were made."""
    with _alone() as ours:
        ends, made = monotonic() + budget, 0
        while ours and monotonic() < ends and (delivery := _claim()) is not None:
            _attempt(delivery)
            made += 1
    return made


def send_again(*, delivery: Delivery, actor: Actor) -> None:
    """Queue a delivery that was given up. Raises `NotPermitted` or `Refused`."""
    require(actor, Verb.GRANT, delivery.organisation_id)
    with transaction.atomic():
        locked = Delivery.objects.select_for_update().get(pk=delivery.pk)
        if locked.state != "failed":
            raise Refused("Only what was given up can be sent again.", code="delivery.not-failed")
        audit.transition(DELIVERY, locked, to="queued", actor=actor, attempts=0, not_before=clock.now(), ended_at=None)


def backoff(attempts: int) -> timedelta:
    """How long to wait after so many attempts: 10 s, 40 s, 160 s …, an hour at most."""
    return timedelta(seconds=min(3600, 10 * 4 ** max(0, attempts - 1)))


def _claim() -> Delivery | None:
    """The next one that is due, ours for a while. Committed before anything is sent: nothing waits for a receiver."""
    with transaction.atomic():
        due = Delivery.objects.select_for_update(skip_locked=True).filter(state="queued", not_before__lte=clock.now())
        found: Delivery | None = due.order_by("not_before").first()
        if found is None:
            return None
        found.attempts, found.not_before = found.attempts + 1, clock.now() + LEASE
        Delivery.objects.filter(pk=found.pk).update(attempts=F("attempts") + 1, not_before=found.not_before)
    return Delivery.objects.select_related("notice", "user", "endpoint").get(pk=found.pk)


def _attempt(delivery: Delivery) -> None:
    try:
        _CHANNELS[delivery.channel](delivery)
    except DeliveryFailed as error:
        last = isinstance(error, Undeliverable) or delivery.attempts >= ATTEMPTS
        log.warning("notice.failed", delivery=str(delivery.pk), channel=delivery.channel, attempts=delivery.attempts, last=last)
        _failed(delivery, str(error)[:300], last=last)
    except (OSError, ValueError) as error:  # of a library: one failed attempt, and no other delivery waits for it
        log.exception("notice.broke", delivery=str(delivery.pk), channel=delivery.channel, attempts=delivery.attempts)
        _failed(delivery, f"It could not be sent ({type(error).__name__}).", last=delivery.attempts >= ATTEMPTS)
    else:
        _end(delivery, "sent", last_error="")


def _failed(delivery: Delivery, words: str, *, last: bool) -> None:
    if last:
        _end(delivery, "failed", last_error=words)
    else:
        again = clock.now() + backoff(delivery.attempts)
        Delivery.objects.filter(pk=delivery.pk, state="queued").update(last_error=words, not_before=again)


def _end(delivery: Delivery, to: str, **columns: Any) -> None:
    with transaction.atomic():
        audit.transition(DELIVERY, delivery, to=to, actor=ACTOR, ended_at=clock.now(), **columns)
        outcomes.report(delivery)


class _alone:
    """Whether nobody else delivers now."""

    def __enter__(self) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK])
            self.ours = bool(cursor.fetchone()[0])
        return self.ours

    def __exit__(self, *_: object) -> None:
        if self.ours:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
