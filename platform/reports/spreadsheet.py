"""Results as CSV: every line, unrounded, and safe to open in a spreadsheet program."""

import csv
import hashlib
import io
from collections.abc import Sequence
from dataclasses import fields

from reports.content import ResultLine

COLUMNS = tuple(field.name for field in fields(ResultLine))
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write(lines: Sequence[ResultLine]) -> str:
    """RFC 4180 text with a heading; numbers as the shortest text that reads back to the same double."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows([_cell(getattr(line, column)) for column in COLUMNS] for line in lines)
    return out.getvalue()


def digest(lines: Sequence[ResultLine]) -> str:
    """SHA-256 of the file that `write` makes."""
    return hashlib.sha256(write(lines).encode()).hexdigest()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    return _disarmed(";".join(value) if isinstance(value, list) else str(value))


def _disarmed(text: str) -> str:
    """A spreadsheet runs a cell that begins like a formula; an apostrophe in front makes it text."""
    return f"'{text}" if text.startswith(_FORMULA) else text
