"""A first reading of a VCF: the names that its records use, so that the header, which is written first, can declare them all."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from engine.command_line.info_fields import PREFIX
from engine.command_line.progress_line import duration, left
from engine.command_line.vcf import FILTER, Broken, Header, Record, formats, keys
from engine.errors import InvalidRequest

Kind = Literal["Flag", "Integer", "Float", "String"]

_MOST = 1 << 18  # names, before the header that declares them is no longer one that anybody reads
_DECLARED = re.compile(r"##(INFO|FILTER|FORMAT|contig)=<(?:[^<>]*?,)??ID=([^,>]+)")
_WHOLE = re.compile(r"[+-]?[0-9]{1,9}")  # what surely fits 32 bits
_REAL = re.compile(r"[+-]?([0-9]{1,7}(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_KINDS: tuple[Kind, ...] = ("Flag", "Integer", "Float", "String")  # each can say what those before it can


@dataclass(slots=True)
class Values:
    """What the values of a key are that the header does not declare."""

    kind: Kind = "Flag"
    single: bool = True  # never more than one at a time

    def take(self, value: str) -> None:
        """One more; blank where a record has the key alone."""
        pieces = value.split(",") if value else []
        self.single = self.single and len(pieces) <= 1
        for piece in pieces:
            self.kind = max(self.kind, _kind(piece), key=_KINDS.index)


@dataclass(slots=True)
class Used:
    """In the order of first use; contigs whether they are declared or not, of the rest what the header lacks."""

    contigs: dict[str, None] = field(default_factory=dict)
    filters: dict[str, None] = field(default_factory=dict)
    formats: dict[str, None] = field(default_factory=dict)
    info: dict[str, Values] = field(default_factory=dict)

    @property
    def names(self) -> int:
        """How many there are in all."""
        return len(self.contigs) + len(self.filters) + len(self.formats) + len(self.info)


def declared(header: Header) -> dict[str, set[str]]:
    """The names that a header declares, by the kind of line."""
    found: dict[str, set[str]] = {kind: set() for kind in ("INFO", "FILTER", "FORMAT", "contig")}
    for line in header.meta:
        if said := _DECLARED.match(line):
            found[said[1]].add(said[2])
    return found


def read(header: Header, records: Iterable[Record | Broken]) -> Used:
    """Read them all. InvalidRequest where there are more names than a header can hold."""
    known, used = declared(header), Used()
    for record in records:
        if isinstance(record, Record):
            _note(record, known, used)
            if used.names > _MOST:
                raise InvalidRequest(f"line {record.line}: the records name more than {_MOST:,} contigs, filters and keys")
    return used


def progress(ran: float, share: float | None) -> str:
    """How far the first reading is; `share` of the file, where its size is known."""
    part = "" if share is None else f", {share:.0%} of the file"
    return f"reading the names of contigs and keys{part}, after {duration(ran)}{left(ran, min(share or 0.0, 1.0))}"


def _note(record: Record, known: dict[str, set[str]], used: Used) -> None:
    used.contigs.setdefault(record.contig)
    for name in record.text.split("\t", FILTER + 1)[FILTER].split(";"):
        if name not in ("", ".", "PASS") and name not in known["FILTER"]:
            used.filters.setdefault(name)
    if any(key not in known["INFO"] for key in keys(record.info)):
        for item in record.info.split(";"):
            key, _, value = item.partition("=")
            if key and key not in known["INFO"] and not key.startswith(PREFIX):
                used.info.setdefault(key, Values()).take(value)
    for key in formats(record.text):
        if key not in ("", ".") and key not in known["FORMAT"]:
            used.formats.setdefault(key)


def _kind(piece: str) -> Kind:
    if piece == "." or _WHOLE.fullmatch(piece):
        return "Integer"
    return "Float" if _REAL.fullmatch(piece) else "String"
