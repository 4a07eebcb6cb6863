"""Copies that a registration was killed at: what is unfinished has a name of its own, and goes when nobody can still be writing it.

A registration holds a shared lock on the folder that it writes to; the kernel lets it go with the process, however that ended. Who
gets the lock for himself knows that no registration is under way, so that every unfinished copy is nobody's.
"""

import fcntl
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

log = structlog.get_logger(__name__)

_MARK = ".unfinished-"


def unfinished(folder: Path, ending: str) -> Path:
    """A name for a copy that is being written; only below `registering` may something of that name exist."""
    return folder / f"{_MARK}{uuid.uuid4().hex[:12]}{ending}"


@contextmanager
def registering(folder: Path) -> Iterator[None]:
    """Write to a folder; what killed registrations left there is taken away first."""
    folder.mkdir(parents=True, exist_ok=True)
    sweep(folder)
    with _opened(folder) as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def sweep(folder: Path) -> int:
    """Take unfinished copies away, unless a registration is under way; how many there were."""
    if not any(folder.glob(f"{_MARK}*")):
        return 0
    with _opened(folder) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return 0
        found = list(folder.glob(f"{_MARK}*"))
        for left in found:
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)
    log.warning("registry.swept", folder=folder.name, count=len(found))
    return len(found)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """The folder itself is what is locked: it may be one that nothing can be written to."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield opened
    finally:
        os.close(opened)
