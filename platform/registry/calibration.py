"""Calibration tables: the only source from which a probability is ever shown; no category is shown from any.

A table belongs to one model version, protocol and precision, because any of them moves the scores. None is shipped. A test version
names the table that counts for it, or none; `curve` is the one door for whatever shows a probability.
"""

import csv
import hashlib
import io
import json
import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.roles import Verb
from foundation import clock
from foundation.actor import Actor
from registry import registering
from registry.errors import RegistrationRefused
from registry.models import CalibrationTable, ModelVersion, TestVersion

COLUMNS = ("delta", "probability")
LARGEST = 100_000  # rows


def register(
    *, model_version: ModelVersion, protocol: Mapping[str, Any], precision: str, text: str, source: str, actor: Actor
) -> CalibrationTable:
    """Keep a table of Δ and probability, as CSV with that heading, Δ ascending and the probability never turning back.

    Raises `NotPermitted`, and `RegistrationRefused` for what is no such table, and when another one is registered for the same
    three.
    """
    registering.require(actor, Verb.REGISTER)
    rows = _rows(text)
    if not source.strip():
        raise RegistrationRefused("a calibration table needs its source: the variants and labels it was made from")
    digest = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    with transaction.atomic():
        made, new = CalibrationTable.objects.get_or_create(
            model_version=model_version,
            protocol_sha256=protocol_digest(protocol),
            precision=precision,
            defaults={"protocol": dict(protocol), "rows": rows, "sha256": digest, "source": source, "created_at": clock.now()},
        )
        if new:
            facts = {"model": str(model_version), "precision": precision, "protocol": dict(protocol), "sha256": digest}
            registering.note(actor, "calibration.registered", made, facts)
    if not new and made.sha256 != digest:
        raise RegistrationRefused(f"another calibration table is registered for {model_version}, this protocol and {precision}")
    return made


@dataclass(frozen=True)
class Curve:
    """A table as it is read: linear between its rows, and nothing outside of them."""

    deltas: tuple[float, ...]
    chances: tuple[float, ...]
    sha256: str
    source: str

    def at(self, delta: float | None) -> float | None:
        """The probability of a Δ in nats; None where there is no Δ, or the table does not reach so far."""
        if delta is None or not self.deltas[0] <= delta <= self.deltas[-1]:
            return None
        right = max(1, bisect_left(self.deltas, delta))
        (x0, x1), (y0, y1) = self.deltas[right - 1 : right + 1], self.chances[right - 1 : right + 1]
        share = (delta - x0) / (x1 - x0)
        return min(max(y0 + (y1 - y0) * share, min(y0, y1)), max(y0, y1))


def curve(test: TestVersion, *, model_version_id: UUID, protocol: Mapping[str, Any], precision: str) -> Curve | None:
    """What a test version reads probabilities from; None where it names no table, or the scores were made otherwise."""
    if test.calibration_id is None:
        return None
    table, found = _read(test.calibration_id)
    return found if fits(table, model_version_id=model_version_id, protocol=protocol, precision=precision) else None


@lru_cache(maxsize=8)
def _read(pk: UUID) -> tuple[CalibrationTable, Curve]:
    """Once a process: a row never changes."""
    table = CalibrationTable.objects.get(pk=pk)
    deltas, chances = zip(*table.rows, strict=True)
    return table, Curve(deltas, chances, table.sha256, table.source)


def fits(table: CalibrationTable, *, model_version_id: UUID, protocol: Mapping[str, Any], precision: str) -> bool:
    """Whether scores of this model version, protocol and precision are those that a table was made for."""
    made_for = table.model_version_id, table.protocol_sha256, table.precision
    return made_for == (model_version_id, protocol_digest(protocol), precision)


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
