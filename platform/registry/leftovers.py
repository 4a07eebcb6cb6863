"""Copies that a registration was killed at: what is unfinished has a name of its own, and goes when nobody can still be writing it.

A registration holds a shared lock on the folder that it writes to; the kernel lets it go with the process, however that ended. Who
gets the lock for himself knows that no registration is under way, so that every unfinished copy is nobody's.
"""

import fcntl
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import structlog

from registry.errors import RegistrationRefused

log = structlog.get_logger(__name__)

_MARK = ".unfinished-"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY  # the folder itself is locked: it may be one that nothing can be written to


def unfinished(folder: Path, ending: str) -> Path:
    """A name for a copy that is being written; only below `registering` may something of that name exist."""
    return folder / f"{_MARK}{uuid.uuid4().hex[:12]}{ending}"


@contextmanager
def registering(folder: Path) -> Iterator[None]:
    """Write to a folder; what killed registrations left there goes first. Raises `RegistrationRefused` where it cannot be used."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        sweep(folder)
        lock = os.open(folder, _FOLDER)
    except OSError as error:
        raise RegistrationRefused(f"the folder {folder} cannot be used ({error.strerror or error})") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield
    finally:
        os.close(lock)


def sweep(folder: Path) -> int:
    """Take unfinished copies away, unless a registration is under way; how many there were."""
    if not any(folder.glob(f"{_MARK}*")):
        return 0
    lock = os.open(folder, _FOLDER)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found = list(folder.glob(f"{_MARK}*"))
        for left in found:
            _remove(left)
    except BlockingIOError:
        return 0
    finally:
        os.close(lock)
    log.warning("registry.swept", folder=folder.name, count=len(found))
    return len(found)


def _remove(left: Path) -> None:
    """What cannot be removed stays: nothing rests on it, and nobody's start or registration should."""
    if left.is_dir():
        shutil.rmtree(left, ignore_errors=True)
        return
    with suppress(OSError):
        left.unlink()
