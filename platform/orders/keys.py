"""Where a page of a list begins: after the key of the last row of the page before. However deep, the index is entered there."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet
from django.db.models.fields.tuple_lookups import TupleGreaterThan, TupleLessThan
from django.db.models.functions import Coalesce

from orders.filters import DUE_NOW
from orders.models import Order
from orders.order_indexes import NEVER, REPORT_DUE

_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


@dataclass(frozen=True)
class Key:
    """The columns a list is sorted by, all in one direction; the last is the id, so that no two orders have the same key."""

    columns: tuple[Any, ...]
    kinds: str  # of each: i number, t time, u id
    descending: bool = False


KEYS = {
    "urgency": Key((F("rank"), REPORT_DUE, F("placed_at"), F("pk")), "ittu"),
    "due": Key((Coalesce(DUE_NOW, NEVER), F("placed_at"), F("pk")), "ttu"),
    "placed": Key((F("placed_at"), F("pk")), "tu", descending=True),
    "oldest": Key((F("placed_at"), F("pk")), "tu"),
    "closed": Key((F("ended_at"), F("pk")), "tu", descending=True),
}


@dataclass(frozen=True)
class Cursor:
    """A place in a list: the key of a row, which way to go from there, and the number of the first row of that page."""

    key: tuple[object, ...]
    forward: bool
    number: int

    def __str__(self) -> str:
        told = [str((part - _EPOCH) // _MICROSECOND) if isinstance(part, datetime) else str(part) for part in self.key]
        return "~".join([*told, ">" if self.forward else "<", str(self.number)])


def cursor(text: str, sort: str) -> Cursor | None:
    """The place that an address names; None where it names none of a list sorted this way."""
    *parts, way, number = text.split("~") if text.count("~") > 1 else ["", "", ""]
    kinds = KEYS[sort].kinds
    if len(parts) != len(kinds) or way not in ("<", ">") or not number.isdecimal() or len(number) > 9:
        return None
    try:
        return Cursor(tuple(_read(kind, part) for kind, part in zip(kinds, parts, strict=True)), way == ">", max(1, int(number)))
    except (ValueError, OverflowError):
        return None


def _read(kind: str, part: str) -> object:
    match kind:
        case "u":
            return UUID(part)
        case "t":
            return _EPOCH + int(part[:20]) * _MICROSECOND
        case _:
            return int(part[:4])


def after(rows: QuerySet[Order], key: Key, at: Cursor | None) -> QuerySet[Order]:
    """The rows beyond a place."""
    if at is None:
        return rows
    beyond = TupleGreaterThan if at.forward != key.descending else TupleLessThan
    return rows.filter(beyond(key.columns, at.key))


def key_of(rows: QuerySet[Order], key: Key, *, forward: bool) -> Any:
    """The keys of the rows, nearest first."""
    nearest = [column.asc() if forward != key.descending else column.desc() for column in key.columns]
    named = {f"key_{number}": column for number, column in enumerate(key.columns)}
    return rows.order_by(*nearest).annotate(**named).values_list(*named)
