"""The bases behind accepted verdicts, read again from the file in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from orders.intake.errors import FileChanged
from orders.intake.reading import Place, Source
from orders.intake.verdicts import Limits, Verdict

_BLANKS = b" \t\r\n"
_RNA = bytes.maketrans(b"Uu", b"Tt")


class SequenceReader:
    """Reads the sequences of one checked FASTA or FASTQ, front to back."""

    def __init__(self, path: Path, *, limits: Limits, start: Place | None = None) -> None:
        self._chunks = Source(path, limits=limits, start=start).chunks()
        self._start, self._text = start.text if start else 0, b""  # the part of the text at hand, and where it begins

    def read(self, offset: int, length: int) -> str:
        """The bases of a verdict, upper case, U as T; offsets must ascend. Raises FileChanged where the file is another now."""
        while self._start + len(self._text) <= offset:
            self._start, self._text = self._start + len(self._text), self._more()
        begin = offset - self._start
        end = begin + length
        bases = b""
        while len(bases) < length:
            while len(self._text) < end:
                self._text += self._more()
            bases = self._text[begin:end].translate(_RNA, _BLANKS)
            end += length - len(bases)  # as many as line ends and blanks took
        return bases.upper().decode("ascii")

    def _more(self) -> bytes:
        chunk = next(self._chunks, b"")
        if not chunk:
            raise FileChanged
        return chunk


def read_sequences(path: Path, verdicts: Iterable[Verdict], *, limits: Limits) -> Iterator[tuple[Verdict, str]]:
    """Each verdict with its bases; verdicts in the order of the file, as the check gave them."""
    reader = SequenceReader(path, limits=limits)
    for verdict in verdicts:
        yield verdict, reader.read(verdict.sequence_offset, verdict.sequence_length)
