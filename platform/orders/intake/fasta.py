"""FASTA: one verdict per sequence. A sequence line may be as long as a chromosome, so it is read in fragments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from foundation.file_reasons import FileReason
from orders.intake.bases import Letters
from orders.intake.errors import FileRefused
from orders.intake.lines import FRAGMENT, Fragment, Lines
from orders.intake.sequence_names import SequenceNames
from orders.intake.shown import shown, stored
from orders.intake.vcf_header import note_encoding
from orders.intake.verdicts import BOUNDARY, Boundary, Outcome, Tally, Verdict


@dataclass
class _Sequence:
    line: int
    name: bytes
    first: int | None  # the line where this name was used before
    offset: int = 0
    letters: Letters = field(default_factory=Letters)


class Sequences:
    """The sequences of one FASTA; iterate `verdicts` once."""

    def __init__(self, tally: Tally, names: SequenceNames) -> None:
        self._tally = tally
        self._names = names
        self._current: _Sequence | None = None

    @property
    def state(self) -> list[Any] | None:
        """The sequence whose name line was read last and whose bases come next, for `resumed`."""
        current = self._current
        return [current.line, current.name.hex(), current.first] if current else None

    def resumed(self, state: Sequence[Any] | None) -> Self:
        """The same sequences, as they were left."""
        self._current = _Sequence(state[0], bytes.fromhex(state[1]), state[2]) if state else None
        return self

    def verdicts(self, lines: Lines) -> Iterator[Verdict | Boundary]:
        fresh = True  # the next fragment begins a line
        for fragment in lines.fragments():
            current = self._current
            if fresh and fragment.data.startswith(b">"):
                if current is not None:
                    yield _judged(current, self._tally)
                self._current = _opened(fragment, self._names, self._tally)
                yield BOUNDARY
            elif fresh and fragment.ends and not fragment.data.strip():
                self._tally.note(FileReason.FILE_BLANK_LINES, fragment.line)
            elif current is None:
                raise FileRefused(FileReason.FASTA_NO_NAME_LINE, at_line=fragment.line)
            else:
                current.offset = current.offset or fragment.offset
                current.letters.add(fragment.data, fragment.line, ends=fragment.ends)
            fresh = fragment.ends
        if self._current is not None:
            yield _judged(self._current, self._tally)


def _opened(fragment: Fragment, names: SequenceNames, tally: Tally) -> _Sequence:
    if not fragment.ends:
        raise FileRefused(FileReason.FILE_LINE_TOO_LONG, at_line=fragment.line, limit=f"{FRAGMENT:,}")
    if b"\r" in fragment.data.rstrip(b"\r"):  # what stands behind it are lines of bases and names, which nobody would score
        raise FileRefused(FileReason.FILE_OLD_LINE_ENDS, at_line=fragment.line)
    note_encoding(fragment.data, fragment.line, tally)
    name = (fragment.data[1:].split() or [b""])[0]
    return _Sequence(fragment.line, name, names.first_line(name, fragment.line) if name else None)


def _judged(sequence: _Sequence, tally: Tally) -> Verdict:
    tally.count(1, line=sequence.line)
    letters, name = sequence.letters, shown(sequence.name)
    found, outcome = letters.refused(name), Outcome.REFUSED
    if found is None:
        found, outcome = letters.parked(name, tally.limits), Outcome.PARKED
    if found is None and sequence.first is not None:
        found = FileReason.SEQ_DUPLICATE_NAME, FileReason.SEQ_DUPLICATE_NAME.say(name=name, first=sequence.first)
    flags = letters.flags() if found is None else []
    return Verdict(
        line=sequence.line,
        outcome=Outcome.ACCEPTED if found is None else outcome,
        code=found[0] if found else None,
        reason=found[1] if found else " ".join(words for _, words in flags),
        flags=tuple(flag for flag, _ in flags),
        name=stored(sequence.name),
        sequence_offset=sequence.offset,
        sequence_length=letters.length,
    )
