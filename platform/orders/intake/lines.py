"""Lines of a text, numbered from 1, whatever its line ends; what was unusual about them is noted, not mended silently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from foundation.file_reasons import FileReason
from orders.intake.errors import FileRefused
from orders.intake.verdicts import Tally

FRAGMENT = 64 << 10
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Fragment(NamedTuple):
    """A line, or a piece of a very long one."""

    line: int
    offset: int  # of its first byte in the text
    data: bytes  # without the line end
    ends: bool  # the line ends here


class Lines:
    """One pass over a text, by whole lines or by fragments of bounded size."""

    def __init__(self, chunks: Iterable[bytes], tally: Tally, *, line: int = 1, offset: int = 0) -> None:
        self._chunks = chunks
        self._tally = tally
        self.line, self.offset = line, offset  # where the text behind the last fragment begins

    def fragments(self) -> Iterator[Fragment]:
        """Pieces of at most a chunk: for sequences, whose single line may hold a whole chromosome."""
        for fragment in self._raw():
            self._tally.lines = fragment.line
            if fragment.ends and fragment.data.endswith(b"\r"):
                self._tally.note(FileReason.FILE_CRLF, fragment.line)
                fragment = fragment._replace(data=fragment.data[:-1])
            yield fragment

    def whole(self) -> Iterator[Fragment]:
        """Complete lines; raises FileRefused for one above the limit."""
        limit = self._tally.limits.max_line
        parts: list[bytes] = []
        start = size = 0
        for fragment in self.fragments():
            size += len(fragment.data)
            if size > limit:
                raise FileRefused(FileReason.FILE_LINE_TOO_LONG, at_line=fragment.line, limit=f"{limit:,}")
            if not parts:
                start = fragment.offset
            if not fragment.ends:
                parts.append(fragment.data)
                continue
            yield Fragment(fragment.line, start, b"".join((*parts, fragment.data)), ends=True) if parts else fragment
            parts.clear()
            size = 0

    def _raw(self) -> Iterator[Fragment]:
        line, offset, rest, within = self.line, self.offset, b"", False
        for chunk in self._chunks:
            if offset == 0 and line == 1 and not rest and chunk.startswith(BYTE_ORDER_MARK):
                self._tally.note(FileReason.FILE_BOM, 1)
                offset, chunk = len(BYTE_ORDER_MARK), chunk[len(BYTE_ORDER_MARK) :]
            *whole, rest = (rest + chunk).split(b"\n")
            for data in whole:
                fragment = Fragment(line, offset, data, ends=True)
                offset += len(data) + 1
                line += 1
                within = False
                self.line, self.offset = line, offset
                yield fragment
            if len(rest) > FRAGMENT:
                # A carriage return stays back: the line end it belongs to may open the next chunk.
                data = rest[:-1] if rest.endswith(b"\r") else rest
                yield Fragment(line, offset, data, ends=False)
                offset += len(data)
                rest, within = rest[len(data) :], True
        if rest or within:
            self._tally.note(FileReason.FILE_NO_FINAL_NEWLINE, line)
            self.line, self.offset = line + 1, offset + len(rest)
            yield Fragment(line, offset, rest, ends=True)
