"""Orders of a period as columns of numbers, read by binary COPY: fifty thousand of them in a few hundredths of a second.

Every column has a fixed width (a missing moment is `infinity`), so the answer is one array of records as it stands.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from numpy.typing import NDArray

Floats = NDArray[np.float64]
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)  # from which Postgres counts microseconds
_HEAD = 19  # bytes: signature, flags, no extension
MOMENTS = ("placed", "accepted", "started", "scored", "ended", "result_due", "report_due", "stopped")
_COLUMNS = (("order", "V16"), ("test", "V16"), ("rank", ">i2"), ("state", ">i2"), ("calendar", ">i8"), ("zone", ">i4"))
_STATES = ("reported", "cancelled", "rejected")

_QUERY = """
    COPY (
        SELECT o.id, v.definition_id, o.rank, coalesce(array_position({states}, o.state::text), 0)::int2,
            coalesce(o.calendar_id, 0), hashtext(o.clock_zone),
            o.placed_at, coalesce(o.accepted_at, 'infinity'), coalesce(o.started_at, 'infinity'),
            coalesce(o.scored_at, 'infinity'), coalesce(o.ended_at, 'infinity'), coalesce(o.result_due, 'infinity'),
            coalesce(o.report_due, 'infinity'), coalesce(o.clock_stopped_at, 'infinity')
        FROM orders_order o JOIN registry_testversion v ON v.id = o.test_version_id
        WHERE o.performing_laboratory_id = {laboratory} AND o.placed_at >= {since} AND o.placed_at < {until}
    ) TO STDOUT (FORMAT BINARY)
"""
_HELD = """
    SELECT h.order_id, h.since, coalesce(h.until, %(now)s) FROM orders_hold h JOIN orders_order o ON o.id = h.order_id
    WHERE o.performing_laboratory_id = %(laboratory)s AND o.placed_at >= %(since)s AND o.placed_at < %(until)s
"""
_ZONES = """
    SELECT DISTINCT calendar_id, hashtext(clock_zone), clock_zone FROM orders_order
    WHERE performing_laboratory_id = %(laboratory)s AND placed_at >= %(since)s AND placed_at < %(until)s
        AND calendar_id IS NOT NULL
"""


@dataclass(frozen=True)
class Rows:
    """One entry an order; moments in seconds since 2000, NaN where it has not come."""

    test: NDArray[Any]  # 16 bytes of the definition's id
    rank: NDArray[np.int64]
    state: NDArray[np.int64]  # 0 open, else the number in `_STATES` from 1 on
    calendar: NDArray[np.int64]
    zone: NDArray[np.int64]
    moments: dict[str, Floats]
    holds: list[tuple[int, float, float]]  # number of the order, from, to
    zones: dict[tuple[int, int], str]  # (calendar, hash of the zone) → zone

    def __len__(self) -> int:
        return len(self.rank)


def seconds(moment: datetime) -> float:
    """A moment as the columns hold it."""
    return (moment - EPOCH) / timedelta(seconds=1)


def read(laboratory: UUID, since: datetime, until: datetime, now: datetime) -> Rows:
    """The orders that a laboratory got in a period, by when they were placed."""
    period: dict[str, Any] = {"laboratory": laboratory, "since": since, "until": until, "now": now}
    with connection.cursor() as cursor:
        found = _records(_copied(cursor, period))
        cursor.execute(_HELD, period)
        held = cursor.fetchall()
        cursor.execute(_ZONES, period)
        zones = {(calendar, hashed): zone for calendar, hashed, zone in cursor.fetchall()}
    numbers = {one: number for number, one in enumerate(found["order"].tolist())} if held else {}
    return Rows(
        test=found["test"],
        rank=found["rank"].astype(np.int64),
        state=found["state"].astype(np.int64),
        calendar=found["calendar"].astype(np.int64),
        zone=found["zone"].astype(np.int64),
        moments={name: _moments(found[name]) for name in MOMENTS},
        holds=[(numbers[order.bytes], seconds(begins), seconds(ends)) for order, begins, ends in held if order.bytes in numbers],
        zones=zones,
    )


def _copied(cursor: Any, period: dict[str, Any]) -> bytes:
    from psycopg import sql

    literals = {name: sql.Literal(value) for name, value in period.items() if name != "now"}
    query = sql.SQL(_QUERY).format(states=sql.Literal(list(_STATES)), **literals)
    with cursor.copy(query) as copy:
        return b"".join(copy)


def _records(copied: bytes) -> NDArray[Any]:
    """The records of a binary COPY whose columns all have a fixed width: a count, then each column behind its length."""
    columns = (*_COLUMNS, *((name, ">i8") for name in MOMENTS))
    fields: list[tuple[str, str]] = [("count", ">i2")]
    for name, kind in columns:
        fields += [(f"length of {name}", ">i4"), (name, kind)]
    layout = np.dtype(fields)
    return np.frombuffer(copied, layout, count=(len(copied) - _HEAD) // layout.itemsize, offset=_HEAD)


def _moments(column: NDArray[Any]) -> Floats:
    microseconds = column.astype(np.int64)
    return np.where(microseconds == np.iinfo(np.int64).max, np.nan, microseconds / 1e6)
