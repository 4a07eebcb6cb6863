"""Reference sequence for windows: read through an index, proven once per process to be what the run was pinned to."""

import hashlib
from functools import lru_cache

import pysam

from engine_queue.errors import ReferenceUnusable
from foundation.reasons import Reason

BLOCK = 64 << 10


class Sequences:
    """The contigs of one FASTA. One thread reads it."""

    def __init__(self, path: str) -> None:
        try:
            self._file = pysam.FastaFile(path)
        except (OSError, ValueError) as error:
            raise ReferenceUnusable(f"the reference cannot be read: {error}", code=str(Reason.REFERENCE_UNREADABLE)) from error
        self.lengths: dict[str, int] = dict(zip(self._file.references, self._file.lengths, strict=True))

    def fetch(self, contig: str, start: int, end: int) -> str:
        """Upper-case bases of [start, end), 0-based."""
        return self._file.fetch(contig, start, end).upper()

    def digest(self) -> str:
        """SHA-256 over “>name\\nBASES\\n” of each contig: the same for any wrapping, letter case or compression."""
        sha = hashlib.sha256()
        for name, length in self.lengths.items():
            sha.update(f">{name}\n".encode())
            for start in range(0, length, BLOCK):
                sha.update(self.fetch(name, start, min(start + BLOCK, length)).encode())
            sha.update(b"\n")
        return sha.hexdigest()


@lru_cache(maxsize=8)
def opened(path: str, digest: str) -> Sequences:
    """The sequences at `path`. Raises `ReferenceUnusable` where they cannot be read or are not those with this digest."""
    sequences = Sequences(path)
    if sequences.digest() != digest:
        raise ReferenceUnusable(Reason.REFERENCE_CHANGED.words, code=str(Reason.REFERENCE_CHANGED))
    return sequences
