"""A ZIP with a manifest and its files, read entry by entry: names are only looked up, nothing is ever extracted to its name."""

import posixpath
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Self

from foundation.reasons import Reason
from orders.manifests.errors import ManifestRefused

MOST_ENTRIES = 10_000
MOST_DIRECTORY = 8 << 20  # bytes of the list of entries, read before anything else
MOST_UNPACKED = 4 << 30  # bytes of all entries together
MOST_RATIO, RATIO_FLOOR = 250, 16 << 20  # as the intake check has it for gzip
CHUNK = 256 << 10
MAGIC = b"PK\x03\x04"
EMPTY_MAGIC = b"PK\x05\x06"
_TABLES = (".csv", ".tsv", ".txt")
_RUBBISH = ("__macosx/", ".ds_store", "thumbs.db", "desktop.ini")
_END, _END_64, _LOCATOR_64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError, struct.error)


class Archive:
    """An open archive whose list of entries was found harmless."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        self._entries = {entry.filename: entry for entry in file.infolist() if _counts(entry)}
        self.manifest = self._find_manifest()
        self._folder = posixpath.dirname(self.manifest)
        self._called: dict[str, list[str]] = {}  # name without its folders → entries
        for entry in self._entries:
            if entry != self.manifest:
                self._called.setdefault(posixpath.basename(entry), []).append(entry)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back."""
        self._file.close()

    def table(self, limit: int) -> bytes:
        """The bytes of the manifest itself."""
        parts, size = [], 0
        for chunk in self.chunks(self.manifest):
            size += len(chunk)
            if size > limit:
                raise ManifestRefused(Reason.MANIFEST_TOO_LARGE, limit=f"{limit >> 20} MiB")
            parts.append(chunk)
        return b"".join(parts)

    def entry(self, name: str) -> str | None:
        """The entry that a row names: beside the manifest, by its path from the root, or the only one called so."""
        wanted = name.replace("\\", "/").removeprefix("./")
        beside = posixpath.join(self._folder, wanted)
        for found in (beside, wanted):
            if found in self._entries and found != self.manifest:
                return found
        called = self._called.get(wanted, [])
        return called[0] if len(called) == 1 else None

    def size(self, entry: str) -> int:
        """Bytes that an entry says it unpacks to; no more of it are read."""
        return self._entries[entry].file_size

    def unnamed(self, named: set[str]) -> list[str]:
        """Entries that no row speaks of."""
        return sorted(set(self._entries) - named - {self.manifest})

    def chunks(self, entry: str) -> Iterator[bytes]:
        """What is in an entry, as it unpacks. Raises `ManifestRefused` where it is damaged or unpacks without end."""
        packed, size = self._entries[entry].compress_size, 0
        try:
            with self._file.open(self._entries[entry]) as stream:
                while chunk := stream.read(CHUNK):
                    size += len(chunk)
                    if size > RATIO_FLOOR and size > MOST_RATIO * max(1, packed):
                        raise ManifestRefused(Reason.MANIFEST_BOMB, name=shown(entry), ratio=MOST_RATIO)
                    yield chunk
        except _DAMAGED as error:
            raise ManifestRefused(Reason.MANIFEST_ENTRY_DAMAGED, name=shown(entry), detail=type(error).__name__) from error

    def _find_manifest(self) -> str:
        tables = [name for name in self._entries if name.lower().endswith(_TABLES)]
        called = [name for name in tables if posixpath.basename(name).lower().rpartition(".")[0] == "manifest"]
        found = called or tables
        if len(found) != 1:
            raise ManifestRefused(Reason.MANIFEST_NOT_ONE_TABLE, found=", ".join(map(shown, sorted(found)[:5])) or "none")
        return found[0]


def is_archive(start: bytes) -> bool:
    """By its first bytes; a name proves nothing."""
    return start.startswith((MAGIC, EMPTY_MAGIC))


def open_archive(path: Path) -> Archive:
    """The archive at `path`. Raises `ManifestRefused` for what is damaged, or made to do harm."""
    with path.open("rb") as stream:
        _require_small_directory(stream, path.stat().st_size)
    try:
        file = zipfile.ZipFile(path)  # closed with the archive that holds it
    except _DAMAGED as error:
        raise ManifestRefused(Reason.MANIFEST_ZIP_DAMAGED, detail=type(error).__name__) from error
    try:
        entries = file.infolist()
        if len(entries) > MOST_ENTRIES:
            raise ManifestRefused(Reason.MANIFEST_ENTRIES, limit=f"{MOST_ENTRIES:,}")
        seen: set[str] = set()
        for entry in entries:
            _require_harmless(entry, seen)
        if sum(entry.file_size for entry in entries) > MOST_UNPACKED:
            raise ManifestRefused(Reason.MANIFEST_UNPACKED, limit=f"{MOST_UNPACKED >> 30} GiB")
        return Archive(file)
    except ManifestRefused:
        file.close()
        raise


def shown(name: str) -> str:
    """An entry's name in a sentence."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name[:80])


def _counts(entry: zipfile.ZipInfo) -> bool:
    name = entry.filename.lower()
    return not (
        entry.is_dir()
        or name.startswith(_RUBBISH[0])
        or posixpath.basename(name) in _RUBBISH
        or posixpath.basename(name).startswith("._")
    )


def _require_harmless(entry: zipfile.ZipInfo, seen: set[str]) -> None:
    raw, name = entry.orig_filename, entry.filename
    parts = raw.replace("\\", "/").split("/")
    if raw.startswith(("/", "\\")) or ".." in parts or (len(raw) > 1 and raw[1] == ":") or "\0" in raw or not name:
        raise ManifestRefused(Reason.MANIFEST_ENTRY_PATH, name=shown(raw))
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise ManifestRefused(Reason.MANIFEST_ENTRY_LINK, name=shown(raw))
    if entry.flag_bits & 0x1:
        raise ManifestRefused(Reason.MANIFEST_ENTRY_LOCKED, name=shown(raw))
    if name in seen:
        raise ManifestRefused(Reason.MANIFEST_ENTRY_TWICE, name=shown(raw))
    seen.add(name)


def _require_small_directory(stream: BinaryIO, size: int) -> None:
    """Look at the end record before `zipfile` reads the whole list into memory."""
    tail_at = max(0, size - (22 + 65_535))
    stream.seek(tail_at)
    tail = stream.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < 22:
        raise ManifestRefused(Reason.MANIFEST_ZIP_DAMAGED, detail="it has no end")
    entries, listed = struct.unpack_from("<HL", tail, at + 10)
    if (entries == 0xFFFF or listed == 0xFFFF_FFFF) and at >= 20 and tail[at - 20 : at - 16] == _LOCATOR_64:
        (record_at,) = struct.unpack_from("<Q", tail, at - 12)
        stream.seek(min(record_at, size))
        record = stream.read(56)
        if len(record) == 56 and record.startswith(_END_64):
            entries, listed = struct.unpack_from("<QQ", record, 32)
    if entries > MOST_ENTRIES or listed > MOST_DIRECTORY:
        raise ManifestRefused(Reason.MANIFEST_ENTRIES, limit=f"{MOST_ENTRIES:,}")
