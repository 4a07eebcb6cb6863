"""What a file was proven to hold, kept in the database, so that the next process need not read the whole of it again.

A proof counts for the very file and the index files beside it: device, inode, size, and the times of the last change of content and
of inode, to the nanosecond. Nobody who may write a file can set the last of them back, so a file that was edited or exchanged is
digested again before it is next used, whatever its size and modification time say. What this cannot see, and reading everything
could: bytes that change below the file system, such as a disk that decays.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from foundation import clock
from registry.models import FileProof

INDEXES = ("", ".fai", ".gzi", ".tbi")  # of a FASTA and of an annotation: what is read is read through them
SETTLED_SECONDS = 2.0  # a file changed so shortly before it is read may change again within one tick of its clock


@dataclass(frozen=True)
class Look:
    """A file as it lies there now."""

    seen: str  # names this state of the file; blank: there is none
    proven: bool  # somebody has read all of it in this state


UNSEEN = Look("", proven=False)


def look(path: Path, digest: str) -> Look:
    """Whether the file, as it is now, was proven to hold what has this digest."""
    seen, _ = _state(path)
    return Look(seen, bool(seen) and FileProof.objects.filter(path=str(path), seen=seen, digest=digest).exists())


def require(path: Path, digest: str, read: Callable[[], str]) -> bool:
    """Whether the file holds what has this digest; `read` digests all of it, and is called only where nobody has proven it yet."""
    began = clock.now().timestamp()
    found = look(path, digest)
    if found.proven:
        return True
    if read() != digest:
        return False
    seen, changed = _state(path)
    if seen and seen == found.seen and changed < began - SETTLED_SECONDS:
        FileProof.objects.bulk_create(
            [FileProof(path=str(path), seen=seen, digest=digest, proven_at=clock.now())], ignore_conflicts=True
        )
    return True


def _state(path: Path) -> tuple[str, float]:
    """The name of this state of a file, and when it last changed; blank where there is none."""
    states, changed = [], 0.0
    for suffix in INDEXES:
        try:
            found = Path(f"{path}{suffix}").stat()
        except OSError:
            if not suffix:
                return "", 0.0
            continue
        states.append((suffix, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))
        changed = max(changed, found.st_mtime, found.st_ctime)
    return hashlib.sha256(repr(states).encode()).hexdigest(), changed
