"""Check the chain: every event against its link, every link against the one before, the chain against every anchor, anchors among
themselves. In constant memory, whatever the length.

What is promised: a change to an event that was anchored is found as long as the anchors, or a copy of them, and the key are out of
the reach of whoever changed it. What was sealed after the last anchor, and what is not sealed yet, is counted, with its age.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import UUID

from audit import anchors, canonical, keys
from audit.anchors import Anchor
from audit.findings import Finding, finding

WINDOW = 20_000  # links that are read at once
KEPT = 20  # findings that are kept; all are counted
STALE = timedelta(seconds=60)  # older than this, what is unsealed or unanchored needs somebody
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_MARK = "SELECT anchor, swept FROM audit_sealing"
_HEAD = "SELECT coalesce(max(seq), 0), count(*) FROM audit_link"
_SINCE = "SELECT coalesce(min(seq) - 1, %s) FROM audit_link WHERE sealed_at >= %s"
_HASH = "SELECT hash FROM audit_link WHERE seq = %s"
_WAITING = """
    SELECT count(*), min(e.at) FROM audit_event e
    WHERE NOT EXISTS (SELECT FROM audit_link l WHERE l.event_id = e.id) AND (%(of)s::uuid IS NULL OR e.organisation_id = %(of)s)
"""
# The sealer takes transactions whole and in order: what one up to the last sealed one wrote has a link, or was put in later.
_INSERTED = """
    WITH last AS (
        SELECT e.xact FROM audit_link l JOIN audit_event e ON e.id = l.event_id
        WHERE l.seq = %s AND e.xact < pg_snapshot_xmax(pg_current_snapshot())::text::bigint
    )
    SELECT count(*), min(e.id), min(e.at)::text FROM audit_event e, last
    WHERE coalesce(e.xact, 0) <= last.xact AND NOT EXISTS (SELECT FROM audit_link l WHERE l.event_id = e.id)
"""
_UNANCHORED = "SELECT min(sealed_at) FROM audit_link WHERE seq > %s"
_LINKS = f"""
    COPY (
        SELECT l.seq, l.event_id, l.organisation_id::text, l.recipe, {canonical.microseconds("l.sealed_at")}, l.digest, l.hash,
            {canonical.microseconds("e.at")}, {canonical.text_by_recipe()}
        FROM audit_link l LEFT JOIN audit_event e ON e.id = l.event_id AND (%s::uuid IS NULL OR l.organisation_id = %s)
        WHERE l.seq > %s AND l.seq <= %s ORDER BY l.seq LIMIT %s
    ) TO STDOUT (FORMAT BINARY)
