"""An order that was taken on paper in a downtime: its true times beside those of its entry.

Nothing pretends to have happened earlier: placing, acceptance and reception are events of the moment at which they were entered.
The true times are a row of their own, and the clocks of the order count from there.
"""

from collections import defaultdict
from datetime import datetime
from typing import cast
from uuid import UUID

from accounts.models import Membership, User
from accounts.roles import Verb
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.printable import is_printable
from orders import reception, risk
from orders.downtimes import lines
from orders.downtimes.rows import Downtime, LateEntry, LateReason
from orders.errors import InvalidOrder
from orders.models import Order
from orders.reception import Arrival
from orders.requests import LateDetails, OrderRequest
from orders.specimen_models import Condition

Said = defaultdict[str, list[str]]


def objections(request: OrderRequest, actor: Actor, laboratory_id: UUID | None) -> dict[str, list[str]]:
    """What is wrong with a late entry, by field; nothing where it is none. Without a laboratory its downtime is not looked up."""
    late, said = request.late, Said(list)
    if late is None:
        return {}
    if not actor.may(Verb.LATE_ENTRY, request.ordering_organisation_id, *([laboratory_id] if laboratory_id else [])):
        said["late"].append("Your role does not include late entries. An accessioner or a director enters them.")
    _texts(late, said)
    _times(late, request.specimen.collected_at, said)
    if laboratory_id is not None:
        _downtime(late, laboratory_id, said)
        if late.received_at is not None and not actor.may(Verb.RECEIVE_SPECIMEN, laboratory_id):
            words = "Your role does not receive specimens at this laboratory. Leave this empty: it takes down itself when it came."
            said["received_at"].append(words)
    return dict(said)


def write(order: Order, late: LateDetails, actor: Actor) -> LateEntry:
    """Keep the true times with an order that is placed at this moment, before it is accepted. In its transaction."""
    downtime = Downtime.objects.select_for_update().filter(**_named(late.downtime, order.performing_laboratory_id)).first()
    if downtime is None:  # closed since the order was validated
        raise InvalidOrder({"downtime": [_unknown(late.downtime)]})
    person = _person(late.taken_by, order)
    made = LateEntry.objects.create(
        order=order, organisation_id=order.performing_laboratory_id, downtime=downtime, requested_at=late.requested_at,
        received_at=late.received_at, taken_by=person, taken_by_name="" if person else " ".join(late.taken_by.split()),
        reason=late.reason, words=late.words.strip(), entered_by_id=cast(UUID, actor.id), entered_at=order.placed_at,
    )  # fmt: skip
    facts = {
        "downtime": str(downtime.pk), "requested_at": late.requested_at.isoformat(), "why": late.reason,
        "received_at": late.received_at.isoformat() if late.received_at else "", "taken_by": str(person.pk) if person else "",
    }  # fmt: skip
    audit.record(actor=actor, action="order.entered_late", obj=order, organisation_id=order.performing_laboratory_id, facts=facts)
    return made


def follow(order: Order, late: LateDetails, actor: Actor) -> None:
    """Receive its specimen if that had come, open the lines to reconcile, and say at once if it is late. In its transaction."""
    downtime = Downtime.objects.get(late_entries=order.pk)
    if late.received_at is not None:
        why = f"Entered late after downtime {downtime.code}: {LateReason(late.reason).label}"
        arrival = Arrival(late.received_at, late.condition, late.condition_words, late_reason=why)
        reception.receive(order=order, arrival=arrival, actor=actor)
    lines.refresh(downtime, lines.AFTER_ENTRY)
    order.refresh_from_db()
    if risk.look(order):
        order.refresh_from_db()


def _texts(late: LateDetails, said: Said) -> None:
    if not late.taken_by.strip():
        said["taken_by"].append("Say who took the order on paper.")
    if late.reason not in LateReason.values:
        said["late_reason"].append(f"Choose one of: {', '.join(LateReason.values)}.")
    if late.reason == LateReason.OTHER and not late.words.strip():
        said["late_words"].append("Say in words why it is entered late.")
    for name, text, most in (("taken_by", late.taken_by, 120), ("late_words", late.words, 300)):
        if len(text) > most or not is_printable(text):
            said[name].append(f"Write at most {most} letters, in one line.")
    if late.received_at is not None and late.condition not in Condition.values:
        said["condition"].append(f"Choose the condition in which the specimen came: {', '.join(Condition.values)}.")
    if late.received_at is not None and late.condition == Condition.OTHER and not late.condition_words.strip():
        said["condition"].append("Say in which condition it came, at its reception: leave the time of receipt empty here.")


def _times(late: LateDetails, collected_at: datetime, said: Said) -> None:
    now = clock.now()
    if late.requested_at > now:
        said["requested_at"].append("The time of the request lies in the future.")
    if late.received_at is not None and late.received_at > now:
        said["received_at"].append("The time of reception lies in the future.")
    if late.received_at is not None and late.received_at < collected_at:
        said["received_at"].append("The specimen would have come before it was collected. Look at both times.")


def _downtime(late: LateDetails, laboratory_id: UUID, said: Said) -> None:
    found, now = Downtime.objects.filter(**_named(late.downtime, laboratory_id)).first(), clock.now()
    if found is None:
        said["downtime"].append(_unknown(late.downtime))
    elif found.entries_until is not None and now > found.entries_until:
        said["downtime"].append(f"Late entries of {found.code} were taken until {found.entries_until:%Y-%m-%d %H:%M} UTC.")
    elif not found.began_at <= late.requested_at <= (found.ended_at or now):
        said["requested_at"].append(f"The request does not lie within downtime {found.code}. Look at the time, or at the downtime.")


def _named(said: str, laboratory_id: UUID) -> dict[str, object]:
    """By its code, or by its id: codes of two laboratories may be the same."""
    mine: dict[str, object] = {"organisation_id": laboratory_id, "state": "open"}
    try:
        return {**mine, "pk": UUID(said.strip())}
    except ValueError:
        number = said.strip().upper().removeprefix("D")
        known = number.isascii() and number.isdecimal() and len(number) < 9
        return {**mine, "number": int(number) if known else 0}


def _unknown(code: str) -> str:
    named = f"This laboratory has no open downtime “{code.strip()[:40]}”." if code.strip() else "Name the downtime it belongs to."
    return f"{named} A director or an operator of the laboratory opens one, afterwards too."


def _person(said: str, order: Order) -> User | None:
    """The colleague with this address or this name, if there is exactly one."""
    words = " ".join(said.split())
    here = Membership.objects.filter(
        organisation__in=[order.ordering_organisation_id, order.performing_laboratory_id], ended_at=None
    ).values("user")
    field = "email__iexact" if "@" in words else "name__iexact"
    found = list(User.objects.filter(pk__in=here, responsible=None, **{field: words})[:2])
    return found[0] if len(found) == 1 else None
