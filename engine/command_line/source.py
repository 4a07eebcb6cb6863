"""A file of text that is read once, line by line: plain, gzip or bgzip, or standard input; any size, and how far it has come."""

from __future__ import annotations

import contextlib
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from engine.command_line import bgzf
from engine.errors import InvalidRequest

STANDARD = Path("-")  # standard input, or output
GZIP = b"\x1f\x8b"
_LONGEST = 256 << 20  # bytes of a line; what has none shorter is no text, and would fill the memory
_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile)


class Source:
    """Told apart by its first bytes. Bytes that are no UTF-8 are kept as they are, for whoever writes them again."""

    def __init__(self, name: str, raw: BinaryIO, size: int | None) -> None:
        self.name, self.size = name, size  # bytes, None where nobody knows
        self._counted = _Counted(raw)
        buffered = io.BufferedReader(self._counted)
        compressed = buffered.peek(len(GZIP))[: len(GZIP)] == GZIP
        self._content = gzip.GzipFile(fileobj=buffered, mode="rb") if compressed else buffered

    @property
    def share(self) -> float | None:
        """How much of it has been read, between 0 and 1; None where its size is not known."""
        return self._counted.count / self.size if self.size else None

    def lines(self) -> Iterator[str]:
        """Lines with their ends. InvalidRequest for half a file, and for lines without an end."""
        number = 0
        try:
            while line := self._content.readline(_LONGEST):
                number += 1
                if len(line) == _LONGEST:
                    raise InvalidRequest(f"{self.name}: line {number} is longer than {_LONGEST >> 20} MiB")
                yield line.decode("utf-8", "surrogateescape")
        except _BROKEN as error:
            raise InvalidRequest(f"{self.name} is not whole, it ends after line {number}: {error}") from error


class _Counted(io.RawIOBase):
    """Counts the bytes that are read."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw, self.count = raw, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # bytes that may be written to, for which Python 3.11 has no type
        piece: bytes = self._raw.read1(len(buffer))  # type: ignore[attr-defined]  # every buffered reader has it
        buffer[: len(piece)] = piece
        self.count += len(piece)
        return len(piece)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Source]:
    """The file, or standard input for `-`. OSError where there is none, InvalidRequest for a bgzip file that was cut off."""
    if path == STANDARD:
        yield Source("standard input", sys.stdin.buffer, None)
        return
    with path.open("rb") as raw:
        if bgzf.is_bgzf(raw) and not bgzf.is_whole(raw):
            raise InvalidRequest(f"{path} is not whole: the mark at the end of a bgzip file is missing")
        yield Source(str(path), raw, path.stat().st_size or None)
