"""Put a stream into the store and find it again."""

import errno
import hashlib
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.conf import settings

from foundation import clock
from foundation.errors import Refused
from storage.models import StoredFile

ORPHAN_SECONDS = 24 * 3600
AT_ONCE = 8  # files whose writing the disk is waited for together


class NoSpace(Refused):
    """The laboratory's file store is full; nothing was kept. Tell the laboratory, and send the file again later."""


class TooLarge(Refused):
    """The file is larger than allowed."""


def path_of(sha256: str) -> Path:
    """Where the bytes with this digest lie."""
    return Path(settings.DATA_DIR) / "files" / sha256[:2] / sha256[2:4] / sha256


@dataclass(frozen=True)
class Written:
    """Bytes that are on disk, fsynced and in place."""

    sha256: str
    size: int


def write(*, chunks: Iterable[bytes], limit: int) -> Written:
    """Stream `chunks` into the store. No row yet: `record` makes it, in the transaction that needs the file.

    Raises `TooLarge` past `limit` bytes; then, and when the stream breaks off, nothing is kept.
    """
    temporary, sha256, size = _spool(chunks, limit)
    try:
        _settle(temporary, path_of(sha256))
    finally:
        temporary.unlink(missing_ok=True)
    return Written(sha256, size)


def write_all(contents: Sequence[bytes], *, limit: int) -> list[Written]:
    """Write several small files, as `write` writes one: most of its time goes by waiting for the disk."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda content: write(chunks=[content], limit=limit), contents))


def record(*, written: Written, organisation_id: UUID, kind: str, name: str) -> StoredFile:
    """The row of a written file; the same content of the same organisation is one row."""
    stored, _ = StoredFile.objects.get_or_create(
        organisation_id=organisation_id,
        sha256=written.sha256,
        kind=kind,
        defaults={"size": written.size, "name": name[:255], "created_at": clock.now()},
    )
    return stored


def record_all(*, named: Mapping[Written, str], organisation_id: UUID, kind: str) -> dict[str, StoredFile]:
    """The rows of several written files by their digests, as `record` makes one; `named` says what each is called."""
    mine = StoredFile.objects.filter(organisation_id=organisation_id, kind=kind, sha256__in=[one.sha256 for one in named])
    known = set(mine.values_list("sha256", flat=True))
    now = clock.now()
    StoredFile.objects.bulk_create(
        [
            StoredFile(
                organisation_id=organisation_id, sha256=one.sha256, kind=kind, size=one.size, name=name[:255], created_at=now
            )
            for one, name in named.items()
            if one.sha256 not in known
        ],
        ignore_conflicts=True,
    )
    return {stored.sha256: stored for stored in mine}


def sweep_orphans() -> int:
    """Delete what was written a day or more ago and no row speaks of; returns how many files went."""
    horizon, gone = clock.now().timestamp() - ORPHAN_SECONDS, 0
    for path in (Path(settings.DATA_DIR) / "files").glob("??/??/*"):
        if path.stat().st_mtime < horizon and not StoredFile.objects.filter(sha256=path.name).exists():
            path.unlink()
            gone += 1
    for path in (Path(settings.DATA_DIR) / "incoming").glob("*"):
        if path.stat().st_mtime < horizon:
            path.unlink()
            gone += 1
    return gone


def _spool(chunks: Iterable[bytes], limit: int) -> tuple[Path, str, int]:
    incoming = Path(settings.DATA_DIR) / "incoming"
    incoming.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    handle, raw = tempfile.mkstemp(dir=incoming)
    temporary = Path(raw)
    try:
        with os.fdopen(handle, "wb") as out:
            for chunk in chunks:
                size += len(chunk)
                if size > limit:
                    raise TooLarge(f"The file is larger than {limit // 1_000_000} MB.", code="file.too-large")
                digest.update(chunk)
                out.write(chunk)
            out.flush()
            os.fsync(out.fileno())
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NoSpace(code="file.no-space") from error
        raise
    return temporary, digest.hexdigest(), size


def _settle(temporary: Path, target: Path) -> None:
    if target.exists():
        os.utime(target)  # so that the sweeper sees it is wanted again
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary.replace(target)
    for folder in (target.parent, target.parent.parent, target.parent.parent.parent):  # a new folder is an entry in its parent
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
