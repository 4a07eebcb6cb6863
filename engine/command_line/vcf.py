"""As much of a VCF as scoring needs: header, records and their alternates, and what is wrong with lines that are no records.

Read as text: a library that stops at the first broken line could not say what became of the others, and what is not understood here
is written again as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from engine.errors import InvalidRequest

FORMAT = "##fileformat=VCF"
FIXED = ("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO")
INFO = FIXED.index("INFO")
_MISSING = ("", ".")
_DIGITS = re.compile(r"[0-9]{1,12}")  # longer numbers are no places on a contig
_LAST = (1 << 31) - 1  # the largest position that VCF has a number for


@dataclass(frozen=True, slots=True)
class Header:
    """The lines before the first record. `columns` is the number that every record has."""

    meta: tuple[str, ...]  # beginning with ##
    names: str  # the line that begins with #CHROM

    @property
    def columns(self) -> int:
        """As many as the line of names has."""
        return self.names.count("\t") + 1


@dataclass(frozen=True, slots=True)
class Record:
    """One line, as it was written."""

    line: int
    text: str
    contig: str
    position: int  # 1-based; 0 before the first base of a contig
    ref: str
    alts: tuple[str, ...]  # none where the column says so
    info: str  # blank where the column says so

    def end(self, index: int) -> int | None:
        """END, or what the length of the event makes of it for one ALT; None where neither is a number."""
        items = dict(item.partition("=")[::2] for item in self.info.split(";"))
        lengths = items.get("SVLEN", "").split(",")
        length = _number(lengths[min(index, len(lengths) - 1)].removeprefix("-"))
        end = _number(items.get("END", ""))
        return end if end is not None or length is None else self.position + length

    def with_info(self, info: str) -> str:
        """The same line with another INFO column."""
        columns = self.text.split("\t", INFO + 1)
        return "\t".join([*columns[:INFO], info, *columns[INFO + 1 :]])


@dataclass(frozen=True, slots=True)
class Broken:
    """A line that is no record, so that no VCF may hold it."""

    line: int
    reason: str


def read(lines: Iterable[str]) -> tuple[Header, Iterator[Record | Broken]]:
    """The header, read at once, and the lines after it, read when they are asked for. InvalidRequest for what is no VCF."""
    numbered = ((number, line.rstrip("\r\n")) for number, line in enumerate(lines, 1))
    header = _header(numbered)
    return header, (_record(number, text, header.columns) for number, text in numbered if text)


def _header(lines: Iterator[tuple[int, str]]) -> Header:
    """A file that begins with the names of the columns is taken for VCF 4.2."""
    meta: list[str] = []
    for number, text in lines:
        if number == 1 and not text.startswith((FORMAT, FIXED[0] + "\t")):
            raise InvalidRequest(f"line 1: a VCF begins with {FORMAT}")
        if text.startswith("##"):
            meta.append(text)
        elif text.split("\t")[: len(FIXED)] == list(FIXED):
            return Header(tuple(meta or [f"{FORMAT}v4.2"]), text)
        elif text:
            raise InvalidRequest(f"line {number}: before the first record stands the line {' '.join(FIXED)}, with tabs")
    raise InvalidRequest("the VCF has no line with the names of its columns" if meta else "the VCF is empty")


def _record(line: int, text: str, columns: int) -> Record | Broken:
    found = text.split("\t", INFO + 1)
    if text.startswith("#"):
        return Broken(line, "a line of a header stands among the records")
    if (count := text.count("\t") + 1) != columns:
        return Broken(line, f"it has {count} columns between tabs, and the header names {columns}")
    if "\0" in text:
        return Broken(line, "it holds a zero byte")
    contig, digits, _, ref, alts, _, _, info = found[: INFO + 1]
    position = _number(digits)
    if position is None or position > _LAST:
        return Broken(line, f"POS {digits[:20] or '(empty)'} is not a position")
    empty = [name.removeprefix("#") for name, value in zip(FIXED, found, strict=False) if not value]
    if empty or "" in alts.split(","):
        return Broken(line, f"{', '.join(empty) or 'an ALT'} is empty")
    return Record(
        line, text, contig, position, ref, () if alts in _MISSING else tuple(alts.split(",")), "" if info in _MISSING else info
    )


def _number(digits: str) -> int | None:
    return int(digits) if _DIGITS.fullmatch(digits) else None
