"""Chain committed events: each gets a link that holds its digest and the hash of the link before.

Ids are given when a row is written, not when it is committed: an event with a smaller id may appear after one with a larger. So
an event is sealed when the transaction that wrote it stands below the snapshot's xmin: then nothing older can still appear. No
transaction that writes events waits for this one, or holds anything of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection, transaction

from audit import canonical
from foundation import clock

BATCH = 5_000  # events in a transaction of the sealer
WINDOW = 20_000  # ids that are looked through at once for events that were left out
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_XMIN, _XMAX = (f"(SELECT pg_snapshot_{side}(pg_current_snapshot())::text::bigint)" for side in ("xmin", "xmax"))
# Of another life of the database, restored from a dump, is what seems to be of the future.
_HEAD = f"""
    SELECT l.seq, l.hash, CASE WHEN e.xact < {_XMAX} THEN e.xact ELSE 0 END
    FROM audit_link l LEFT JOIN audit_event e ON e.id = l.event_id ORDER BY l.seq DESC LIMIT 1
"""  # noqa: S608 -- of this file
_UNSEALED = f"""
    SELECT e.id, e.organisation_id::text, {canonical.text_of_event(canonical.RECIPE)}, e.xact
    FROM audit_event e WHERE NOT EXISTS (SELECT FROM audit_link l WHERE l.event_id = e.id) AND
"""  # noqa: S608 -- columns of our own
_NEXT = _UNSEALED + " e.xact >= %s AND e.xact < %s ORDER BY e.xact FETCH FIRST %s ROWS WITH TIES"  # a transaction whole
_LEFT_OUT = f"""
    {_UNSEALED} e.id > %s AND e.id <= %s AND (e.xact IS NULL OR e.xact < {_XMIN} OR e.xact >= {_XMAX})
    ORDER BY e.xact NULLS FIRST, e.id
"""
_COPY = "COPY audit_link (seq, event_id, organisation_id, recipe, sealed_at, digest, hash) FROM STDIN"

Row = tuple[int, str, str, int | None]


@dataclass(frozen=True)
class Head:
    """The end of the chain: the number of the last link, which is how many there are, and its hash."""

    seq: int = 0
    hash: bytes = canonical.NOTHING


@dataclass
class Sealer:
    """Where sealing stands. Made anew after every lost connection; whoever makes one holds the sealer's lock."""

    head: Head = field(default_factory=Head)
    frontier: int = 0  # events of transactions below this one have been looked at …
    looked_through: int = 0  # … but for those that were left out, looked for up to this id …
    last: int = 0  # … of this one

    @classmethod
    def take_up(cls) -> "Sealer":
        """Begin where the chain ends."""
        with connection.cursor() as cursor:
            cursor.execute(_HEAD)
            seq, last, frontier = cursor.fetchone() or (0, canonical.NOTHING, 0)
            cursor.execute("SELECT coalesce(max(id), 0) FROM audit_event")
            (newest,) = cursor.fetchone()
        return cls(Head(seq, bytes(last)), frontier, 0, newest)

    @property
    def swept(self) -> bool:
        """Whether every event from before the start has been looked at."""
        return self.looked_through >= self.last

    def round(self) -> int:
        """Seal what can be sealed, `BATCH` at most; how many events."""
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SELECT {_XMIN}")
            (xmin,) = cursor.fetchone()
            cursor.execute(_NEXT, [self.frontier, xmin, BATCH])
            rows: list[Row] = sorted(cursor.fetchall(), key=lambda row: (row[3], row[0]))
            frontier, through = int(rows[-1][3] or 0) if len(rows) >= BATCH else xmin, self.looked_through
            if not rows and not self.swept:
                through = min(self.last, self.looked_through + WINDOW)
                cursor.execute(_LEFT_OUT, [self.looked_through, through])
                rows = cursor.fetchall()
            head = _chain(cursor, self.head, rows)
        self.head, self.frontier, self.looked_through = head, frontier, through
        return len(rows)


def _chain(cursor: Any, head: Head, rows: Sequence[Row]) -> Head:
    """Write a link for each row, behind `head`; the new head."""
    if not rows:
        return head
    now = clock.now()
    sealed, seq, before = (now - _EPOCH) // timedelta(microseconds=1), head.seq, head.hash
    with cursor.copy(_COPY) as copy:
        for event, organisation, text, _ in rows:
            seq += 1
            digest = canonical.digest_of_event(text)
            before = canonical.hash_of_link(seq, event, organisation, canonical.RECIPE, sealed, digest, before)
            copy.write_row((seq, event, organisation, canonical.RECIPE, now, digest, before))
    return Head(seq, before)
