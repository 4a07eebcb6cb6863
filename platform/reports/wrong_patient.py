"""An order was for the wrong patient: it and all its reports become entered in error, visible as such, and nothing is deleted."""

from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import Refused, Stale
from foundation.reasons import Reason
from orders import services
from orders.machines import IN_ERROR, ORDER
from orders.models import Order
from orders.remarks import LONG, remark
from reports import delivering
from reports.machines import REPORT
from reports.models import ReportVersion

MISSING = "Say what went wrong: it is kept with the order, under your name."


class NotPossible(Refused):
    """This order cannot be marked any more: it was cancelled or rejected, or is marked already."""


def may_declare(actor: Actor, order: Order) -> bool:
    """Whether this person may say so: who settles identities, and once a report is out, only who corrects reports."""
    if not ORDER.allows(order.state, IN_ERROR):
        return False
    if actor.may(Verb.CORRECT, *_parties(order)):
        return True
    return actor.may(Verb.EDIT_IDENTITY, *_parties(order)) and _verb(order) == Verb.EDIT_IDENTITY


def declare(*, order: Order, words: str, actor: Actor, expected_edits: int) -> None:
    """Mark order and reports as entered in error; queued and running work stops as in a cancellation.

    Raises `NotPermitted`, `InvalidOrder`, `NotPossible` or `Stale`.
    """
    said = remark(words, field="words", most=LONG, missing=MISSING)
    with transaction.atomic():
        locked = Order.objects.select_for_update().get(pk=order.pk)
        if not actor.may(Verb.CORRECT, *_parties(locked)):
            require(actor, _verb(locked), *_parties(locked))
        if not ORDER.allows(locked.state, IN_ERROR):
            raise NotPossible(code="order.not-markable")
        if locked.edits != expected_edits:
            raise Stale(code="state.stale")
        reason = str(Reason.ORDER_WRONG_PATIENT)
        changes: dict[str, Any] = {"ended_at": locked.ended_at or clock.now(), "cancelled_reason": said, "edits": locked.edits + 1}
        services.end(locked, to=IN_ERROR, actor=actor, reason=reason, **changes)
        for version in ReportVersion.objects.select_for_update().filter(order=locked).order_by("number"):
            if REPORT.allows(version.state, IN_ERROR):
                audit.transition(REPORT, version, to=IN_ERROR, actor=actor, reason=reason)
        delivering.recall(order=locked, actor=actor)


def _verb(order: Order) -> Verb:
    """Until a report has left the house it is a mix-up of identities; afterwards a report that people act on is recalled."""
    issued = ReportVersion.objects.filter(order=order, released_at__isnull=False).exists()
    return Verb.CORRECT if issued else Verb.EDIT_IDENTITY


def _parties(order: Order) -> tuple[UUID, UUID]:
    return order.ordering_organisation_id, order.performing_laboratory_id
