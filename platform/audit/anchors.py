"""Anchors: heads of the chain, written outside the database, one file a day.

A line holds the time, the head, and the SHA-256 of the line before, across files. It is signed, so that the signature of the last
line speaks for all before it. Whoever changes an event has to forge a line, and has no key.
"""

import errno
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from audit import keys
from audit.sealing import Head

NAME = re.compile(r"\d{4}-\d\d-\d\d\.anchors")
FIRST = bytes(32).hex()  # in the place of the line before the first
_LINE = re.compile(rb'(\{.*),"sig":"([0-9a-f]{128})"\}')
_TAIL = 4096  # bytes, of which a line is a tenth


class AnchorsLost(OSError):
    """The anchors are not as the sealer left them: a file is gone, or was changed by somebody else."""


@dataclass(frozen=True)
class Anchor:
    """One line, as it stands in its file."""

    file: str
    number: int  # of the line, from 1
    at: str
    seq: int
    hash: str
    before: str
    key: str
    said: bytes
    signature: str
    digest: str  # of the line

    @classmethod
    def read(cls, line: bytes, file: str, number: int) -> "Anchor | None":
        """Nothing where the line is none that the sealer wrote."""
        found = _LINE.fullmatch(line)
        if found is None:
            return None
        said = found[1] + b"}"
        try:
            body = json.loads(said)
            if body["v"] != 1:
                return None
            seen = (str(body["at"]), int(body["seq"]), str(body["hash"]), str(body["prev"]), str(body["key"]))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return None
        return cls(file, number, *seen, said, found[2].decode(), sha256(line).hexdigest())

    def signed_by(self, known: Mapping[str, Ed25519PublicKey]) -> bool:
        """Whether one of these keys signed it."""
        return self.key in known and keys.signed(known[self.key], self.signature, self.said)


@dataclass
class Writer:
    """The sealer's hand on the folder: it knows the line it wrote last, and how long the file was then."""

    folder: Path
    key: Ed25519PrivateKey
    before: str = FIRST  # digest of the line that was written last
    seq: int = -1  # which head it holds; -1: there is none
    name: str = ""
    size: int = 0
    recent: frozenset[str] = frozenset()  # digests of the lines that stood last when it was taken up
    _public: str = field(init=False)

    def __post_init__(self) -> None:
        self._public = keys.name_of(self.key.public_key())
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        names = files(self.folder)
        if names:
            self.name = names[-1]
            _drop_what_was_half_written(self.folder / self.name)
            self.size = (self.folder / self.name).stat().st_size
            last = _last(self.folder / _with_lines(self.folder, names))
            if last:
                self.before, self.seq = last[-1].digest, last[-1].seq
                self.recent = frozenset(digest for one in last for digest in (one.digest, one.before))

    def write(self, head: Head, now: datetime) -> str:
        """Append a line and see it on the disk; its digest. Raises `AnchorsLost` before it writes, and any other `OSError`."""
        self._look()
        today = f"{now.astimezone(UTC):%Y-%m-%d}.anchors"
        name = max(today, self.name)  # a clock that was set back opens no file of the past
        body = {
            "v": 1, "chain": "house", "at": now.astimezone(UTC).isoformat(timespec="milliseconds"), "seq": head.seq,
            "count": head.seq, "hash": head.hash.hex(), "prev": self.before, "key": self._public,
        }  # fmt: skip
        said = json.dumps(body, separators=(",", ":")).encode()
        line = said[:-1] + f',"sig":"{self.key.sign(said).hex()}"}}'.encode()
        new = name != self.name
        size = _append(self.folder / name, line + b"\n")
        if new:
            _sync_folder(self.folder)
        self.name, self.size, self.before, self.seq = name, size, sha256(line).hexdigest(), head.seq
        return self.before

    def _look(self) -> None:
        if not self.name:
            return
        try:
            size = (self.folder / self.name).stat().st_size
        except FileNotFoundError:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            size = 0
        if size != self.size:
            self.size = size  # told once; the next line says by its `prev` what should stand before it
            raise AnchorsLost(f"{self.name} was changed by somebody else" if size else f"{self.name} is gone")


def files(folder: Path) -> list[str]:
    """The names of the files with anchors, oldest first."""
    try:
        return sorted(path.name for path in folder.iterdir() if NAME.fullmatch(path.name))
    except FileNotFoundError:
        return []


def sizes(folder: Path) -> dict[str, int]:
    """How long each file is now: what is appended later is not looked at."""
    return {name: (folder / name).stat().st_size for name in files(folder)}


def lines(folder: Path, upto: Mapping[str, int]) -> Iterator[tuple[str, int, bytes]]:
    """File, number and bytes of every whole line, in order, a line in memory at a time."""
    for name, size in upto.items():
        with (folder / name).open("rb") as file:
            read = 0
            for number, line in enumerate(file, 1):
                read += len(line)
                if read > size or not line.endswith(b"\n"):
                    break
                yield name, number, line[:-1]


def _last(path: Path) -> list[Anchor]:
    """The last lines; none where the very last cannot be read."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        found = [Anchor.read(line, path.name, 0) for line in file.read().splitlines()]
    return [one for one in found if one is not None] if found and found[-1] is not None else []


def _with_lines(folder: Path, names: Sequence[str]) -> str:
    """The newest file with anything in it: a disk that was full leaves an empty one behind."""
    return next((name for name in reversed(names) if (folder / name).stat().st_size), names[-1])


def _append(path: Path, line: bytes) -> int:
    """Write a line behind the file and see it on the disk; how long the file is then. A line that does not get there whole is taken
    back, and the `OSError` raised.
    """
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        before = os.fstat(handle).st_size
        try:
            if os.write(handle, line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, before)
            raise
        return before + len(line)
    finally:
        os.close(handle)


def _drop_what_was_half_written(path: Path) -> None:
    """A line without its end was on the way when the machine stopped: it never counted."""
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        start = max(0, size - _TAIL)
        file.seek(start)
        tail = file.read()
        if tail and not tail.endswith(b"\n"):
            file.truncate(start + tail.rfind(b"\n") + 1)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
