"""What an audit report says, before it becomes page, CSV and PDF: facts in front, then tables whose rows are streamed."""

from collections.abc import Iterator
from dataclasses import dataclass, field

Cells = tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """One table. `rows` is read once; as many cells a row as there are columns."""

    name: str  # of its file, without ending
    caption: str
    columns: Cells
    rows: Iterator[Cells]
    empty: str = "Nothing."  # what is said where there is no row
    printed: tuple[int, ...] = ()  # columns on page and paper; none named: all of them


@dataclass(frozen=True)
class Told:
    """A whole report."""

    facts: list[tuple[str, str]]  # label, value
    tables: list[Table]
    about: int = 0  # rows to be expected, for its progress
    notes: list[str] = field(default_factory=list)
