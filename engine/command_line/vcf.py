"""As much of a VCF as the command line needs: a record for every ALT, and in words what is wrong with those that are none.

Read as text: a library that stops at the first broken line could not say what became of the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from engine.errors import InvalidRequest

_COLUMNS = 5  # as far as ALT
_INFO = 7
_DIGITS = re.compile(r"[0-9]{1,12}")  # longer numbers are no places on a contig


@dataclass(frozen=True, slots=True)
class Record:
    """One ALT of one line, as it was written; `fault` says why it names no variant."""

    line: int
    contig: str
    position: int
    ref: str
    alt: str
    end: int | None = None
    fault: str = ""


def records(lines: Iterable[str]) -> Iterator[Record]:
    """Every ALT of every line. InvalidRequest for what is no VCF, or one without a record."""
    number, empty = 0, True
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n")
        if number == 1 and not text.startswith(("##fileformat=VCF", "#CHROM\t")):
            raise InvalidRequest("line 1: a VCF begins with ##fileformat=VCF")
        if text and not text.startswith("#"):
            empty = False
            yield from _alternates(number, text.split("\t"))
    if empty:
        raise InvalidRequest("the VCF holds no record" if number else "the VCF is empty")


def _alternates(line: int, columns: list[str]) -> Iterator[Record]:
    if len(columns) < _COLUMNS:
        yield Record(line, columns[0], 0, "", "", fault=f"line {line} has {len(columns)} columns; a record has at least {_COLUMNS}")
        return
    contig, digits, _, ref, alts = columns[:_COLUMNS]
    position = _number(digits) or 0
    fault = "" if position else f"line {line}: POS {digits or '(empty)'} is not a position"
    info = dict(item.partition("=")[::2] for item in columns[_INFO].split(";")) if len(columns) > _INFO else {}
    for index, alt in enumerate(alts.split(",")):
        said = fault or (f"line {line}: there is no ALT" if alt in ("", ".") else "")
        yield Record(line, contig, position, ref, alt, _end(position, index, info), said)


def _end(position: int, index: int, info: dict[str, str]) -> int | None:
    """END, or what the length of the event makes of it; None where neither is a number."""
    lengths = info.get("SVLEN", "").split(",")
    length = _number(lengths[min(index, len(lengths) - 1)].removeprefix("-"))
    end = _number(info.get("END", ""))
    return end if end is not None or length is None else position + length


def _number(digits: str) -> int | None:
    return int(digits) if _DIGITS.fullmatch(digits) else None
