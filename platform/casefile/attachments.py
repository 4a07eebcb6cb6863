"""Lay a file beside an order, and withdraw it: its bytes and its row stay."""

from collections.abc import Callable, Iterable
from typing import cast
from uuid import UUID

from django.db import transaction

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from casefile import file_kinds, telling
from casefile.errors import AlreadyDone, BadFile
from casefile.file_kinds import Recognised
from casefile.machines import ATTACHMENT
from casefile.models import Attachment, FileKind
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotPermitted
from orders.models import Order
from orders.remarks import remark
from storage import services as storage

LIMIT = 20_000_000  # bytes of one file
MOST = 50  # files of one order
Chunks = Callable[[], Iterable[bytes]]


def may_attach(actor: Actor, order: Order) -> bool:
    """Whether this actor may lay files beside this order."""
    return actor.may(Verb.ATTACH, order.ordering_organisation_id, order.performing_laboratory_id)


def may_withdraw(actor: Actor, attachment: Attachment) -> bool:
    """Who added it, as long as he may attach at all, and the laboratory."""
    at_all = actor.may(Verb.ATTACH, attachment.organisation_id, attachment.shared_with_id)
    return at_all and (attachment.added_by_id == actor.id or actor.may(Verb.ATTACH, attachment.organisation_id))


def attach(*, actor: Actor, order: Order, name: str, kind: str, chunks: Chunks) -> Attachment:
    """Keep a file of an order; the same content of one order is one file. `chunks` is called for each reading.

    Raises `NotPermitted`, `BadFile` (kind, size, number), or the store's `NoSpace`.
    """
    require(actor, Verb.ATTACH, order.ordering_organisation_id, order.performing_laboratory_id)
    if kind not in FileKind.values:
        raise BadFile("Say what the file is.", code="attachment.no-kind")
    recognised = file_kinds.recognise(chunks())
    written = storage.write(chunks=chunks(), limit=LIMIT)  # before the transaction: an upload may take minutes
    with transaction.atomic():
        locked = Order.objects.select_for_update(of=("self",)).get(pk=order.pk)
        stored = storage.record(
            written=written, organisation_id=locked.performing_laboratory_id, kind="attachment", name=_printable(name)
        )
        mine = Attachment.objects.filter(order=locked)
        there: Attachment | None = mine.filter(file=stored, state="kept").first()
        if there is not None:
            return there
        number = mine.count() + 1
        if number > MOST:
            raise BadFile(f"An order takes {MOST} files; this one has them.", code="attachment.too-many")
        attachment = Attachment.objects.create(
            organisation_id=locked.performing_laboratory_id, shared_with_id=locked.ordering_organisation_id, order=locked,
            number=number, file=stored, name=_printable(name), media_type=recognised.media_type, kind=kind,
            added_by_id=cast(UUID, actor.id), added_at=clock.now(),
        )  # fmt: skip
        _tell(locked, attachment, actor, recognised)
        return attachment


def withdraw(*, actor: Actor, attachment: Attachment, reason: str) -> None:
    """Take a file back, with a reason: who may read the order no longer gets it, auditors still do. Raises `AlreadyDone`."""
    if not may_withdraw(actor, attachment):
        raise NotPermitted("Only who added the file, or the laboratory, withdraws it.", code="access.not-permitted")
    words = remark(reason, field="reason", missing="Say why the file is withdrawn.")
    with transaction.atomic():
        order = Order.objects.select_for_update(of=("self",)).get(pk=attachment.order_id)
        locked = Attachment.objects.select_for_update(of=("self",)).get(pk=attachment.pk)
        if locked.state != "kept":
            raise AlreadyDone("This file was withdrawn before.", code="attachment.withdrawn")
        audit.transition(
            ATTACHMENT, locked, to="withdrawn", actor=actor, reason="attachment.withdrawn",
            withdrawn_by_id=actor.id, withdrawn_at=clock.now(), withdrawn_reason=words,
        )  # fmt: skip
        telling.moved_on(order)


def _tell(order: Order, attachment: Attachment, actor: Actor, recognised: Recognised) -> None:
    facts = {"order": str(order.pk), "sha256": attachment.file.sha256, "bytes": attachment.file.size, "is": recognised.media_type}
    audit.record(actor=actor, action="attachment.added", obj=attachment, organisation_id=attachment.organisation_id, facts=facts)
    telling.moved_on(order)


def _printable(name: str) -> str:
    """The last part of the name, without what cannot be shown or would turn the reading direction round."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    return "".join(letter for letter in last if letter.isprintable())[:255] or "file"
