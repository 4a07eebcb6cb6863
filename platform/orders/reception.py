"""Receive a specimen: when it came, and in which condition. Each function is one transaction.

The clocks of an order begin with its acceptance, whether or not its specimen has come: what is scored is a file, and that is there.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import Refused
from orders import hints
from orders.errors import InvalidOrder
from orders.machines import SPECIMEN
from orders.models import Order, Specimen
from orders.remarks import remark
from orders.specimen_models import Condition

LATE = timedelta(minutes=15)  # a reception entered later than this after it happened needs a reason


class Came(Refused):
    """This specimen was received before."""


@dataclass(frozen=True)
class Arrival:
    """What a person states of a specimen that came."""

    received_at: datetime  # aware
    condition: str  # Condition
    words: str = ""
    late_reason: str = ""


def receive(*, order: Order, arrival: Arrival, actor: Actor) -> Specimen:
    """Take down that the specimen of an order came. Raises `NotPermitted`, `Came`, or `InvalidOrder` field by field."""
    require(actor, Verb.RECEIVE_SPECIMEN, order.performing_laboratory_id)
    with transaction.atomic():
        locked, specimen = lock(order)
        if specimen.state != "expected":
            raise Came(_before(specimen), code="specimen.came")
        words, late_reason = _check(arrival, specimen)
        facts: dict[str, Any] = {
            "received_at": arrival.received_at, "received_by_id": actor.id, "condition": arrival.condition,
            "condition_words": words, "late_reason": late_reason,
        }  # fmt: skip
        audit.transition(SPECIMEN, specimen, to="received", actor=actor, **facts)
        tell(locked, "order.specimen_received", actor, facts={"condition": arrival.condition, "late": bool(late_reason)})
        return specimen


def lock(order: Order) -> tuple[Order, Specimen]:
    """The order and its specimen, locked in this order, as they stand now."""
    locked = Order.objects.select_for_update(of=("self",)).select_related("test_version").get(pk=order.pk)
    return locked, Specimen.objects.select_for_update(of=("self",)).select_related("received_by").get(pk=locked.specimen_id)


def tell(locked: Order, action: str, actor: Actor, *, reason: str = "", facts: dict[str, Any]) -> None:
    """Write the event of the order, and tell its pages: nothing that a person typed on another page is outdated by it."""
    locked.version += 1
    locked.save(update_fields=["version"])
    about = {"specimen": str(locked.specimen_id), **facts}
    laboratory = locked.performing_laboratory_id
    audit.record(actor=actor, action=action, obj=locked, organisation_id=laboratory, reason=reason, facts=about)
    hints.changed(locked)


def _before(specimen: Specimen) -> str:
    if specimen.state == "rejected":
        return "This specimen was rejected: what came now is another one, and needs an order of its own."
    by = f" by {specimen.received_by}" if specimen.received_by else ""
    return f"This specimen was received before{by}. Nothing is changed; look whether two tubes have the same label."


def _check(arrival: Arrival, specimen: Specimen) -> tuple[str, str]:
    fields: defaultdict[str, list[str]] = defaultdict(list)
    now = clock.now()
    if arrival.received_at > now:
        fields["received_at"].append("The time of reception lies in the future.")
    if arrival.received_at < specimen.collected_at:
        fields["received_at"].append("The specimen would have come before it was collected. Look at both times.")
    if arrival.condition not in Condition.values:
        fields["condition"].append("Choose the condition in which it came.")
    words = _said(arrival.words, "words", "Say in which condition it came." if arrival.condition == Condition.OTHER else "", fields)
    late = arrival.received_at < now - LATE
    missing = "Say why this is entered later than it happened." if late else ""
    late_reason = _said(arrival.late_reason if late else "", "late_reason", missing, fields)
    if fields:
        raise InvalidOrder(dict(fields))
    return words, late_reason


def _said(text: str, field: str, missing: str, fields: dict[str, list[str]]) -> str:
    try:
        return remark(text, field=field, missing=missing)
    except InvalidOrder as error:
        fields.setdefault(field, []).extend(error.fields[field])
        return ""
