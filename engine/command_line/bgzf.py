"""BGZF, the gzip that can be read from any of its blocks: told from gzip, and written so that equal content gives equal bytes.

The layout is that of the SAM specification, section 4.1: gzip members of at most 64 KiB whose extra field "BC" holds their size,
and an empty one at the end. Written here because the library's writer does not say why a write failed.
"""

from __future__ import annotations

import struct
import zlib
from typing import BinaryIO

END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
_BLOCK = 0xFF00  # bytes of content a block: incompressible ones still fit into 64 KiB
_HEADER = struct.Struct("<4BI2BH2BHH")
_SUBFIELD = slice(12, 14)
_LEVEL = 6


def is_bgzf(file: BinaryIO) -> bool:
    """Whether a file that is at its beginning, and stays there, holds BGZF."""
    if not file.seekable():
        return False
    first = file.read(16)
    file.seek(0)
    return first[:4] == END[:4] and first[_SUBFIELD] == b"BC"


def is_whole(file: BinaryIO) -> bool:
    """Whether the mark is at the end; the file is left at its beginning."""
    size = file.seek(0, 2)
    file.seek(max(0, size - len(END)))
    last = file.read()
    file.seek(0)
    return last == END


class Writer:
    """Compresses into another file, which it does not close."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._kept = file, bytearray()

    def write(self, content: bytes) -> None:
        """Keep less than a block, write the rest."""
        self._kept += content
        while len(self._kept) >= _BLOCK:
            self._file.write(_block(bytes(self._kept[:_BLOCK])))
            del self._kept[:_BLOCK]

    def finish(self) -> None:
        """Write what is kept, and the mark at the end."""
        if self._kept:
            self._file.write(_block(bytes(self._kept)))
        self._file.write(END)


def _block(content: bytes) -> bytes:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -15)
    packed = packer.compress(content) + packer.flush()
    whole = _HEADER.size + len(packed) + 8
    header = _HEADER.pack(0x1F, 0x8B, 8, 4, 0, 0, 0xFF, 6, 0x42, 0x43, 2, whole - 1)
    return header + packed + struct.pack("<II", zlib.crc32(content), len(content))
