"""Commands whose answer is a table: rows as tab-separated lines under their names, or as one JSON array."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from engine.command_line import running, status

Row = dict[str, Any]


def command(read: Callable[..., Any], rows: Callable[..., Iterable[Row]]) -> Callable[[argparse.Namespace], int]:
    """What is asked is read before the model is loaded: bad input is told at once. `rows(engine, asked, options)` answers it."""

    def run(options: argparse.Namespace) -> int:
        asked = read(options)
        write(list(rows(running.started(options), asked, options)), as_json=options.json)
        return status.DONE

    return run


def write(rows: Sequence[Row], *, as_json: bool) -> None:
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
