"""Orders of a period as columns of numbers: fifty thousand of them in a few hundredths of a second.

The database puts the records one behind the other into a single value, and copies it out in binary: as an answer it would come in
hexadecimal, twice as long. Every column has a fixed width (a missing moment is `infinity`), so that value is an array of records as
it stands, and nothing is done row by row in Python. All that is read of an order lies in the index of the period.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from numpy.typing import NDArray

Floats = NDArray[np.float64]
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)  # from which Postgres counts microseconds
MOMENTS = ("placed", "accepted", "started", "scored", "ended", "result_due", "report_due", "stopped")
_COLUMNS = (("order", "V16"), ("test", "V16"), ("rank", ">i2"), ("state", ">i2"), ("calendar", ">i8"), ("zone", ">i4"),
            ("late", ">i2"))  # fmt: skip
_BEFORE, _AFTER = 25, 2  # bytes around a single value: 19 of the file, 2 of its row, 4 of its length; the end of the file
_STATES = ("reported", "cancelled", "rejected")

_NAMES = "id, test_version_id, rank, state, calendar_id, clock_zone, started_at, scored_at, ended_at, result_due, report_due"
_ITS = ", ".join(f"o.{name}" for name in f"{_NAMES}, clock_stopped_at".split(", "))
# What was entered late belongs into the period in which it was asked for on paper, and counts from there.
_PERIOD = f"""(SELECT {_ITS}, o.placed_at, o.accepted_at, 0::int2 AS late FROM "orders_order" o
        WHERE o.performing_laboratory_id = %(laboratory)s AND o.placed_at >= %(since)s AND o.placed_at < %(until)s
        AND NOT EXISTS (SELECT FROM orders_lateentry l WHERE l.order_id = o.id)
    UNION ALL SELECT {_ITS}, l.requested_at, CASE WHEN o.accepted_at IS NOT NULL THEN l.requested_at END, 1::int2
        FROM orders_lateentry l JOIN "orders_order" o ON o.id = l.order_id
        WHERE l.organisation_id = %(laboratory)s AND l.requested_at >= %(since)s AND l.requested_at < %(until)s)
"""  # noqa: S608 -- our own words
_QUERY = f"""COPY (SELECT string_agg(record_send(ROW(
        o.id, v.definition_id, o.rank, coalesce(array_position(%(states)s, o.state::text), 0)::int2,
        coalesce(o.calendar_id, 0), hashtext(o.clock_zone), o.late,
        o.placed_at, coalesce(o.accepted_at, 'infinity'), coalesce(o.started_at, 'infinity'),
        coalesce(o.scored_at, 'infinity'), coalesce(o.ended_at, 'infinity'), coalesce(o.result_due, 'infinity'),
        coalesce(o.report_due, 'infinity'), coalesce(o.clock_stopped_at, 'infinity')
    )), ''::bytea)
    FROM {_PERIOD} o JOIN registry_testversion v ON v.id = o.test_version_id) TO STDOUT (FORMAT BINARY)
"""  # noqa: S608 -- our own words
# No hold begins before its order was placed: those of before the period are not looked at.
_HELD = f"""SELECT h.order_id, h.since, coalesce(h.until, %(now)s) FROM orders_hold h JOIN {_PERIOD} o ON o.id = h.order_id
    WHERE h.organisation_id = %(laboratory)s AND h.since >= %(since)s ORDER BY h.order_id, h.since
