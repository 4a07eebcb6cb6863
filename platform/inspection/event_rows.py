"""Events as rows of a table, streamed: page after page by their number, so that a year of them needs no large memory."""

import json
from collections.abc import Iterator, Sequence
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import QuerySet

from audit.models import Event
from inspection.event_words import in_full, line
from inspection.tables import Cells, Table
from orders.models import Order

NUMBER = "event"  # the last column: its number
COLUMNS = ("time (UTC)", "time", "who", "from", "what", "of", "order", "reason", "facts", "as kept", "object id", NUMBER)
PRINTED = (1, 2, 3, 4, 5, 6, 7, 8)  # of the columns: what a person reads; the rest is for programs
PAGE = 2_000


def table(events: QuerySet[Event], zone: ZoneInfo, *, name: str = "events", caption: str = "Events, the oldest first") -> Table:
    """These events, the oldest first."""
    return Table(name, caption, COLUMNS, rows(events, zone), "No event.", printed=PRINTED)


def rows(events: QuerySet[Event], zone: ZoneInfo) -> Iterator[Cells]:
    """One row an event, as far as they were there when the first was read."""
    newest = events.order_by("-id").values_list("id", flat=True).first() or 0
    last = 0
    while page := list(events.filter(id__gt=last, id__lte=newest).order_by("id")[:PAGE]):
        accessions = _accessions(page)
        for event in page:
            yield _cells(event, zone, accessions.get(order_of(event), ""))
        last = page[-1].id


def order_of(event: Event) -> str:
    """The id of the order that an event speaks of; blank where it says none."""
    if event.object_type == "orders.order":
        return event.object_id
    said = event.facts.get("order", "")
    return said if isinstance(said, str) else ""


def _cells(event: Event, zone: ZoneInfo, accession: str) -> Cells:
    told = line(event, zone)
    said = {
        "action": event.action,
        "object": event.object_type,
        "reason": event.reason,
        "origin": event.origin,
        "facts": event.facts,
    }
    kept = json.dumps(said, ensure_ascii=False, sort_keys=True)
    return (
        event.at.isoformat(), in_full(event.at, zone), event.actor_name, told.origin, told.what, told.about, accession, told.reason,
        told.facts, kept, event.object_id, str(event.id),
    )  # fmt: skip


def _accessions(events: Sequence[Event]) -> dict[str, str]:
    """Order id → accession number, of the orders that these events speak of."""
    ids = {UUID(said) for event in events if _is_id(said := order_of(event))}
    return {str(pk): accession for pk, accession in Order.objects.filter(pk__in=ids).values_list("pk", "accession")}


def _is_id(said: str) -> bool:
    try:
        UUID(said)
    except ValueError:
        return False
    return True
