"""A result that a person finds critical: the provider is called at once, and reads back what he was told (42 CFR 493.1291(g)).

No score makes a result critical by itself: a reviewer or director says so, with his reason. Every attempt to call stays; the one
that was read back closes it. Neither a preliminary nor a final report waits for it.
"""

from datetime import datetime
from typing import cast
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotFound, Refused
from foundation.printable import is_printable
from orders import hints
from orders.downtimes import lines
from orders.errors import InvalidOrder
from orders.models import Order
from orders.remarks import LONG, remark
from reports import release
from reports.delivery_models import Critical, CriticalCall, Outcome
from reports.machines import CRITICAL

MISSING = "Say why it is critical: who calls says it, and it is kept."


class NothingScored(Refused):
    """There is no result of this order yet that could be critical."""


class ReadBack(Refused):
    """This result was called and read back already."""


class MarkedAlready(Refused):
    """This is marked as critical already, and its call is open."""


def mark(*, order: Order, actor: Actor, reason: str, ordinal: int | None = None) -> Critical:
    """Say that a result, or the report as a whole, is critical: its call is open. `ordinal` counts from 0.

    Raises `NotPermitted`, `InvalidOrder`, `NothingScored` or `MarkedAlready`.
    """
    require(actor, Verb.MARK_CRITICAL, order.performing_laboratory_id)
    said = remark(reason, field="reason", most=LONG, missing=MISSING)
    with transaction.atomic():
        locked = Order.objects.select_for_update(of=("self",)).get(pk=order.pk)
        _require_result(locked, ordinal)
        if Critical.objects.filter(order=locked, ordinal=ordinal, state="open").exists():
            raise MarkedAlready(code="critical.marked")
        made = Critical.objects.create(
            organisation_id=locked.performing_laboratory_id, order=locked, ordinal=ordinal, reason=said,
            marked_by_id=cast(UUID, actor.id), marked_at=clock.now(),
        )  # fmt: skip
        _note(made, "critical.marked", actor, {"order": str(locked.pk), "about": made.what})
    return made


def call(
    *, critical: Critical, actor: Actor, whom: str, number: str, outcome: str, read_back: str, called_at: datetime | None,
    words: str = "",
) -> CriticalCall:  # fmt: skip
    """Keep an attempt to call; read back, it closes the task. Raises `NotPermitted`, `InvalidOrder` or `ReadBack`."""
    require(actor, Verb.CALL_CRITICAL, critical.organisation_id)
    said = {"whom": " ".join(whom.split()), "number": " ".join(number.split())}
    repeated = remark(read_back, field="read_back", most=LONG) if outcome == Outcome.READ_BACK else ""
    beside = remark(words, field="words")
    with transaction.atomic():
        down = lines.around(critical.organisation_id, called_at)
        Order.objects.select_for_update(of=("self",)).get(pk=critical.order_id)
        locked = Critical.objects.select_for_update(of=("self",)).select_related("order").get(pk=critical.pk)
        if locked.state != "open":
            raise ReadBack(code="critical.read-back")
        if wrong := _objections(locked, outcome=outcome, read_back=repeated, called_at=called_at, **said):
            raise InvalidOrder(wrong)
        made = CriticalCall.objects.create(
            organisation_id=locked.organisation_id, critical=locked, outcome=outcome, read_back=repeated, words=beside,
            called_at=cast(datetime, called_at), by_id=cast(UUID, actor.id), at=clock.now(), **said,
        )  # fmt: skip
        facts = {"order": str(locked.order_id), "outcome": outcome, "called": made.called_at.isoformat(), **said}
        if outcome == Outcome.READ_BACK:
            audit.transition(CRITICAL, locked, to="read_back", actor=actor, closed_at=made.at)
        _note(locked, "critical.called", actor, facts)
        came = f"Called with the critical result: {made.whom}, {made.get_outcome_display()}"
        lines.told(down, locked.order, key=f"call {made.pk}", words=came)
    return made


def of_order(order: Order) -> list[Critical]:
    """The critical results of an order with their calls, the open ones first."""
    rows = Critical.objects.filter(order=order).select_related("marked_by").prefetch_related("calls__by")
    return sorted(rows.order_by("-marked_at"), key=lambda one: one.state != "open")


def one_of(order: Order, pk: UUID) -> Critical:
    """One of them. Raises `NotFound`."""
    found = Critical.objects.filter(order=order, pk=pk).first()
    if found is None:
        raise NotFound
    return found


def open_ones(actor: Actor) -> list[Critical]:
    """Every open call of the laboratories in which this actor calls, the longest open first."""
    rows: QuerySet[Critical] = Critical.objects.for_actor(actor, Verb.CALL_CRITICAL).filter(state="open")
    related = rows.select_related("order__patient", "order__provider", "order__ordering_organisation", "marked_by")
    return list(related.prefetch_related("calls", "order__patient__identifiers").order_by("marked_at"))


def contacts(order: Order) -> list[tuple[str, str]]:
    """Whom to call: the provider as his record says now, as the order said where that is another number, and the ward."""
    by, found = order.provider, []
    if by is not None:
        found.append((by.name, by.contact))
    if order.provider_contact and (by is None or by.contact != order.provider_contact):
        found.append((f"{order.provider_name}, as the order said", order.provider_contact))
    if not found and order.ordering_site.phone:
        found.append((order.ordering_organisation.name, order.ordering_site.phone))
    return found


def _require_result(order: Order, ordinal: int | None) -> None:
    run = release.newest_run(order)
    if run is None or run.items_done == 0:
        raise NothingScored(code="critical.nothing-scored")
    if ordinal is not None and not run.results.filter(item__ordinal=ordinal).exists():
        raise InvalidOrder({"result": [f"There is no result {ordinal + 1} of this order."]})


def _objections(
    critical: Critical, *, whom: str, number: str, outcome: str, read_back: str, called_at: datetime | None
) -> dict[str, list[str]]:  # fmt: skip
    wrong: dict[str, list[str]] = {}
    if not whom or len(whom) > 120 or not is_printable(whom):
        wrong["whom"] = ["Say whom you called: name and role, at most 120 letters."]
    if not number or len(number) > 60 or not is_printable(number):
        wrong["number"] = ["Say at which number, at most 60 letters."]
    if outcome not in Outcome.values:
        wrong["outcome"] = ["Choose what came of the call."]
    if outcome == Outcome.READ_BACK and not read_back:
        wrong["read_back"] = ["Write what was read back to you."]
    if called_at is None:
        wrong["called_at"] = ["Say when you called."]
    elif called_at > clock.now():
        wrong["called_at"] = ["This time lies in the future."]
    elif called_at < critical.marked_at.replace(second=0, microsecond=0):  # a form says the minute
        wrong["called_at"] = ["This time lies before it was marked as critical."]
    return wrong


def _note(critical: Critical, action: str, actor: Actor, facts: dict[str, str]) -> None:
    order = critical.order
    audit.record(actor=actor, action=action, obj=critical, organisation_id=critical.organisation_id, facts=facts)
    order.version += 1
    order.save(update_fields=["version"])
    hints.changed(order)
