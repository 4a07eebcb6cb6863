"""The filtered worklist as CSV: no score, no result, times with their zone; a line at a time, however many orders there are."""

import csv
import io
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

from asgiref.sync import sync_to_async
from django.db import transaction

from accounts.models import Organisation, User
from accounts.roles import Verb
from audit import services as audit
from dashboard.context import zone_of
from dashboard.stages import WORDS
from dashboard.wording import flag
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotPermitted
from orders import delays, needs, worklist
from orders.asked_filters import Asked
from orders.models import Order
from reports.spreadsheet import disarmed

BATCH = 1_000  # orders in memory at once
_COLUMNS: dict[str, Callable[[Order], str | int | datetime | None]] = {
    "accession": lambda order: order.accession,
    "priority": lambda order: order.priority,
    "stage": lambda order: WORDS[order.state],
    "record_number": lambda order: order.stated_mrn,
    "family_name": lambda order: order.patient.family_name,
    "given_name": lambda order: order.patient.given_name,
    "birth_date": lambda order: order.patient.birth_date.isoformat(),
    "test": lambda order: order.test_version.definition.name,
    "items": lambda order: order.items_total,
    "ordered_by": lambda order: order.ordering_organisation.name,
    "assignee": lambda order: order.assignee.name if order.assignee else "",
    "placed": lambda order: order.placed_at,
    "results_due": lambda order: order.result_due,
    "report_due": lambda order: order.report_due,
    "scored": lambda order: order.scored_at,
    "closed": lambda order: order.ended_at,
    "late": lambda order: "yes" if _late(order) else "no",
    "on_hold": lambda order: flag(order.hold_reason) if order.hold_reason else "",
    "needs_attention": lambda order: " ".join(flag(code) for code in needs.codes(order)),
    "asked_on_paper": lambda order: getattr(getattr(order, "late_entry", None), "requested_at", None),  # of one entered late
}


def filename(user: User) -> str:
    """With the day at this site."""
    return f"worklist-{clock.now().astimezone(zone_of(user)):%Y-%m-%d}.csv"


def begin(actor: Actor, asked: Asked) -> None:
    """Write down who exports which list, for each organisation. Raises `NotPermitted`. A search may be a name, and is not kept."""
    organisations = actor.organisations(Verb.EXPORT) & actor.organisations(Verb.VIEW_ORDER)
    if not organisations:
        raise NotPermitted("Your role does not allow this (export).", code="access.not-permitted")
    facts = {**asked.said, "q": "a search"} if "q" in asked.said else dict(asked.said)
    with transaction.atomic():
        for organisation in Organisation.objects.filter(pk__in=organisations).order_by("pk"):
            audit.record(actor=actor, action="worklist.exported", obj=organisation, organisation_id=organisation.pk, facts=facts)


def lines(actor: Actor, asked: Asked, zone: ZoneInfo) -> Iterator[str]:
    """RFC 4180 text: a heading, then the orders by the time of placing, batch by batch."""
    yield _text([list(_COLUMNS)])
    for orders in worklist.exported(actor, asked.filters, batch=BATCH):
        yield _text([[_cell(column(order), zone) for column in _COLUMNS.values()] for order in orders])


async def streamed(text: Iterator[str]) -> AsyncIterator[str]:
    """The same for an answer that is sent while it is read: the database is never asked on the thread of the event loop."""
    while (part := await sync_to_async(_next)(text)) is not None:
        yield part


def _next(text: Iterator[str]) -> str | None:
    return next(text, None)


def _late(order: Order) -> bool:
    if order.ended_at is None:
        return delays.is_late(order)
    return order.report_due is not None and order.report_due < order.ended_at


def _cell(value: str | int | datetime | None, zone: ZoneInfo) -> str:
    if isinstance(value, datetime):
        return value.astimezone(zone).isoformat(timespec="seconds")
    return "" if value is None else disarmed(str(value))


def _text(rows: list[list[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    return out.getvalue()
