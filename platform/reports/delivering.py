"""Deliver what is issued: a row for each recipient with the issue, sent after it, opened and acknowledged by who reads it.

Nothing here can keep a report from being issued: what leaves the house goes through the outbox, after the commit.
"""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotFound, Refused
from foundation.printable import is_printable
from orders import hints
from orders.errors import InvalidOrder
from orders.models import Order
from orders.remarks import remark
from outbox import services as outbox
from reports import recipients
from reports.delivery_models import MEANS, DeliveryNote, News, Recipient, ReportDelivery
from reports.machines import DELIVERY
from reports.models import REVISED, ReportVersion

TOPIC = "report.delivery"
UNREAD = ("queued", "sent", "failed")


class NotFailed(Refused):
    """Only a delivery that failed is sent again or told in another way."""


class NotOpened(Refused):
    """Read the report first: what nobody has opened is not acknowledged."""


def announce(*, version: ReportVersion, order: Order, actor: Actor) -> None:
    """A delivery of a version to each recipient, inside the transaction of its issue; the order is locked."""
    news = News.CORRECTED if version.kind in REVISED else News.ISSUED
    _make(version, order, recipients.of_version(order, version), news, actor)


def recall(*, order: Order, actor: Actor) -> None:
    """Tell whoever had or read a report of a locked order that it is not valid: entered in error, or its order cancelled."""
    last = order.reports.filter(released_at__isnull=False).order_by("-number").first()
    if last is not None:
        _make(last, order, recipients.of_recall(order), News.RECALLED, actor)


def hear(order: Order, actor: Actor) -> None:
    """A locked order was cancelled: whoever had a preliminary report of it is told."""
    recall(order=order, actor=actor)


def opened(*, actor: Actor, version: ReportVersion) -> None:
    """This person reads this version now: his delivery of it is opened, once."""
    _open(actor, ReportDelivery.objects.filter(report_version=version).exclude(news=News.RECALLED))


def opened_recall(*, actor: Actor, order: Order) -> None:
    """This person reads that the reports of this order are not valid any more."""
    _open(actor, ReportDelivery.objects.filter(order=order, news=News.RECALLED))


def acknowledge(*, delivery: ReportDelivery, actor: Actor) -> None:
    """The recipient says that he has read it. Saying so again changes nothing. Raises `NotFound` or `NotOpened`."""
    with transaction.atomic():
        locked = _mine(actor).select_for_update(of=("self",)).filter(pk=delivery.pk).first()
        if locked is None:
            raise NotFound
        if locked.state == "acknowledged":
            return
        if locked.state != "opened":
            raise NotOpened(code="delivery.not-opened")
        audit.transition(DELIVERY, locked, to="acknowledged", actor=actor, acknowledged_at=clock.now(), acknowledged_by_id=actor.id)
        hints.changed(locked.order)


def send_again(*, delivery: ReportDelivery, actor: Actor) -> None:
    """Queue a delivery that failed; what happened to it before stays. Raises `NotPermitted` or `NotFailed`."""
    with transaction.atomic():
        locked = _failed_one(delivery, actor)
        note(locked, "again", by=actor.id)
        audit.transition(DELIVERY, locked, to="queued", actor=actor, turn=locked.turn + 1, last_error="")
        _post(locked)
        hints.changed(locked.order)


def told_otherwise(
    *, delivery: ReportDelivery, actor: Actor, told: str, means: str, told_at: datetime | None, words: str = ""
) -> None:  # fmt: skip
    """Keep that the recipient of a failed delivery was told in another way: whom, how, when. Raises `InvalidOrder` or as above."""
    with transaction.atomic():
        locked = _failed_one(delivery, actor)
        whom = " ".join(told.split())
        if wrong := objections(locked.created_at, told=whom, means=means, told_at=told_at):
            raise InvalidOrder(wrong)
        said = remark(words, field="words")
        note(locked, "told", by=actor.id, told=whom, means=means, told_at=told_at, words=said)
        audit.transition(DELIVERY, locked, to="sent", actor=actor, reason="delivery.told-otherwise", sent_at=told_at)
        hints.changed(locked.order)


def objections(since: datetime, *, told: str, means: str, told_at: datetime | None) -> dict[str, list[str]]:
    """What is wrong with what is said of a telling, by field."""
    wrong: dict[str, list[str]] = {}
    if not told or len(told) > 120 or not is_printable(told):
        wrong["told"] = ["Say who was told: name and role, at most 120 letters."]
    if means not in dict(MEANS):
        wrong["means"] = ["Choose how the person was told."]
    if told_at is None:
        wrong["told_at"] = ["Say when the person was told."]
    elif told_at > clock.now():
        wrong["told_at"] = ["This time lies in the future."]
    elif told_at < since.replace(second=0, microsecond=0):  # a form says the minute
        wrong["told_at"] = ["This time lies before the report was issued."]
    return wrong


def note(delivery: ReportDelivery, kind: str, *, by: UUID | None = None, **columns: object) -> None:
    """Keep what happened to a delivery."""
    DeliveryNote.objects.create(
        organisation_id=delivery.organisation_id, delivery=delivery, kind=kind, by_id=by, at=clock.now(), **columns
    )


def whose(actor: Actor) -> Q:
    """Deliveries to this person: himself, his provider record, or a hospital at which he sees orders."""
    himself = Q(recipient__user_id=actor.id) | Q(recipient__provider__user_id=actor.id)
    return (himself if actor.id else Q(pk__in=[])) | Q(recipient__hospital__in=actor.organisations(Verb.VIEW_ORDER))


def _mine(actor: Actor) -> QuerySet[ReportDelivery]:
    rows: QuerySet[ReportDelivery] = ReportDelivery.objects.filter(whose(actor)).select_related("order", "recipient")
    return rows


def _open(actor: Actor, rows: QuerySet[ReportDelivery]) -> None:
    unread = rows.filter(whose(actor), state__in=UNREAD)
    if actor.id is None or not unread.exists():
        return
    with transaction.atomic():
        for one in unread.select_for_update(of=("self",)).select_related("order").order_by("pk"):
            audit.transition(DELIVERY, one, to="opened", actor=actor, opened_at=clock.now(), opened_by_id=actor.id)
            hints.changed(one.order)


def _make(version: ReportVersion, order: Order, whom: Iterable[Recipient], news: News, actor: Actor) -> None:
    for recipient in whom:
        made = ReportDelivery.objects.create(
            organisation_id=version.performing_laboratory_id, order=order, report_version=version, recipient=recipient,
            news=news, replaces=version.supersedes.number if version.supersedes else None, created_at=clock.now(),
        )  # fmt: skip
        facts = {
            "order": str(order.pk), "recipient": recipient.name, "as": recipient.part, "number": version.number, "news": news.value,
        }  # fmt: skip
        audit.record(actor=actor, action="delivery.made", obj=made, organisation_id=made.organisation_id, facts=facts)
        _post(made)


def _post(delivery: ReportDelivery) -> None:
    said = {"delivery": str(delivery.pk), "turn": delivery.turn}
    outbox.post(topic=TOPIC, payload=said, organisation_id=delivery.organisation_id)


def _failed_one(delivery: ReportDelivery, actor: Actor) -> ReportDelivery:
    require(actor, Verb.DELIVER, delivery.organisation_id)
    locked = ReportDelivery.objects.select_for_update(of=("self",)).select_related("order").get(pk=delivery.pk)
    if locked.state != "failed":
        raise NotFailed(code="delivery.not-failed")
    return locked
