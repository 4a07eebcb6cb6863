"""The letters of a sequence: counted, never changed behind anybody's back."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from foundation.file_reasons import FileReason
from orders.intake.shown import character
from orders.intake.verdicts import Limits

_PLAIN = b"ACGTacgt"
_AMBIGUOUS = b"NRYSWKMBDHVnryswkmbdhv"
_RNA = b"Uu"
_BLANK = b" \t\r"
_LETTERS = _PLAIN + _AMBIGUOUS + _RNA
_ODD = re.compile(b"[^" + _LETTERS + b"]")
_NOT_LOWER = bytes(range(97)) + bytes(range(123, 256))


@dataclass
class Letters:
    """What one sequence is made of, counted piece by piece."""

    length: int = 0
    ambiguous: int = 0
    rna: int = 0
    lower: bool = False
    odd: tuple[int, str] | None = field(default=None)  # line and name of the first letter that is no base

    def add(self, data: bytes, line: int, *, ends: bool = True) -> None:
        """Blanks at the end of a line are no bases; blanks within are a fault."""
        if ends:
            data = data.rstrip(_BLANK)
        self.length += len(data)
        self.ambiguous += len(data) - len(data.translate(None, _AMBIGUOUS))
        self.rna += len(data) - len(data.translate(None, _RNA))
        self.lower = self.lower or bool(data.translate(None, _NOT_LOWER))
        if self.odd is None and (found := _ODD.search(data)):
            self.odd = (line, character(found[0][0]))

    def refused(self, name: str) -> tuple[FileReason, str] | None:
        if not name:
            return FileReason.SEQ_NO_NAME, FileReason.SEQ_NO_NAME.say()
        if self.odd is not None:
            line, odd = self.odd
            return FileReason.SEQ_ALPHABET, FileReason.SEQ_ALPHABET.say(name=name, character=odd, line=line)
        return (FileReason.SEQ_EMPTY, FileReason.SEQ_EMPTY.say(name=name)) if not self.length else None

    def parked(self, name: str, limits: Limits) -> tuple[FileReason, str] | None:
        if self.length > limits.max_sequence:
            words = FileReason.SEQ_TOO_LONG.say(name=name, length=self.length, limit=limits.max_sequence)
            return FileReason.SEQ_TOO_LONG, words
        if self.ambiguous == self.length:
            return FileReason.SEQ_UNKNOWN_ONLY, FileReason.SEQ_UNKNOWN_ONLY.say(name=name)
        return None

    def flags(self) -> list[tuple[FileReason, str]]:
        said = []
        if self.ambiguous:
            said.append((FileReason.SEQ_AMBIGUOUS, FileReason.SEQ_AMBIGUOUS.say(count=self.ambiguous, length=self.length)))
        if self.rna:
            said.append((FileReason.SEQ_RNA, FileReason.SEQ_RNA.say(count=self.rna)))
        if self.lower:
            said.append((FileReason.SEQ_LOWER_CASE, FileReason.SEQ_LOWER_CASE.say()))
        return said
