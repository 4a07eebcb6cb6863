"""Results as CSV: every line, unrounded, and safe to open in a spreadsheet program."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from reports.content import Content, ResultLine
from reports.models import ReportKind

PROBABILITY = "probability"  # a column only where the test version has a calibration table, whose digest then stands in each row
OF_ROW = tuple(field.name for field in fields(ResultLine) if field.name != PROBABILITY)
OF_PROTOCOL = {"protocol": "kind", "window": "window", "grid": "grid", "strand": "strand"}  # column: its name in a protocol
WHOLE = {"kind": "whole-sequence", "strand": "forward"}  # how sequences are read, whatever the test does with variants
COLUMNS = ("accession", "report_state", *OF_PROTOCOL, *OF_ROW)
FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r")  # full-width signs compute, too


def state(*, complete: bool, in_error: bool = False, kind: str = ReportKind.UNSIGNED) -> str:
    """What the rows are worth, on each of them: a file loses its name, and a row its file. `kind` is of the report that stands."""
    if in_error:
        return "entered in error: wrong patient, not valid"
    if kind == ReportKind.UNSIGNED:
        return "unsigned" if complete else "incomplete, unsigned"
    said = ReportKind(kind).label.lower()
    return f"{said}, not for clinical use" if kind.startswith("study") else said


def write(
    lines: Sequence[ResultLine],
    *,
    accession: str,
    complete: bool,
    protocol: Mapping[str, Any],
    calibration: str = "",
    in_error: bool = False,
    kind: str = ReportKind.UNSIGNED,
) -> str:
    """RFC 4180 text with a heading; numbers as the shortest text that reads back to the same double."""
    given = [
        disarmed(accession),
        state(complete=complete, in_error=in_error, kind=kind),
        *(_cell(protocol.get(key)) for key in OF_PROTOCOL.values()),
    ]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    of_row, behind = (OF_ROW, []) if not calibration else ((*OF_ROW, PROBABILITY), [calibration])
    writer.writerow([*COLUMNS, *of_row[len(OF_ROW) :], *(["calibration_sha256"] if calibration else [])])
    writer.writerows([*given, *(_cell(getattr(line, column)) for column in of_row), *behind] for line in lines)
    return out.getvalue()


def of(said: Content) -> str:
    """The file that a report version names by its digest: of its content alone, whatever has become of the order since."""
    return write(
        said.results,
        accession=said.order.accession,
        complete=bool(said.order.scored_at),
        protocol=said.methods.protocol if said.input.kind == "vcf" else WHOLE,
        calibration=said.methods.calibration_sha256,
        kind=said.report.kind,
    )


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    return disarmed(";".join(value) if isinstance(value, list) else str(value))


def disarmed(text: str) -> str:
    """A spreadsheet runs a cell that begins like a formula; an apostrophe in front makes it text."""
    return f"'{text}" if text.startswith(FORMULA) else text
