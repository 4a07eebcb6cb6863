"""Content as a file: a header, then block after block. What is read is what was written, or it is said how it is not.

Header, little-endian: magic, version, cipher, digest of the deployment's fingerprint, name of the key, number of the content,
blocks, bytes of a block; then BLAKE2b-128 of all of these and of the blocks as they lie in the file. Encrypted, a block is
AES-256-GCM with its own tag behind it, bound to the header; its nonce is the number of the content, which no other file under this
key has, and its own place.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from engine.swap.content import Failure

if TYPE_CHECKING:
    from engine.swap.arena import Bytes

_MAGIC, _VERSION, _PLAIN, _AES_GCM, _TAG = b"HLXSWAP\0", 1, 0, 1, 16
_HEADER, _CHECKSUM = struct.Struct("<8sHH16s16sQIQ"), 16
_BEGIN = _HEADER.size + _CHECKSUM
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class SwapFileError(Exception):
    """A file could not be written or is not what was written."""

    def __init__(self, failure: Failure, said: str = "") -> None:
        self.failure = failure
        super().__init__(said or failure.value)


class Format:
    """Files of one deployment, whose blocks are rows of `memory [slots, bytes of a block]`; encrypted under a key of their own."""

    def __init__(self, memory: Bytes, fingerprint: str, *, encrypted: bool) -> None:
        self._memory, self._block = memory, int(memory.shape[1])
        self._fingerprint = _digest(fingerprint.encode())
        self._cipher, self._key_name = _PLAIN, bytes(16)
        if encrypted:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # here: no file, no library

            key = secrets.token_bytes(32)
            self._cipher, self._key_name, self._aes = _AES_GCM, _digest(b"name of " + key), AESGCM(key)

    def length(self, blocks: int) -> int:
        """Bytes of a file of so many blocks."""
        return _BEGIN + blocks * (self._block + (_TAG if self._cipher else 0))

    def write(self, path: Path, number: int, slots: Sequence[int]) -> None:
        """Under another name first, and under its own when the disk has it. Raises SwapFileError and leaves nothing."""
        aside = path.with_suffix(".part")
        try:
            with aside.open("wb") as file:
                self._write(file, number, slots)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                aside.unlink(missing_ok=True)
            kind = Failure.FULL if error.errno in _FULL else Failure.REFUSED
            raise SwapFileError(kind, f"{kind.value}: {error.strerror}") from error

    def _write(self, file: BinaryIO, number: int, slots: Sequence[int]) -> None:
        header = self._header(number, len(slots))
        checksum = hashlib.blake2b(header, digest_size=_CHECKSUM)
        file.seek(_BEGIN)
        for place, slot in enumerate(slots):
            stored = memoryview(self._memory[slot])
            if self._cipher:
                stored = memoryview(self._aes.encrypt(_nonce(number, place), stored, header))
            checksum.update(stored)
            file.write(stored)
        file.seek(0)
        file.write(header + checksum.digest())

    def read(self, path: Path, number: int, slots: Sequence[int]) -> None:
        """Fill slots; SwapFileError, with anything in them, where the file is not what was written."""
        try:
            with path.open("rb") as file:
                self._read(file, number, slots)
        except FileNotFoundError as error:
            raise SwapFileError(Failure.MISSING) from error
        except OSError as error:
            raise SwapFileError(Failure.REFUSED, f"{Failure.REFUSED.value}: {error.strerror}") from error

    def _read(self, file: BinaryIO, number: int, slots: Sequence[int]) -> None:
        wanted, head = self._header(number, len(slots)), file.read(_BEGIN)
        if os.fstat(file.fileno()).st_size != self.length(len(slots)) or len(head) != _BEGIN:
            raise SwapFileError(Failure.TORN)
        found, checksum = head[: _HEADER.size], hashlib.blake2b(wanted, digest_size=_CHECKSUM)
        if found != wanted:
            raise SwapFileError(self._difference(found, wanted))
        size = self._block + (_TAG if self._cipher else 0)
        for place, slot in enumerate(slots):
            stored = file.read(size)
            if len(stored) != size:
                raise SwapFileError(Failure.TORN)
            checksum.update(stored)
            self._memory[slot].data[:] = self._opened(stored, number, place, wanted)
        if checksum.digest() != head[_HEADER.size :]:
            raise SwapFileError(Failure.CORRUPT)

    def _opened(self, stored: bytes, number: int, place: int, header: bytes) -> bytes:
        if not self._cipher:
            return stored
        from cryptography.exceptions import InvalidTag

        try:
            return self._aes.decrypt(_nonce(number, place), stored, header)
        except InvalidTag as error:
            raise SwapFileError(Failure.CORRUPT) from error

    def _header(self, number: int, blocks: int) -> bytes:
        return _HEADER.pack(_MAGIC, _VERSION, self._cipher, self._fingerprint, self._key_name, number, blocks, self._block)

    @staticmethod
    def _difference(found: bytes, wanted: bytes) -> Failure:
        """Why a header is another: of another key, of another deployment or sequence, or no header of ours."""
        ours, theirs = _HEADER.unpack(wanted), _HEADER.unpack(found)
        if theirs[0] != ours[0]:
            return Failure.CORRUPT
        return Failure.KEY if theirs[:4] == ours[:4] and theirs[4] != ours[4] else Failure.FOREIGN


def _nonce(number: int, place: int) -> bytes:
    return struct.pack("<QI", number, place)


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
