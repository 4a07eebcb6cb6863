"""An audit report as PDF/A-2b and PDF/UA-1, compiled by typst. Every text reaches the compiler as data, never as source."""

import json
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import typst
from django.conf import settings

from inspection.event_words import in_full
from inspection.kinds import BY_CODE
from inspection.models import AuditReport
from inspection.tables import Told
from reports.printable import printable

if TYPE_CHECKING:
    from inspection.making import Written


def pdf(report: AuditReport, told: Told, written: Sequence["Written"], made_at: datetime) -> bytes:
    """The PDF's bytes; of each table the rows that were kept for it, and under it how many there are and the digest of the file."""
    laboratory, zone = report.organisation, ZoneInfo(report.time_zone)
    document = {
        "title": f"Audit report: {BY_CODE[report.kind].title}",
        "subject": report.subject,
        "number": report.short,
        "laboratory": [laboratory.name, laboratory.address, laboratory.clia_number],
        "facts": [
            *told.facts, ("Asked for by", f"{report.asked_by.name}, {in_full(report.asked_at, zone)}"),
            ("Made", in_full(made_at, zone)), ("Times", f"in {report.time_zone}"),
        ],
        "notes": told.notes,
        "tables": [_table(one) for one in written],
    }  # fmt: skip
    compiled = typst.compile(
        _template(),
        format="pdf",
        ignore_system_fonts=True,
        sys_inputs={"document": json.dumps(_plain(document))},
        pdf_standards=["a-2b", "ua-1"],
        timestamp=int(made_at.timestamp()),
    )
    return bytes(compiled)


def _table(one: "Written") -> dict[str, Any]:
    more = one.rows - len(one.first)
    rest = f"The first {len(one.first):,} of {one.rows:,} rows. " if more else f"{one.rows:,} rows. "
    return {
        "caption": one.table.caption,
        "columns": [one.table.columns[column] for column in one.printed],
        "rows": [[cells[column] for column in one.printed] for cells in one.first],
        "empty": one.table.empty,
        "under": f"{rest}All of them, with every column, are in {one.file}, SHA-256 {one.sha256}.",
    }


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value]


@cache
def _template() -> bytes:
    return (Path(settings.BASE_DIR) / "templates" / "inspection" / "report.typ").read_bytes()
