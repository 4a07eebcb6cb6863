"""Reads the table of a manifest: delimiter, encoding, header, and rows with the numbers a spreadsheet shows."""

import csv
import io
import re
from dataclasses import dataclass

from foundation.printable import is_printable, printable
from foundation.reasons import Reason
from orders.manifests.columns import BY_NAME, COLUMNS, REQUIRED
from orders.manifests.errors import ManifestRefused, Objection, objection

MOST_BYTES = 16 << 20
MOST_ROWS = 5_000
LONGEST_CELL = 2_000
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
_BLANKS = re.compile(r"[\s_\-]+")


@dataclass(frozen=True)
class Row:
    """One row as typed: its number in a spreadsheet (the header is row 1) and a text for every column."""

    number: int
    cells: dict[str, str]
    objections: tuple[Objection, ...] = ()


def read(data: bytes) -> list[Row]:
    """Every row that is not blank. Raises `ManifestRefused` where the table as a whole cannot be trusted."""
    text = _text(data)
    delimiter = _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[Row] = []
    names: list[str] = []
    try:
        for number, cells in enumerate(reader, start=1):
            if number == 1:
                names = _header(cells, DELIMITERS[delimiter])
            elif any(cell.strip() for cell in cells):
                rows.append(_row(number, names, cells))
            if len(rows) > MOST_ROWS:
                raise ManifestRefused(Reason.MANIFEST_TOO_MANY_ROWS, limit=f"{MOST_ROWS:,}")
    except csv.Error as error:
        raise ManifestRefused(Reason.MANIFEST_QUOTES, line=reader.line_num, detail=str(error)) from error
    if not rows:
        raise ManifestRefused(Reason.MANIFEST_NO_ROWS)
    return rows


def _text(data: bytes) -> str:
    if len(data) > MOST_BYTES:
        raise ManifestRefused(Reason.MANIFEST_TOO_LARGE, limit=f"{MOST_BYTES >> 20} MiB")
    if not data.strip():
        raise ManifestRefused(Reason.MANIFEST_NO_ROWS)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:64]:
        raise ManifestRefused(Reason.MANIFEST_ENCODING, detail="it is UTF-16, or no text at all")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ManifestRefused(Reason.MANIFEST_ENCODING, detail=f"line {line:,} holds a byte that is no UTF-8") from error


def _delimiter(text: str) -> str:
    first = re.sub(r'"[^"]*"', "", text.lstrip("\r\n").partition("\n")[0])
    found = max(DELIMITERS, key=first.count)
    if not first.count(found):
        raise ManifestRefused(Reason.MANIFEST_NO_COLUMNS)
    return found


def _header(cells: list[str], delimiter: str) -> list[str]:
    names = [_BLANKS.sub("_", cell.strip().casefold()) for cell in cells]
    while names and not names[-1]:  # a spreadsheet writes empty columns behind the last one
        names.pop()
    unknown = [cell.strip()[:40] or "(empty)" for cell, name in zip(cells, names, strict=False) if name not in BY_NAME]
    if unknown:  # a misspelt “priority” must not make every order routine
        known = ", ".join(column.name for column in COLUMNS)
        raise ManifestRefused(Reason.MANIFEST_UNKNOWN_COLUMN, columns=", ".join(unknown[:8]), delimiter=delimiter, known=known)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ManifestRefused(Reason.MANIFEST_COLUMN_TWICE, columns=", ".join(twice))
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        raise ManifestRefused(Reason.MANIFEST_COLUMN_MISSING, columns=", ".join(missing))
    return names


def _row(number: int, names: list[str], cells: list[str]) -> Row:
    said = []
    if len(cells) < len(names) or any(cell.strip() for cell in cells[len(names) :]):
        said.append(objection("", Reason.MANIFEST_CELLS, found=len(cells), expected=len(names)))
    values = dict(zip(names, (cell.strip() for cell in cells), strict=False))
    for name, value in values.items():
        if len(value) > LONGEST_CELL:
            said.append(objection(name, Reason.MANIFEST_CELL_TOO_LONG, limit=f"{LONGEST_CELL:,}"))
        if not is_printable(value):
            said.append(objection(name, Reason.MANIFEST_CONTROL_CHARACTER))
    # What cannot be kept in a column is shown as what it is.
    kept = {name: printable(value[:LONGEST_CELL], "\N{REPLACEMENT CHARACTER}") for name, value in values.items()}
    return Row(number, {column.name: kept.get(column.name, "") for column in COLUMNS}, tuple(said))
