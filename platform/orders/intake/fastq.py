"""FASTQ, strictly four lines per read. The first fault refuses the file: no later line can be trusted to be what it seems.

Bases that run over several lines, which the oldest files have, are refused with their own code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from foundation.file_reasons import FileReason
from orders.intake.bases import Letters
from orders.intake.errors import FileRefused
from orders.intake.lines import Fragment, Lines
from orders.intake.sequence_names import SequenceNames
from orders.intake.shown import character, shown, stored
from orders.intake.verdicts import BOUNDARY, Boundary, Outcome, Tally, Verdict

_NOT_A_QUALITY = re.compile(rb"[^\x21-\x7e]")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_BASES_ONLY = re.compile(rb"[A-Za-z]+\Z")


@dataclass
class _Read:
    title: Fragment
    bases: Fragment
    plus: Fragment
    quality: Fragment

    @property
    def name(self) -> bytes:
        return (self.title.data[1:].split() or [b""])[0]


def check_fastq(lines: Lines, tally: Tally, names: SequenceNames) -> Iterator[Verdict | Boundary]:
    """A verdict per read; after a faulty one the file is refused."""
    source = lines.whole()
    for title in source:
        if not title.data.strip():
            tally.note(FileReason.FILE_BLANK_LINES, title.line)
            continue
        tally.count(1, line=title.line)
        try:
            read = _read(title, source)
            letters = _letters(read)
        except FileRefused as fault:
            name, line = stored((title.data[1:].split() or [b""])[0]), fault.line or tally.lines
            yield Verdict(line=line, outcome=Outcome.REFUSED, code=fault.reason, reason=str(fault), name=name)
            raise
        yield _judged(read, letters, names.first_line(read.name, title.line), tally)
        yield BOUNDARY


def _read(title: Fragment, source: Iterator[Fragment]) -> _Read:
    """The four lines of a read, or the fault that shows they are none."""
    if not title.data.startswith(b"@"):
        raise FileRefused(FileReason.FASTQ_TITLE, at_line=title.line, line=title.line, start=character(title.data[0]))
    if control := _CONTROL.search(title.data):
        raise FileRefused(FileReason.FASTQ_TITLE_CHARACTER, at_line=title.line, character=character(control[0][0]))
    name = shown((title.data[1:].split() or [b""])[0])
    if not name:
        raise FileRefused(FileReason.SEQ_NO_NAME, at_line=title.line)
    bases = _next(source, name, title.line)
    plus = _next(source, name, bases.line)
    if not plus.data.startswith(b"+"):
        wrapped = _BASES_ONLY.match(plus.data) and _BASES_ONLY.match(bases.data)
        raise FileRefused(FileReason.FASTQ_WRAPPED if wrapped else FileReason.FASTQ_PLUS_MISSING, at_line=plus.line, name=name)
    if plus.data[1:].rstrip() not in (b"", title.data[1:].rstrip()):
        raise FileRefused(FileReason.FASTQ_PLUS_NAME, at_line=plus.line, name=name)
    return _Read(title, bases, plus, _next(source, name, plus.line))


def _next(source: Iterator[Fragment], name: str, line: int) -> Fragment:
    fragment = next(source, None)
    if fragment is None:
        raise FileRefused(FileReason.FASTQ_TRUNCATED, at_line=line, name=name)
    return fragment


def _letters(read: _Read) -> Letters:
    name = shown(read.name)
    letters = Letters()
    letters.add(read.bases.data, read.bases.line)
    if letters.odd is not None:
        line, odd = letters.odd
        raise FileRefused(FileReason.SEQ_ALPHABET, at_line=line, name=name, character=odd, line=line)
    quality = read.quality.data
    if found := _NOT_A_QUALITY.search(quality):
        odd = character(found[0][0])
        raise FileRefused(FileReason.FASTQ_QUALITY_CHARACTER, at_line=read.quality.line, name=name, character=odd)
    if len(quality) != letters.length:
        values = {"name": name, "bases": letters.length, "qualities": len(quality)}
        raise FileRefused(FileReason.FASTQ_QUALITY_LENGTH, at_line=read.quality.line, **values)
    return letters


def _judged(read: _Read, letters: Letters, first: int | None, tally: Tally) -> Verdict:
    name = shown(read.name)
    # A read trimmed to nothing is sound FASTQ; there is just nothing to score in it.
    empty = None if letters.length else (FileReason.SEQ_EMPTY, FileReason.SEQ_EMPTY.say(name=name))
    parked = empty or letters.parked(name, tally.limits)
    flags = [] if parked else letters.flags()
    if first is not None and not parked:
        flags.append((FileReason.SEQ_DUPLICATE_NAME, FileReason.SEQ_DUPLICATE_NAME.say(name=name, first=first)))
    return Verdict(
        line=read.title.line,
        outcome=Outcome.PARKED if parked else Outcome.ACCEPTED,
        code=parked[0] if parked else None,
        reason=parked[1] if parked else " ".join(words for _, words in flags),
        flags=tuple(flag for flag, _ in flags),
        name=stored(read.name),
        sequence_offset=read.bases.offset,
        sequence_length=letters.length,
    )
