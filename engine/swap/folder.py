"""A folder for each worker below the one that is configured: locked while it is used, emptied before."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

_LOCK = "lock"


@dataclass(frozen=True, slots=True)
class Claimed:
    """A folder that is this worker's until it is released, or until its process ends."""

    path: Path
    lock: int  # an open file

    def release(self) -> None:
        """Empty it and give it back."""
        _empty(self.path)
        os.close(self.lock)


def claim(root: Path) -> Claimed:
    """The first folder `worker-N` below `root` that nobody has. Folders that workers left behind when they died are emptied too, so
    that nothing of theirs stays on the disk. Raises OSError where `root` cannot be made or written.
    """
    root.mkdir(parents=True, exist_ok=True)
    for number in itertools.count():
        path = root / f"worker-{number}"
        path.mkdir(mode=0o700, exist_ok=True)
        claimed = _locked(path)
        if claimed is not None:
            _empty(path)
            _empty_others(root, path)
            return claimed
    raise AssertionError("numbers do not end")


def refusal(root: Path) -> str:
    """Why nobody could keep files below `root`; blank: one can."""
    try:
        claim(root).release()
    except OSError as error:
        return f"swap_folder {root} cannot be used: {error.strerror}"
    return ""


def _empty_others(root: Path, own: Path) -> None:
    for path in root.glob("worker-*"):
        other = _locked(path) if path != own else None
        if other is not None:
            other.release()


def _locked(path: Path) -> Claimed | None:
    lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return Claimed(path, lock)


def _empty(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        for found in list(path.iterdir()):
            if found.name == _LOCK:
                continue
            if found.is_dir() and not found.is_symlink():
                shutil.rmtree(found)
            else:
                found.unlink(missing_ok=True)
