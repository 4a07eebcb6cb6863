"""The report as PDF/A-2b and PDF/UA-1, compiled by typst from the same document as the page.

Every text reaches the compiler as data (one JSON string), never as source, and is set as plain text. Fonts are the
compiler's own, so the bytes depend on no machine; the timestamp is the draft's, so the same content gives the same bytes.
"""

import json
from dataclasses import asdict, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import typst
from django.conf import settings

from reports.content import parse
from reports.document import Document
from reports.models import ReportVersion
from reports.printable import printable


def render(version: ReportVersion, document: Document, *, issued_at: datetime | None = None) -> bytes:
    """The PDF's bytes, of a version that is not issued yet: what was issued is read from the store (`issuing.issued_pdf`)."""
    dated = issued_at or datetime.fromisoformat(parse(version.content).report.drafted_at)
    return compile_document(document, timestamp=int(dated.timestamp()))


def compile_document(document: Document, *, timestamp: int) -> bytes:
    """The PDF of a document as of `timestamp` (seconds since 1970)."""
    undrawn = replace(document, picture="", small_picture="", common_picture="", common_small_picture="")
    data = _printable(asdict(undrawn))
    data |= {"picture": document.picture, "common_picture": document.common_picture}  # they have looked after their own text
    compiled = typst.compile(
        _template(),
        format="pdf",
        ignore_system_fonts=True,
        sys_inputs={"document": json.dumps(data)},
        pdf_standards=["a-2b", "ua-1"],
        timestamp=timestamp,
    )
    return bytes(compiled)


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {key: _printable(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(part) for part in value]
    return value


@cache
def _template() -> bytes:
    return (Path(settings.BASE_DIR) / "templates" / "reports" / "report.typ").read_bytes()
