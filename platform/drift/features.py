"""What is measured of a row, as SQL: one place, so that what was frozen and what is counted are the same."""

from typing import LiteralString

from drift.models import Feature

COLUMNS: dict[str, LiteralString] = {
    Feature.DELTA: "q.delta",
    Feature.BITS: "q.bits",
    Feature.BASES: "q.bases::float8",
    Feature.FLAGS: "q.flags::float8",
    Feature.FAILED: "q.failed::integer::float8",
}
CALLING = (Feature.DELTA, Feature.BITS)  # whose streams may call people; the others only explain


def chosen_by(column: LiteralString) -> str:
    """The value of the feature that this column names; null where the row has none."""
    whens = " ".join(f"WHEN '{name}' THEN {sql}" for name, sql in COLUMNS.items())
    return f"CASE {column} {whens} END"
