"""Bytes of an uploaded file: plain, gzip or bgzip, decompressed as they are read and never more than a chunk at a time."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from foundation.file_reasons import FileReason
from orders.intake.errors import FileRefused
from orders.intake.verdicts import Limits

CHUNK = 256 << 10
FED = 16 << 10  # packed bytes given to zlib at once: what lies behind the end of a gzip member is copied for every member
APART = 32 << 10  # bytes of text between two places that are remembered
GZIP_MAGIC = b"\x1f\x8b"
BGZIP_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
"""The empty block that closes every complete bgzip file (SAM specification, section 4.1.2)."""


class Place(NamedTuple):
    """A byte of the file from which it can be read, and the byte of the text that this is."""

    packed: int = 0
    text: int = 0


class Source:
    """One file, read once from front to back, or from a place in it to its end."""

    def __init__(
        self, path: Path, *, limits: Limits, on_chunk: Callable[[], None] = lambda: None, start: Place | None = None
    ) -> None:
        self._path = path
        self._limits = limits
        self._on_chunk = on_chunk
        self._start = start or Place()
        self._places = [self._start]
        self.size = path.stat().st_size
        self.bytes_read = self._start.packed
        self.bytes_of_text = self._start.text
        with path.open("rb") as stream:
            head = stream.read(18)
        self.compression = _compression(head)

    def chunks(self) -> Iterator[bytes]:
        """The text in pieces; raises FileRefused where it is damaged, cut off or larger than the limits."""
        with self._path.open("rb") as stream:
            if self.compression == "bgzip":
                self._require_end_marker(stream)
            stream.seek(self._start.packed)
            pieces = self._raw(stream) if self.compression == "plain" else self._unpacked(stream)
            for piece in pieces:
                self.bytes_of_text += len(piece)
                self._check_size()
                self._on_chunk()
                yield piece

    def place_before(self, offset: int) -> Place:
        """The last place from which the text at `offset` can be reached; earlier ones are forgotten.

        In a bgzip file it is the beginning of a block, as in a virtual offset; a gzip file of one member has only its beginning.
        """
        if self.compression == "plain":
            return Place(offset, offset)
        while len(self._places) > 1 and self._places[1].text <= offset:
            self._places.pop(0)
        return self._places[0]

    def text_from(self, offset: int) -> Iterator[bytes]:
        """The text from `offset` on, which lies behind the place this source starts at."""
        before = offset - self._start.text
        for piece in self.chunks():
            if before < len(piece):
                yield piece[before:]
            before = max(0, before - len(piece))

    def _raw(self, stream: BinaryIO) -> Iterator[bytes]:
        # Aligned, so that whoever starts in the middle sees the limits at the same bytes.
        while piece := stream.read(CHUNK - self.bytes_read % CHUNK):
            self.bytes_read += len(piece)
            yield piece

    def _unpacked(self, stream: BinaryIO) -> Iterator[bytes]:
        member = None  # gzip allows several, bgzip is made of them
        for packed in self._raw(stream):
            at = self.bytes_read - len(packed)
            while at < self.bytes_read:
                rest = packed[at - self.bytes_read :][: FED - at % FED]
                at += len(rest)
                while rest:
                    if member is None:
                        self._remember(Place(at - len(rest), self.bytes_of_text))
                        member = zlib.decompressobj(16 + zlib.MAX_WBITS)
                    yield from _inflated(member, rest)
                    rest, member = (member.unused_data, None) if member.eof else (b"", member)
        if member is not None:
            raise FileRefused(FileReason.FILE_GZIP_TRUNCATED)

    def _remember(self, place: Place) -> None:
        if place.text >= self._places[-1].text + APART:
            self._places.append(place)

    def _check_size(self) -> None:
        limits = self._limits
        if self.bytes_of_text > limits.max_decompressed:
            raise FileRefused(FileReason.FILE_TOO_LARGE, limit=f"{limits.max_decompressed:,}")
        if self.bytes_of_text > limits.ratio_floor and self.bytes_of_text > self.bytes_read * limits.max_ratio:
            raise FileRefused(FileReason.FILE_GZIP_BOMB, ratio=limits.max_ratio)

    def _require_end_marker(self, stream: BinaryIO) -> None:
        if self.size >= len(BGZIP_END):
            stream.seek(-len(BGZIP_END), 2)
            if stream.read() == BGZIP_END:
                return
        raise FileRefused(FileReason.FILE_BGZIP_NO_END)


def _compression(start: bytes) -> str:
    if not start.startswith(GZIP_MAGIC):
        return "plain"
    has_extra_field = len(start) > 3 and bool(start[3] & 4)
    return "bgzip" if has_extra_field and start[12:14] == b"BC" else "gzip"


def _inflated(member: zlib._Decompress, packed: bytes) -> Iterator[bytes]:
    try:
        piece = member.decompress(packed, CHUNK)
        while piece:
            yield piece
            piece = b"" if member.eof else member.decompress(member.unconsumed_tail, CHUNK)
    except zlib.error as error:
        raise FileRefused(FileReason.FILE_GZIP_DAMAGED, detail=str(error).rpartition(": ")[2]) from error