"""  # noqa: S608 -- our own words


@dataclass(frozen=True)
class Holds:
    """One entry a hold, in microseconds since 2000; those of one order do not overlap."""

    order: NDArray[np.int64]  # number of the order
    begins: Floats
    ends: Floats


@dataclass(frozen=True)
class Rows:
    """One entry an order; moments in microseconds since 2000, NaN where it has not come: whole numbers, so that sums are exact."""

    tests: list[UUID]  # definitions
    test: NDArray[np.int64]  # its number in `tests`
    rank: NDArray[np.int64]
    state: NDArray[np.int64]  # 0 open, else the number in `_STATES` from 1 on
    calendar: NDArray[np.int64]
    zone: NDArray[np.int64]
    late: NDArray[np.bool_]  # entered late
    moments: dict[str, Floats]
    holds: Holds
    zones: dict[tuple[int, int], str]  # (calendar, hash of the zone) → zone

    def __len__(self) -> int:
        return len(self.rank)


def microseconds(moment: datetime) -> float:
    """A moment as the columns hold it."""
    return (moment - EPOCH) / timedelta(microseconds=1)


def read(laboratory: UUID, since: datetime, until: datetime, now: datetime) -> Rows:
    """The orders that a laboratory got in a period, by when they were placed, or asked for on paper."""
    period: dict[str, Any] = {"laboratory": laboratory, "since": since, "until": until, "now": now, "states": list(_STATES)}
    with connection.cursor() as cursor:
        with cursor.copy(cursor.mogrify(_QUERY, period)) as copied:
            found = _records(b"".join(copied)[_BEFORE:-_AFTER])
        cursor.execute(_HELD, period)
        holds = _holds(found["order"], cursor.fetchall())
        zones = _zones(cursor, found)
    tests, test = _numbered(found["test"])
    return Rows(
        tests=tests,
        test=test,
        rank=found["rank"].astype(np.int64),
        state=found["state"].astype(np.int64),
        calendar=found["calendar"].astype(np.int64),
        zone=found["zone"].astype(np.int64),
        late=found["late"].astype(bool),
        moments={name: _moments(found[name]) for name in MOMENTS},
        holds=holds,
        zones=zones,
    )


def _records(sent: bytes) -> NDArray[Any]:
    """What `record_send` wrote of each row: a count, then each column behind its type and its length."""
    columns = (*_COLUMNS, *((name, ">i8") for name in MOMENTS))
    fields: list[tuple[str, str]] = [("count", ">i4")]
    for name, kind in columns:
        fields += [(f"type of {name}", ">u4"), (f"length of {name}", ">i4"), (name, kind)]
    return np.frombuffer(sent, np.dtype(fields))


def _numbered(column: NDArray[Any]) -> tuple[list[UUID], NDArray[np.int64]]:
    """The different ids of a column, and for each row the number of its own: they are few."""
    halves = np.ascontiguousarray(column).view(">u8").reshape(-1, 2)
    found: list[UUID] = []
    numbers = np.full(len(halves), -1, dtype=np.int64)
    while (left := np.flatnonzero(numbers < 0)).size:
        one = halves[left[0]]
        numbers[(halves == one).all(axis=1)] = len(found)
        found.append(UUID(bytes=one.tobytes()))
    return found, numbers


def _moments(column: NDArray[Any]) -> Floats:
    sent = column.astype(np.int64)
    return np.where(sent == np.iinfo(np.int64).max, np.nan, sent)


def _holds(orders: NDArray[Any], held: list[tuple[UUID, datetime, datetime]]) -> Holds:
    wanted = {order.bytes for order, _, _ in held}
    numbers = {one: number for number, one in enumerate(orders.tolist()) if one in wanted} if held else {}
    known = ((numbers[pk.bytes], microseconds(begins), microseconds(ends)) for pk, begins, ends in held if pk.bytes in numbers)
    columns = list(zip(*apart(known), strict=True)) or [(), (), ()]
    return Holds(np.array(columns[0], dtype=np.int64), np.array(columns[1], dtype=float), np.array(columns[2], dtype=float))


def apart(held: Iterable[tuple[int, float, float]]) -> Iterator[tuple[int, float, float]]:
    """Holds (order, from, to), those of one order together and by their beginning, without what an earlier one covers already."""
    before, covered = -1, 0.0
    for order, begins, ends in held:
        begins = max(begins, covered) if order == before else begins
        covered = max(ends, covered) if order == before else ends
        before = order
        if begins < ends:
            yield order, begins, ends


def _zones(cursor: Any, found: NDArray[Any]) -> dict[tuple[int, int], str]:
    """The names of the zones: for each calendar and zone, one of the orders says it."""
    said = {found["order"][number].item(): pair for pair, number in _one_of_each(found)}
    if not said:
        return {}
    cursor.execute("SELECT id, clock_zone FROM orders_order WHERE id = ANY(%s)", [[UUID(bytes=order) for order in said]])
    return {said[order.bytes]: zone for order, zone in cursor.fetchall()}


def _one_of_each(found: NDArray[Any]) -> Iterator[tuple[tuple[int, int], int]]:
    """Calendar and hash of the zone, with the number of an order that has both."""
    for calendar in np.unique(found["calendar"]):
        counted = np.flatnonzero((found["calendar"] == calendar) & (calendar != 0))
        for zone, first in zip(*np.unique(found["zone"][counted], return_index=True), strict=True):
            yield (int(calendar), int(zone)), int(counted[first])
