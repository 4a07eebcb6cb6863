"""As much of a VCF as scoring needs: header, records and their alternates, and what is wrong with lines that are no records.

Read as text: a library that stops at the first broken line could not say what became of the others, and what is not understood here
is written again as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from engine.errors import InvalidRequest

FORMAT = "##fileformat=VCF"
FIXED = ("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO")
FILTER, INFO = FIXED.index("FILTER"), FIXED.index("INFO")
_MISSING = ("", ".")
_DIGITS = re.compile(r"[0-9]{1,12}")  # longer numbers are no places on a contig
_LAST = (1 << 31) - 1  # the largest position that VCF has a number for
_QUALITY = re.compile(r"\.|[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE)
_STRUCTURED = re.compile(r"##[^=<]+=<")
_CLOSED = re.compile(r'##[^=<]+=<(?:[^"<>]|"(?:[^"\\]|\\.)*")*>')  # outside quotes, no angle bracket within the two
UNNAMEABLE = re.compile(r'[,<>"]')  # in a name, no header line can declare it


@dataclass(frozen=True, slots=True)
class Header:
    """The lines before the first record. `columns` is the number that every record has."""

    meta: tuple[str, ...]  # beginning with ##
    names: str  # the line that begins with #CHROM
    broken: tuple[Broken, ...] = ()  # lines that were left out

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
    broken: list[Broken] = []
    for number, text in lines:
        if number == 1 and not text.startswith((FORMAT, FIXED[0] + "\t")):
            raise InvalidRequest(f"line 1: a VCF begins with {FORMAT}")
        if text.startswith("##"):
            wrong = _wrong_with(text)
            meta += [text] if wrong is None else []
            broken += [] if wrong is None else [Broken(number, wrong)]
        elif text.split("\t")[: len(FIXED)] == list(FIXED):
            _refuse_samples(number, text.split("\t")[len(FIXED) :])
            return Header(tuple(meta or [f"{FORMAT}v4.2"]), text, tuple(broken))
        elif text:
            raise InvalidRequest(f"line {number}: before the first record stands the line {' '.join(FIXED)}, with tabs")
    raise InvalidRequest("the VCF has no line with the names of its columns" if meta else "the VCF is empty")


def _wrong_with(meta: str) -> str | None:
    """Why other programs would not read this line of a header, or would read the lines behind it as a part of it."""
    if "=" not in meta:
        return "it is no line of a header, which has a name, = and a value behind ##"
    if _STRUCTURED.match(meta) and not _CLOSED.match(meta):
        return "its quotes or angle brackets do not close"
    return None


def _refuse_samples(number: int, columns: list[str]) -> None:
    """InvalidRequest where what stands behind the eight names is not FORMAT and samples, which other programs refuse."""
    if not columns:
        return
    samples = columns[1:]
    if columns[0] != "FORMAT" or not samples:
        raise InvalidRequest(f"line {number}: behind INFO stands nothing, or FORMAT and at least one sample")
    if "" in samples:
        raise InvalidRequest(f"line {number}: a sample has no name")
    if len(set(samples)) < len(samples):
        twice = next(name for name in samples if samples.count(name) > 1)
        raise InvalidRequest(f"line {number}: two samples are called {twice[:80]}")


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
    if len(found) > INFO + 1 and "\t\t" in f"\t{found[INFO + 1]}\t":
        return Broken(line, "FORMAT or a sample is empty")
    if not _QUALITY.fullmatch(found[5]):
        return Broken(line, f"QUAL {found[5][:20]} is no number")
    unnameable = _unnameable({"CHROM": [contig], "FILTER": found[FILTER].split(";"), "INFO": keys(info), "FORMAT": formats(text)})
    if unnameable is not None:
        return Broken(line, unnameable)
    return Record(
        line, text, contig, position, ref, () if alts in _MISSING else tuple(alts.split(",")), "" if info in _MISSING else info
    )


def keys(info: str) -> list[str]:
    """The keys of an INFO column, in order."""
    return [] if info in _MISSING else [item.partition("=")[0] for item in info.split(";") if item]


def formats(text: str) -> list[str]:
    """The keys of the FORMAT column of a line, none where it has no such column."""
    columns = text.split("\t", INFO + 2)
    return columns[INFO + 1].split(":") if len(columns) > INFO + 1 else []


def _unnameable(names: Mapping[str, Iterable[str]]) -> str | None:
    for column, found in names.items():
        for name in found:
            if UNNAMEABLE.search(name):
                return f"{column} {name[:40]} is no name: it holds a comma, a quote or an angle bracket"
    return None


def _number(digits: str) -> int | None:
    return int(digits) if _DIGITS.fullmatch(digits) else None
