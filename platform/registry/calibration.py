"""Calibration tables: the only source from which a probability or a category may ever be shown.

A table belongs to one model version, protocol and precision, because any of them moves the scores. None is shipped, and no
page, report, CSV or JSON of this version reads one; `table_for` is the one door, for whatever will.
"""

import csv
import hashlib
import io
import json
import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from foundation import clock
from registry.errors import RegistrationRefused
from registry.models import CalibrationTable, ModelVersion, TestVersion

COLUMNS = ("delta", "probability")
LARGEST = 100_000  # rows


def register(
    *, model_version: ModelVersion, protocol: Mapping[str, Any], precision: str, text: str, source: str
) -> CalibrationTable:
    """Keep a table of Δ and probability, as CSV with that heading, Δ ascending and the probability never turning back.

    Raises `RegistrationRefused` for what is no such table, and when another one is registered for the same three.
    """
    rows = _rows(text)
    if not source.strip():
        raise RegistrationRefused("a calibration table needs its source: the variants and labels it was made from")
    digest = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    made, new = CalibrationTable.objects.get_or_create(
        model_version=model_version,
        protocol_sha256=protocol_digest(protocol),
        precision=precision,
        defaults={"protocol": dict(protocol), "rows": rows, "sha256": digest, "source": source, "created_at": clock.now()},
    )
    if not new and made.sha256 != digest:
        raise RegistrationRefused(f"another calibration table is registered for {model_version}, this protocol and {precision}")
    return made


def table_for(test: TestVersion) -> CalibrationTable | None:
    """The table of what a test version pins; None: no probability and no category may be shown."""
    deployment = test.deployment
    return CalibrationTable.objects.filter(
        model_version_id=deployment.model_version_id,
        protocol_sha256=protocol_digest(test.protocol),
        precision=deployment.precision,
    ).first()


def protocol_digest(protocol: Mapping[str, Any]) -> str:
    """SHA-256 of a protocol, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(dict(protocol), sort_keys=True).encode()).hexdigest()


def _rows(text: str) -> list[list[float]]:
    reader = csv.reader(io.StringIO(text))
    if tuple(next(reader, ())) != COLUMNS:
        raise RegistrationRefused(f"a calibration table begins with the line {','.join(COLUMNS)}")
    try:
        rows = [[float(cell) for cell in row] for row in reader if row]
    except ValueError as error:
        raise RegistrationRefused(f"a cell of the calibration table is no number: {error}") from error
    if not 2 <= len(rows) <= LARGEST or any(len(row) != 2 or not all(map(math.isfinite, row)) for row in rows):
        raise RegistrationRefused(f"a calibration table has 2 to {LARGEST:,} rows of two finite numbers")
    deltas, chances = zip(*rows, strict=True)
    if any(later <= earlier for earlier, later in pairwise(deltas)):
        raise RegistrationRefused("Δ must ascend from row to row")
    if not all(0 <= chance <= 1 for chance in chances) or list(chances) not in (sorted(chances), sorted(chances, reverse=True)):
        raise RegistrationRefused("probabilities lie between 0 and 1 and go one way")
    return rows
