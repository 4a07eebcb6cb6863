"""A STAT order under a number that stands for another order waits for a person: it is another one, the same one, or refused.

Each function is one transaction. Who the patient is has to be settled before: an order waits for one answer at a time.
"""

from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotPermitted, Refused, Stale
from foundation.reasons import Reason
from orders import hints, needs, services, urgency
from orders.accession import named
from orders.machines import IN_ERROR
from orders.models import Order
from orders.remarks import LONG, remark
from registry.priority import Priority

MISSING = "Say how you know: it is kept with the order, under your name."
INSTEAD = "Say that this one is another order, or refuse it."


class NoQuestion(Refused):
    """There is nothing to settle about the number of this order: somebody has, or the order has ended."""


def may_settle(actor: Actor, order: Order) -> bool:
    """Whether this person decides about the number of this order."""
    return actor.may(Verb.CANCEL, *_parties(order))


def waits(order: Order) -> bool:
    """Whether a person has to decide about its number now."""
    open_needs = needs.codes(order)
    waiting = order.conflicts_with_id is not None and order.state == "submitted"
    return waiting and Reason.ORDER_CONFLICT in open_needs and Reason.IDENTITY_MISMATCH not in open_needs


def take_as_new(*, order: Order, actor: Actor, expected_edits: int) -> None:
    """It is another order, whatever its number: it is accepted and runs. Raises `NotPermitted`, `NoQuestion` or `Stale`."""
    require(actor, Verb.STAT, *_parties(order))
    with transaction.atomic():
        locked, standing = _open(order, actor, expected_edits)
        needs.settle(locked, str(Reason.ORDER_CONFLICT))
        locked.version, locked.edits = locked.version + 1, locked.edits + 1
        locked.save(update_fields=[*needs.COLUMNS, "version", "edits"])
        _tell(locked, Reason.CONFLICT_NEW, standing, actor)
        services.accept(order=locked, actor=actor)
        hints.changed(locked)


def same(*, order: Order, words: str, actor: Actor, expected_edits: int) -> None:
    """It is the order that has the number: this one is rejected, and that one becomes STAT where it still can.

    Raises `InvalidOrder`, too, and `Refused` where that one is not STAT and this person may not make it so, where nothing will
    come of it, or where it is of another patient: no answer loses STAT. What he may not see, nobody calls the same.
    """
    said = remark(words, field="words", most=LONG - 40, missing=MISSING)
    with transaction.atomic():
        locked, standing = _open(order, actor, expected_edits)
        _require_alike(locked, standing, actor)
        if standing.state in Order.OPEN and standing.priority != Priority.STAT:
            _make_stat(standing, locked.stat_reason.strip() or said, actor)
        _reject(locked, Reason.CONFLICT_SAME, f"The same as {named(standing, beside=locked)}: {said}", actor)
        _tell(locked, Reason.CONFLICT_SAME, standing, actor)


def refuse(*, order: Order, words: str, actor: Actor, expected_edits: int) -> None:
    """Nothing comes of it: it is rejected, with the words of the person. Raises as `same` does."""
    said = remark(words, field="words", most=LONG - 40, missing=MISSING)
    with transaction.atomic():
        locked, standing = _open(order, actor, expected_edits)
        _reject(locked, Reason.CONFLICT_REFUSED, said, actor)
        _tell(locked, Reason.CONFLICT_REFUSED, standing, actor)


def _open(order: Order, actor: Actor, expected_edits: int) -> tuple[Order, Order]:
    """This order and the one that has the number, locked. Raises unless it is as it was seen."""
    require(actor, Verb.CANCEL, *_parties(order))
    if order.conflicts_with_id is None:
        raise NoQuestion(code="order.no-conflict")
    pair: list[UUID] = [order.pk, order.conflicts_with_id]
    rows = Order.objects.select_for_update(of=("self",)).select_related("test_version", "intake", "performing_site")
    found = {row.pk: row for row in rows.filter(pk__in=pair).order_by("pk")}
    locked = found[order.pk]
    if not waits(locked):
        raise NoQuestion(code="order.no-conflict")
    if locked.edits != expected_edits:
        raise Stale(code="state.stale")
    return locked, found[order.conflicts_with_id]


def _require_alike(locked: Order, standing: Order, actor: Actor) -> None:
    """Raises `Refused` where the order that has the number cannot be this one."""
    if not Order.objects.for_actor(actor).filter(pk=standing.pk).exists():
        words = f"The order that has the number is at another laboratory, and you may not see it. {INSTEAD}"
        raise Refused(f"{words} Who ordered both can say that they are the same.", code="order.conflict-unseen")
    if standing.state in ("cancelled", "rejected", IN_ERROR):
        words = f"Nothing comes of order {standing.accession} any more, so this one would be lost with it. {INSTEAD}"
        raise Refused(words, code="order.conflict-ended")
    if standing.patient_id != locked.patient_id:
        raise Refused(f"Order {standing.accession} is of another patient. {INSTEAD}", code="order.conflict-patient")


def _make_stat(standing: Order, reason: str, actor: Actor) -> None:
    try:
        urgency.change_priority(order=standing, priority=Priority.STAT, reason=reason[:300], actor=actor)
    except NotPermitted as error:
        named = f"Order {standing.accession} is not STAT, and your role does not let you make it so. Have it promoted first."
        raise Refused(named, code="order.conflict-not-stat") from error


def _reject(locked: Order, reason: Reason, words: str, actor: Actor) -> None:
    changes: dict[str, Any] = {"ended_at": clock.now(), "cancelled_reason": words, "edits": locked.edits + 1}
    services.end(locked, to="rejected", actor=actor, reason=str(reason), **changes)


def _tell(locked: Order, reason: Reason, standing: Order, actor: Actor) -> None:
    audit.record(
        actor=actor, action="order.conflict_settled", obj=locked, organisation_id=locked.performing_laboratory_id,
        reason=str(reason), facts={"standing": str(standing.pk)},
    )  # fmt: skip


def _parties(order: Order) -> tuple[Any, Any]:
    return order.ordering_organisation_id, order.performing_laboratory_id
