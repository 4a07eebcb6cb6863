"""Comment on an order: append only. Sending the same words twice is one comment."""

from datetime import timedelta
from typing import cast
from uuid import UUID

from django.db import transaction

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from casefile import telling
from casefile.errors import AlreadyDone, BadText
from casefile.models import Comment
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotPermitted, Refused
from foundation.printable import printable
from orders.models import Order

MOST = 2000  # characters
TWICE = timedelta(minutes=1)  # within which the same words of the same person are the same comment


def may_comment(actor: Actor, order: Order) -> bool:
    """Whether this actor may write beside this order at all."""
    return actor.may(Verb.COMMENT, order.ordering_organisation_id, order.performing_laboratory_id)


def may_be_internal(actor: Actor, order: Order) -> bool:
    """Whether what he writes may be for the performing laboratory alone."""
    return actor.may(Verb.COMMENT, order.performing_laboratory_id)


def add(*, actor: Actor, order: Order, text: str, internal: bool, corrects: Comment | None = None) -> Comment:
    """Write beside an order; with `corrects`, in the place of a comment of one's own, for the same readers.

    Raises `NotPermitted`, `BadText`, or `AlreadyDone` for a comment that was corrected before.
    """
    require(actor, Verb.COMMENT, order.ordering_organisation_id, order.performing_laboratory_id)
    if corrects is not None:
        internal = _own(actor, order, corrects).internal
    if internal:
        require(actor, Verb.COMMENT, order.performing_laboratory_id)
    words = plain(text)
    with transaction.atomic():
        locked = Order.objects.select_for_update(of=("self",)).get(pk=order.pk)
        if (twice := _just_said(actor, locked, words, internal, corrects)) is not None:
            return twice
        if corrects is not None and Comment.objects.filter(withdraws=corrects).exists():
            raise AlreadyDone("This comment was corrected before. The page shows how it stands now.", code="comment.corrected")
        return _write(actor, locked, words, internal, corrects)


def plain(text: str) -> str:
    """The words without control characters, line ends kept. Raises `BadText` where nothing is left, or too much."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    words = "\n".join(printable(line).rstrip() for line in lines).strip()
    if not words:
        raise BadText(code="comment.empty")
    if len(words) > MOST:
        raise BadText(
            f"The comment has {len(words):,} characters; at most {MOST:,} fit. Say it in fewer words.", code="comment.long"
        )
    return words


def _own(actor: Actor, order: Order, comment: Comment) -> Comment:
    if comment.order_id != order.pk:
        raise Refused("This comment belongs to another order.", code="comment.other-order")
    if comment.author_id != actor.id:
        raise NotPermitted("Only who wrote a comment corrects it; write one of your own.", code="access.not-permitted")
    return comment


def _just_said(actor: Actor, order: Order, words: str, internal: bool, corrects: Comment | None) -> Comment | None:
    since = clock.now() - TWICE
    same = Comment.objects.filter(order=order, author_id=actor.id, text=words, withdraws=corrects, at__gte=since)
    found: Comment | None = same.filter(shared_with__isnull=internal).first()
    return found


def _write(actor: Actor, order: Order, words: str, internal: bool, corrects: Comment | None) -> Comment:
    comment = Comment.objects.create(
        organisation_id=order.performing_laboratory_id,
        shared_with_id=None if internal else order.ordering_organisation_id,
        order=order,
        author_id=cast(UUID, actor.id),
        text=words,
        at=clock.now(),
        withdraws=corrects,
    )
    facts = {"order": str(order.pk), "internal": internal} | ({"withdraws": corrects.pk} if corrects else {})
    action = "comment.corrected" if corrects else "comment.added"
    audit.record(actor=actor, action=action, obj=comment, organisation_id=comment.organisation_id, facts=facts)
    telling.moved_on(order)
    return comment
