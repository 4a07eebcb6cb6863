"""Tell people and systems; keep what they have read. Called after the commit of what is told, from the outbox."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from foundation import clock
from foundation.actor import NOBODY, Actor
from notices import bells
from notices.models import Channel, Delivery, Endpoint, Notice, Receipt


@dataclass(frozen=True)
class Told:
    """What is told: `key` names the event, so that telling it twice is telling it once."""

    key: str
    kind: str
    organisation_id: UUID
    parties: Collection[UUID]
    order_id: UUID | None = None
    accession: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Audience:
    """Who is told, by which way."""

    in_app: Collection[UUID] = ()  # people
    email: Collection[UUID] = ()  # people
    addresses: Collection[str] = ()  # e-mail of those who have no account
    webhook: Collection[UUID] = ()  # endpoints


def tell(told: Told, audience: Audience) -> Notice:
    """Show it to people and queue what leaves the house. The same key again changes nothing."""
    with transaction.atomic():
        notice, new = Notice.objects.get_or_create(
            key=told.key,
            defaults={
                "kind": told.kind, "organisation_id": told.organisation_id, "parties": sorted(set(told.parties)),
                "order_id": told.order_id, "accession": told.accession, "facts": dict(told.facts), "at": clock.now(),
            },
        )  # fmt: skip
        if not new:
            return notice
        Receipt.objects.bulk_create(Receipt(notice=notice, user_id=user) for user in sorted(set(audience.in_app)))
        Delivery.objects.bulk_create(_deliveries(notice, audience))
        bells.ring(audience.in_app)
    return notice


def read(*, actor: Actor, receipts: Iterable[int] | None = None) -> int:
    """Keep that this person has read these of his notices, or all of them; how many were new to him."""
    with transaction.atomic():
        unread: QuerySet[Receipt] = Receipt.objects.filter(user_id=actor.id or NOBODY, read_at=None)
        if receipts is not None:
            unread = unread.filter(pk__in=list(receipts))
        number = unread.update(read_at=clock.now())
        if actor.id is not None and number:
            bells.ring([actor.id])
    return number


def _deliveries(notice: Notice, audience: Audience) -> Iterable[Delivery]:
    now = clock.now()
    common: dict[str, Any] = {
        "notice": notice, "organisation_id": notice.organisation_id, "created_at": now, "not_before": now,
    }  # fmt: skip
    for user in sorted(set(audience.email)):
        yield Delivery(channel=Channel.EMAIL, user_id=user, **common)
    for address in sorted(set(audience.addresses)):
        yield Delivery(channel=Channel.EMAIL, address=address, **common)
    open_ones = Endpoint.objects.filter(pk__in=list(audience.webhook), ended_at=None).order_by("pk")
    for endpoint in open_ones:
        yield Delivery(channel=Channel.WEBHOOK, endpoint=endpoint, **common)
