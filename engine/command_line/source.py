"""A file of text, read line by line: plain, gzip or bgzip, or standard input; any size, and how far it has come."""

from __future__ import annotations

import contextlib
import gzip
import io
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO

from engine.command_line import bgzf
from engine.errors import InvalidRequest

STANDARD = Path("-")  # standard input, or output
GZIP = b"\x1f\x8b"
_STANDARD_NAME = "standard input"
_PIECE = 1 << 20
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
        yield Source(_STANDARD_NAME, sys.stdin.buffer, None)
        return
    with path.open("rb") as raw:
        yield _whole(str(path), raw)


@contextlib.contextmanager
def opened_twice(path: Path) -> Iterator[Callable[[], AbstractContextManager[Source]]]:
    """`opened`, as often as it is asked for, each time from the beginning and one after the other.

    Standard input and pipes give their content once: it is kept in a temporary file. OSError where that has no room.
    """
    if path.is_file():
        yield lambda: opened(path)
        return
    with contextlib.ExitStack() as stack:
        given = sys.stdin.buffer if path == STANDARD else stack.enter_context(path.open("rb"))
        name = _STANDARD_NAME if path == STANDARD else str(path)
        kept = stack.enter_context(tempfile.TemporaryFile(prefix="helicase-"))
        _keep(name, given, kept)
        yield lambda: _again(name, kept)


@contextlib.contextmanager
def _again(name: str, kept: BinaryIO) -> Iterator[Source]:
    kept.seek(0)
    yield _whole(name, kept)


def _whole(name: str, raw: BinaryIO) -> Source:
    """Of a file that can be read from any place and stands at its beginning."""
    if bgzf.is_bgzf(raw) and not bgzf.is_whole(raw):
        raise InvalidRequest(f"{name} is not whole: the mark at the end of a bgzip file is missing")
    size = None
    if raw.seekable():
        size = raw.seek(0, io.SEEK_END) or None
        raw.seek(0)
    return Source(name, raw, size)


def _keep(name: str, given: BinaryIO, kept: BinaryIO) -> None:
    try:
        shutil.copyfileobj(given, kept, _PIECE)
        kept.flush()
    except OSError as error:
        said = f"{error.strerror}, where {name} is kept: it is read twice"
        raise OSError(error.errno, said, tempfile.gettempdir()) from error
