"""Reject a specimen, for a coded reason: what happens to its order, and who is told. Decision 0016 says why it is so.

An order that is not accepted yet is rejected with it. An accepted one goes on hold, work and release alike, and needs a person:
he has a new specimen collected, cancels it, or lets it go on where no second specimen can be had. The report says it in any case.
"""

from typing import Any

from django.db import transaction

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import Refused
from foundation.reasons import Reason
from orders import hints, needs, reception, urgency
from orders.errors import InvalidOrder
from orders.machines import ORDER, SPECIMEN
from orders.models import Order, Specimen
from orders.remarks import remark
from outbox import services as outbox

TOPIC = "specimen.rejected"
REASONS = (
    Reason.SPECIMEN_HAEMOLYSED,
    Reason.SPECIMEN_INSUFFICIENT,
    Reason.SPECIMEN_UNLABELLED,
    Reason.SPECIMEN_MISLABELLED,
    Reason.SPECIMEN_CONTAINER,
    Reason.SPECIMEN_LEAKED,
    Reason.SPECIMEN_TOO_OLD,
    Reason.SPECIMEN_OTHER,
)


class Rejected(Refused):
    """This specimen was rejected before."""


def reject(*, order: Order, reason: str, words: str, actor: Actor) -> Specimen:
    """Reject the specimen of an open order. Raises `NotPermitted`, `Rejected`, `Closed`, or `InvalidOrder` field by field."""
    require(actor, Verb.REJECT_SPECIMEN, order.performing_laboratory_id)
    if reason not in REASONS:
        raise InvalidOrder({"reason": ["Choose why the specimen cannot be used."]})
    said = remark(words, field="words", missing="Say why the specimen cannot be used." if reason == Reason.SPECIMEN_OTHER else "")
    with transaction.atomic():
        locked, specimen = reception.lock(order)
        if specimen.state == "rejected":
            raise Rejected(code="specimen.rejected")
        if locked.state not in Order.OPEN:
            raise urgency.Closed("This order is closed: nothing comes of its specimen any more.", code="order.closed")
        facts: dict[str, Any] = {
            "rejected_reason": reason, "rejected_words": said, "rejected_at": clock.now(), "rejected_by_id": actor.id,
        }  # fmt: skip
        audit.transition(SPECIMEN, specimen, to="rejected", actor=actor, reason=reason, **facts)
        reception.tell(locked, "order.specimen_rejected", actor, reason=reason, facts={})
        _put_aside(locked, actor)
        payload = {"order": str(locked.pk), "specimen": str(specimen.pk), "reason": reason, "version": specimen.version}
        outbox.post(topic=TOPIC, payload=payload, organisation_id=locked.ordering_organisation_id)
        return specimen


def read(*, order: Order, actor: Actor) -> None:
    """Keep that somebody who orders for the organisation has read of the rejection. Raises `NotPermitted` or `Refused`."""
    require(actor, Verb.PLACE, order.ordering_organisation_id)
    with transaction.atomic():
        locked, specimen = reception.lock(order)
        if specimen.state != "rejected":
            raise Refused("The specimen of this order was not rejected.", code="specimen.not-rejected")
        if specimen.rejection_read_at is None:
            specimen.rejection_read_at, specimen.rejection_read_by_id = clock.now(), actor.id
            specimen.save(update_fields=["rejection_read_at", "rejection_read_by"])
            reception.tell(locked, "order.rejection_read", actor, facts={})


def _put_aside(locked: Order, actor: Actor) -> None:
    """Loudly: closed, or held with a flag. The rejection is the agreement that a STAT order waits."""
    said = str(Reason.SPECIMEN_REJECTED)
    if locked.state == "submitted":
        changes: dict[str, Any] = {"ended_at": clock.now(), "edits": locked.edits + 1}
        audit.transition(ORDER, locked, to="rejected", actor=actor, reason=said, risk="", **changes)
        hints.changed(locked)
        return
    needs.add(locked, said, front=True)
    locked.save(update_fields=needs.COLUMNS)
    urgency.void_request(locked, actor)
    if not locked.hold_reason:
        urgency.put_on_hold(locked, str(Reason.HOLD_SPECIMEN), actor, {}, agreed=True)
