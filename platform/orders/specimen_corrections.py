"""Take back a reception or a rejection that was a mistake: what it said stays on record, beside who took it back and why.

One transaction each. The database lets the facts of a specimen go only together with the row that keeps them.
"""

from datetime import datetime
from typing import Any, cast
from uuid import UUID

from django.db import transaction

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import Refused, Stale
from foundation.reasons import Reason
from orders import needs, reception, rejection, urgency
from orders.machines import SPECIMEN
from orders.models import Hold, Order, Specimen
from orders.remarks import remark
from orders.specimen_models import RECEPTION, REJECTION, SpecimenCorrection
from outbox import services as outbox

VERBS = {RECEPTION: Verb.RECEIVE_SPECIMEN, REJECTION: Verb.REJECT_SPECIMEN}
_EMPTY: dict[str, dict[str, Any]] = {
    RECEPTION: {"received_at": None, "received_by_id": None, "condition": "", "condition_words": "", "late_reason": ""},
    REJECTION: {"rejected_reason": "", "rejected_words": "", "rejected_at": None, "rejected_by_id": None},
}
CORRECTED = 3  # the version of a specimen that was received or rejected, and then corrected, is at least this
_READ = {"rejection_read_at": None, "rejection_read_by_id": None}


def correctable(order: Order, specimen: Specimen) -> str:
    """What of the specimen could be taken back as it stands: a rejection first, then its reception; empty: nothing."""
    if specimen.state == "rejected":
        return REJECTION if order.state in Order.OPEN else ""
    return RECEPTION if specimen.state == "received" else ""


def may_correct(actor: Actor, order: Order) -> bool:
    """Whether this person may take it back: whoever may do it may say that it was a mistake."""
    what = correctable(order, order.specimen)
    return bool(what) and actor.may(VERBS[what], order.performing_laboratory_id)


def take_back(*, order: Order, words: str, actor: Actor, expected_version: int) -> Specimen:
    """Take back what stands now. An order that a rejection alone put on hold goes on with it, and who ordered is told.

    `expected_version` is the specimen's as the person saw it. Raises `NotPermitted`, `InvalidOrder`, `Refused` or `Stale`.
    """
    said = remark(words, field="correction_words", missing="Say what was wrong: it is kept with the specimen, under your name.")
    with transaction.atomic():
        locked, specimen = reception.lock(order)
        what = correctable(locked, specimen)
        require(actor, VERBS.get(what, Verb.RECEIVE_SPECIMEN), locked.performing_laboratory_id)
        if not what:
            raise Refused("There is nothing to take back: look how the specimen and its order stand.", code="specimen.nothing")
        if specimen.version != expected_version:
            raise Stale(code="state.stale")
        rejected_at = specimen.rejected_at
        _keep(locked, specimen, what, said, actor)
        to = "received" if what == REJECTION and specimen.received_at else "expected"
        facts = _EMPTY[what] | (_READ if what == REJECTION else {})
        audit.transition(SPECIMEN, specimen, to=to, actor=actor, reason=str(Reason.SPECIMEN_TAKEN_BACK), **facts)
        reception.tell(locked, f"order.{what}_taken_back", actor, reason=str(Reason.SPECIMEN_TAKEN_BACK), facts={})
        if what == REJECTION:
            _goes_on(locked, specimen, actor, rejected_at)
        return specimen


def taken_back(order: Order) -> list[SpecimenCorrection]:
    """What was taken back of the specimen of an order that the caller may see, the latest first."""
    if order.specimen.version < CORRECTED:
        return []
    rows = SpecimenCorrection.objects.filter(specimen_id=order.specimen_id)
    return list(rows.select_related("by", "received_by", "rejected_by").order_by("-pk"))


def _keep(locked: Order, specimen: Specimen, what: str, words: str, actor: Actor) -> None:
    said = {name: getattr(specimen, name) for name in _EMPTY[what]}
    SpecimenCorrection.objects.create(
        organisation_id=locked.performing_laboratory_id, order=locked, specimen=specimen, version=specimen.version, what=what,
        words=words, by_id=cast(UUID, actor.id), at=clock.now(), **said,
    )  # fmt: skip


def _goes_on(locked: Order, specimen: Specimen, actor: Actor, rejected_at: datetime | None) -> None:
    """The flag goes, and so does a hold that the rejection began."""
    needs.settle(locked, str(Reason.SPECIMEN_REJECTED))
    locked.save(update_fields=needs.COLUMNS)
    begun = Hold.objects.filter(order=locked, until=None, reason=str(Reason.HOLD_SPECIMEN), since__gte=rejected_at)
    if locked.hold_reason and begun.exists():
        urgency.let_go(locked, actor)
    payload = {"order": str(locked.pk), "specimen": str(specimen.pk), "reason": "", "version": specimen.version, "taken_back": True}
    outbox.post(topic=rejection.TOPIC, payload=payload, organisation_id=locked.ordering_organisation_id)
