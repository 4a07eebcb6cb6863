"""Put a stream into the store and find it again."""

import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from uuid import UUID

from django.conf import settings

from foundation import clock
from foundation.errors import Refused
from storage.models import StoredFile


class TooLarge(Refused):
    """The file is larger than allowed."""


def path_of(sha256: str) -> Path:
    """Where the bytes with this digest lie."""
    return Path(settings.DATA_DIR) / "files" / sha256[:2] / sha256[2:4] / sha256


def put(*, chunks: Iterable[bytes], organisation_id: UUID, kind: str, name: str, limit: int) -> StoredFile:
    """Stream `chunks` into the store and return the row; the same content of the same organisation is one row.

    The bytes are on disk, fsynced and in place before the row exists. Raises `TooLarge` past `limit` bytes.
    """
    temporary, sha256, size = _spool(chunks, limit)
    try:
        _settle(temporary, path_of(sha256))
    finally:
        temporary.unlink(missing_ok=True)
    stored, _ = StoredFile.objects.get_or_create(
        organisation_id=organisation_id,
        sha256=sha256,
        kind=kind,
        defaults={"size": size, "name": name[:255], "created_at": clock.now()},
    )
    return stored


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
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary, digest.hexdigest(), size


def _settle(temporary: Path, target: Path) -> None:
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary.replace(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
