"""Rows as tab-separated lines under their names, or as one JSON array."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any


def write(rows: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    """All rows have the keys of the first. Absent values and empty lists are empty cells, lists are joined with commas."""
    if as_json:
        sys.stdout.write(json.dumps(rows, indent=1) + "\n")
        return
    lines = ["\t".join(rows[0]), *("\t".join(map(_cell, row.values())) for row in rows)]
    sys.stdout.write("\n".join(lines) + "\n")


def _cell(value: object) -> str:
    if isinstance(value, tuple | list):
        return ",".join(map(_cell, value))
    return "" if value is None else str(value)
