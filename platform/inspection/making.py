"""Make an audit report: rows are streamed into CSV files, the first kept for page and paper, all of it put into one pack."""

import csv
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import structlog
from billiard.exceptions import SoftTimeLimitExceeded
from django.db import transaction

from foundation import clock
from foundation.errors import Stale
from inspection import claims, event_rows, paper, proof, sources
from inspection.event_words import in_full
from inspection.kinds import BY_CODE
from inspection.models import AuditReport
from inspection.tables import Cells, Table, Told
from reports.spreadsheet import disarmed
from storage import services as storage

log = structlog.get_logger(__name__)

SHOWN = 100  # rows of each table on the page
PRINTED = 2_000  # and on paper: what is more stands in the CSV, whose digest the paper names
LARGEST = 4 * 1024**3  # bytes of a pack
TELLS = 1.0  # seconds between two words on how far it is
PAPER, SUMS = "report.pdf", "SHA256SUMS"


@dataclass
class Written:
    """A table that lies in its file."""

    table: Table
    file: str
    rows: int = 0
    sha256: str = ""
    first: list[Cells] = field(default_factory=list)  # at most `PRINTED`
    events: list[int] = field(default_factory=list)  # their numbers, where rows are events

    @property
    def printed(self) -> tuple[int, ...]:
        """The columns that people read."""
        return self.table.printed or tuple(range(len(self.table.columns)))


class _Progress:
    """Rows so far, told once a second."""

    def __init__(self, report: AuditReport) -> None:
        self.report, self.rows, self.told_at = report, 0, monotonic()

    def row(self) -> None:
        self.rows += 1
        if monotonic() - self.told_at >= TELLS:
            claims.come_further(self.report, self.rows)
            self.told_at = monotonic()


def make(pk: UUID) -> bool:
    """Make the report of this number; whether it was made. Does nothing where somebody else does it or nobody wants it any more.

    A worker that dies on the way leaves nothing behind but its claim; the report is then made anew.
    """
    report = claims.take(pk)
    if report is None:
        return False
    try:
        _make(report)
    except SoftTimeLimitExceeded:
        with transaction.atomic():
            claims.end(report, to="failed", reason="audit.report-too-long")
        return False
    except (claims.Superseded, Stale):
        log.warning("audit_report.superseded", report=str(pk))
        return False
    return True


def _make(report: AuditReport) -> None:
    told = sources.told(report)
    AuditReport.objects.filter(pk=report.pk, claim=report.claim).update(rows_total=told.about)
    with tempfile.TemporaryDirectory(prefix="audit-report-") as name:
        folder, progress, made_at = Path(name), _Progress(report), clock.now()
        written = [_csv(table, folder, progress) for table in told.tables]
        files = [PAPER, *(one.file for one in written), *_proof(folder, written)]
        (folder / PAPER).write_bytes(paper.pdf(report, told, written, made_at))
        sums = "".join(f"{_digest(folder / one)}  {one}\n" for one in files)
        (folder / SUMS).write_text(sums, encoding="utf-8")
        packed = storage.write(chunks=_packed(folder, [*files, SUMS], made_at), limit=LARGEST)
    with transaction.atomic():
        pack = storage.record(written=packed, organisation_id=report.organisation_id, kind="audit-pack", name=f"{report.short}.zip")
        claims.end(
            report,
            to="made",
            pack=pack,
            rows_done=progress.rows,
            shown=_shown(told, written, made_at, report, proven=proof.CHAIN in files),
        )


def _proof(folder: Path, written: list[Written]) -> tuple[str, ...]:
    """The files that prove the events, where the report names any that anchors hold which are within reach."""
    events = sorted({event for one in written for event in one.events})
    if not events:
        return ()
    try:
        proven = proof.write(folder, events)
    except OSError as error:
        log.warning("audit_report.without_proof", error=type(error).__name__)
        return ()
    return proof.FILES if proven else ()


def _csv(table: Table, folder: Path, progress: _Progress) -> Written:
    """RFC 4180, UTF-8; cells that a spreadsheet would compute are made text."""
    found = Written(table, f"{table.name}.csv")
    with (folder / found.file).open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(table.columns)
        for cells in table.rows:
            writer.writerow([disarmed(cell) for cell in cells])
            found.rows += 1
            if table.columns[-1] == event_rows.NUMBER:
                found.events.append(int(cells[-1]))
            if found.rows <= PRINTED:
                found.first.append(cells)
            progress.row()
    found.sha256 = _digest(folder / found.file)
    return found


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        made = sha256()
        while block := file.read(1 << 20):
            made.update(block)
        return made.hexdigest()


def _packed(folder: Path, names: list[str], made_at: datetime) -> Iterator[bytes]:
    """The pack in blocks; it is written beside the files first, since a zip is finished at its end."""
    path = folder / ".pack"
    moment = made_at.timetuple()[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as pack:
        for name in names:
            entry = zipfile.ZipInfo(name, date_time=moment)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            with (folder / name).open("rb") as file, pack.open(entry, "w", force_zip64=True) as into:
                while block := file.read(1 << 20):
                    into.write(block)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            yield block


def _shown(told: Told, written: list[Written], made_at: datetime, report: AuditReport, *, proven: bool) -> dict[str, Any]:
    return {
        "title": BY_CODE[report.kind].title,
        "made": in_full(made_at, ZoneInfo(report.time_zone)),
        "facts": told.facts,
        "notes": told.notes,
        "tables": [
            {
                "caption": one.table.caption, "file": one.file, "sha256": one.sha256, "rows": one.rows, "empty": one.table.empty,
                "columns": [one.table.columns[column] for column in one.printed],
                "first": [[cells[column] for column in one.printed] for cells in one.first[:SHOWN]],
            }
            for one in written
        ],
        "proven": proven,
    }  # fmt: skip