"""  # noqa: S608 -- columns of our own
_TYPES = ["int8", "int8", "text", "int2", "int8", "bytea", "bytea", "int8", "text"]


@dataclass(frozen=True)
class Asked:
    """What is checked: all events or those of an organisation, from the beginning or a moment on; and what anchors must hold."""

    organisation: UUID | None = None
    since: datetime | None = None
    mark: str = ""  # the digest of the newest anchor at an earlier good check


@dataclass
class Outcome:
    """What a check saw."""

    links: int = 0
    events: int = 0
    first: int = 1  # link
    unsealed: int = 0
    oldest_unsealed: datetime | None = None
    unanchored: int = 0
    oldest_unanchored: datetime | None = None
    anchors: int = 0
    anchored_seq: int = 0
    anchored_at: str = ""
    mark: str = ""  # digest of the newest anchor
    late: int = 0  # events that were sealed more than a minute after their time
    latest: timedelta = timedelta(0)
    found: int = 0
    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0
    swept: bool = False
    at: datetime = _EPOCH

    @property
    def verdict(self) -> str:
        """`broken`: something is not as it was; `incomplete`: not all that should be sealed and anchored by now is; else `good`."""
        ages = [self.at - oldest for oldest in (self.oldest_unsealed, self.oldest_unanchored) if oldest is not None]
        return "broken" if self.found else "incomplete" if any(age > STALE for age in ages) else "good"


def verify(cursor: Any, folder: Path, asked: Asked, *, now: datetime, told: Callable[[int, int], None] | None = None) -> Outcome:
    """One check, through a cursor of Django or of psycopg. `told` hears from time to time how many links of how many are done.

    Raises what the database or the folder raise.
    """
    begun = monotonic()
    check = _Check(cursor, folder, asked, Outcome(at=now), told or (lambda done, whole: None))
    check.run()
    check.out.seconds = monotonic() - begun
    return check.out


@dataclass
class _Check:
    cursor: Any
    folder: Path
    asked: Asked
    out: Outcome
    told: Callable[[int, int], None]
    head: int = 0
    before: bytes = canonical.NOTHING

    def run(self) -> None:
        """First what must be there, then the chain: what is written meanwhile cannot be missing."""
        self.cursor.execute(_MARK)
        mark, self.out.swept = self.cursor.fetchone() or ("", False)
        upto = anchors.sizes(self.folder)
        self.cursor.execute(_HEAD)
        self.head, whole = self.cursor.fetchone()
        self._begin()
        self.walk = _Anchors(self, upto, {one for one in (mark, self.asked.mark) if one})
        self._links(whole)
        self._ends()
        self._waiting()

    def found(self, one: Finding) -> None:
        self.out.found += 1
        if len(self.out.findings) < KEPT:
            self.out.findings.append(one)

    def _begin(self) -> None:
        if self.asked.since is not None:
            self.cursor.execute(_SINCE, [self.head, self.asked.since])
            self.out.first = self.cursor.fetchone()[0] + 1
        if self.out.first > 1:
            self.cursor.execute(_HASH, [self.out.first - 1])
            row = self.cursor.fetchone()
            self.before = bytes(row[0]) if row else canonical.NOTHING

    def _links(self, whole: int) -> None:
        expected, organisation = self.out.first, None if self.asked.organisation is None else str(self.asked.organisation)
        for row in self._rows(whole):
            seq, event, owner, recipe, sealed, digest, stored, at, text = row
            where, when = f"link {seq}, event {event}", _moment(sealed)
            if seq > expected:
                self.found(finding("link.missing", f"links {expected} to {seq - 1}", f"before {when}", number=seq - expected))
            elif seq < expected or canonical.hash_of_link(seq, event, owner, recipe, sealed, digest, self.before) != stored:
                self.found(finding("link.broken", where, when, seq=seq))
            if organisation is None or owner == organisation:
                self._event(event, recipe, digest, text, where, when)
                self._late(sealed, at)
            self.walk.meet(seq, stored, when)
            self.before, expected = stored, seq + 1
            self.out.links += 1

    def _rows(self, whole: int) -> Iterator[tuple[Any, ...]]:
        """Window by window, so that neither side holds more."""
        of, low, more = self.asked.organisation, self.out.first - 1, True
        while more:
            with self.cursor.copy(_LINKS, [of, of, low, self.head, WINDOW]) as copy:
                copy.set_types(_TYPES)
                more = False
                for row in copy.rows():
                    low, more = row[0], True
                    yield row
            self.told(min(self.out.links, whole), whole)

    def _event(self, event: int, recipe: int, digest: bytes, text: str | None, where: str, when: str) -> None:
        self.out.events += 1
        if recipe not in canonical.COLUMNS:
            self.found(finding("link.recipe", where, when, seq=where.split(",")[0].removeprefix("link ")))
        elif text is None:
            self.found(finding("event.missing", where, f"sealed {when}", event=event))
        elif canonical.digest_of_event(text) != digest:
            self.found(finding("event.changed", where, f"sealed {when}", event=event))

    def _late(self, sealed: int, at: int | None) -> None:
        if at is not None and (behind := timedelta(microseconds=sealed - at)) > STALE:
            self.out.late, self.out.latest = self.out.late + 1, max(self.out.latest, behind)

    def _ends(self) -> None:
        """What was anchored behind the end of the chain; what was not anchored."""
        self.walk.finish(self.head)
        self.out.unanchored = max(0, self.head - max(self.out.anchored_seq, 0))
        if self.out.unanchored:
            self.cursor.execute(_UNANCHORED, [self.out.anchored_seq])
            self.out.oldest_unanchored = self.cursor.fetchone()[0]

    def _waiting(self) -> None:
        of = None if self.asked.organisation is None else str(self.asked.organisation)
        self.cursor.execute(_WAITING, {"of": of})
        self.out.unsealed, self.out.oldest_unsealed = self.cursor.fetchone()
        if self.out.unsealed and self.out.swept:
            self.cursor.execute(_INSERTED, [self.head])
            number, event, at = self.cursor.fetchone()
            if number:
                self.found(finding("event.inserted", f"event {event}", f"it says {at}", number=number, event=event))


class _Anchors:
    """The anchors beside the chain: read in order while links go by."""

    def __init__(self, check: _Check, upto: dict[str, int], marks: set[str]) -> None:
        self.check, self.marks, self.upto = check, marks, upto
        self.known = keys.known()
        self.last: Anchor | None = None
        self.lines = self._read()
        self.next: Anchor | None = next(self.lines, None)
        if self.next is None and check.head:
            check.found(finding("anchor.none", str(check.folder)))

    def meet(self, seq: int, stored: bytes, when: str) -> None:
        """Compare a link with every anchor of its number; anchors of earlier links that did not come are told by the gap."""
        while self.next is not None and self.next.seq <= seq:
            if self.next.seq == seq and self.next.hash != stored.hex():
                said = finding("anchor.differs", f"link {seq}", f"sealed {when}, anchored {self.next.at}", seq=seq)
                self.check.found(said)
            self.next = next(self.lines, None)

    def finish(self, head: int) -> None:
        """Read to the end."""
        beyond: Anchor | None = None
        while self.next is not None:
            beyond = beyond or (self.next if self.next.seq > head else None)
            self.next = next(self.lines, None)
        if beyond is not None:
            far = self.check.out.anchored_seq
            where = f"links {head + 1} to {far}"
            self.check.found(finding("chain.short", where, f"anchored {beyond.at}", seq=head, number=max(far, beyond.seq) - head))
        if self.marks:
            self.check.found(finding("anchor.mark", f"digest {min(self.marks)[:16]}…"))

    def _read(self) -> Iterator[Anchor]:
        """Every anchor that can be read; what is wrong with the lines themselves is told on the way."""
        broken = False
        for file, number, line in anchors.lines(self.check.folder, self.upto):
            found, where = Anchor.read(line, file, number), f"{file}, line {number}"
            if self.last is not None and file != self.last.file:
                self._signature()
            if found is None:
                self.check.found(finding("anchor.line", where))
                broken = True
                continue
            self._order(found, where, broken)
            broken, self.last = False, found
            self._note(found)
            yield found
        self._signature()

    def _order(self, found: Anchor, where: str, broken: bool) -> None:
        if self.last is None:
            if (found.before, found.seq) != (anchors.FIRST, 0):
                self.check.found(finding("anchor.start", where, f"it says {found.at}"))
        elif not broken and found.before != self.last.digest:
            self._signature()  # it speaks for the lines before it no longer
            self.check.found(finding("anchor.order", where, f"it says {found.at}"))
        elif found.seq < self.last.seq:
            self.check.found(finding("anchor.back", where, f"it says {found.at}"))

    def _note(self, found: Anchor) -> None:
        out = self.check.out
        out.anchors += 1
        out.anchored_seq, out.anchored_at, out.mark = found.seq, found.at, found.digest
        self.marks.discard(found.digest)

    def _signature(self) -> None:
        """Of the last line of a file: it holds the digest of the line before, and so on."""
        if self.last is not None and not self.last.signed_by(self.known):
            where = f"{self.last.file}, line {self.last.number}"
            self.check.found(finding("anchor.signature", where, f"it says {self.last.at}"))


def _moment(microseconds: int) -> str:
    return (_EPOCH + timedelta(microseconds=microseconds)).strftime("%Y-%m-%d %H:%M:%S UTC")
