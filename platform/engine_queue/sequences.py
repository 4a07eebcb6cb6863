"""Reference sequence for windows: read through an index, proven once for each state of its file to be what the run was pinned to.

Where somebody has proven the whole of it (`registry.proofs`: as a rule whoever checked the upload), nothing is digested.
Else, where the registry knows a digest for every contig, a contig is proven when it is first read: the first variant on one contig
need not wait for a whole genome. Those digests stand in a row that the database keeps as it is.
"""

import hashlib
import threading
from collections.abc import Mapping
from functools import lru_cache

import pysam

from engine_queue.errors import ReferenceUnusable
from foundation.reasons import Reason
from registry.proofs import UNSEEN, Look

BLOCK = 64 << 10


class Proof:
    """What is known of a file, whichever thread found it out."""

    def __init__(self) -> None:
        self.begun = False
        self.unproven: dict[str, str] = {}  # contig → SHA-256 of its bases


class Sequences:
    """The contigs of one FASTA. One thread reads it; several may share the proof."""

    def __init__(self, path: str, proof: Proof | None = None) -> None:
        try:
            self._file = pysam.FastaFile(path)
        except (OSError, ValueError) as error:
            raise ReferenceUnusable(f"the reference cannot be read: {error}", code=str(Reason.REFERENCE_UNREADABLE)) from error
        self.lengths: dict[str, int] = dict(zip(self._file.references, self._file.lengths, strict=True))
        self._proof = proof or Proof()

    def require(self, digest: str, contigs: Mapping[str, str], *, proven: bool = False) -> None:
        """Raise `ReferenceUnusable` unless these are the sequences with this digest; of a contig with its own, when it is read."""
        if proven:
            self._proof.unproven, self._proof.begun = {}, True
        if self._proof.begun:
            return
        if contigs:
            if contigs.keys() != self.lengths.keys():
                raise _changed()
            self._proof.unproven = dict(contigs)
        elif self.digest() != digest:
            raise _changed()
        self._proof.begun = True

    def fetch(self, contig: str, start: int, end: int) -> str:
        """Upper-case bases of [start, end), 0-based. Raises `ReferenceUnusable` where the contig is not what it was."""
        expected = self._proof.unproven.get(contig)
        if expected is not None:
            sha = hashlib.sha256()
            self._feed(contig, sha)
            if sha.hexdigest() != expected:
                raise _changed()
            self._proof.unproven.pop(contig, None)
        return self._file.fetch(contig, start, end).upper()

    def digest(self) -> str:
        """SHA-256 over “>name\\nBASES\\n” of each contig: the same for any wrapping, letter case or compression."""
        sha = hashlib.sha256()
        for name in self.lengths:
            sha.update(f">{name}\n".encode())
            self._feed(name, sha)
            sha.update(b"\n")
        return sha.hexdigest()

    def _feed(self, contig: str, sha: "hashlib._Hash") -> None:
        length = self.lengths[contig]
        for start in range(0, length, BLOCK):
            sha.update(self._file.fetch(contig, start, min(start + BLOCK, length)).upper().encode())


def opened(path: str, digest: str, contigs: Mapping[str, str], look: Look = UNSEEN) -> Sequences:
    """The sequences at `path`. Raises `ReferenceUnusable` where they cannot be read or are not those with this digest."""
    sequences = _opened(path, digest, look.seen)
    sequences.require(digest, contigs, proven=look.proven)
    return sequences


def _opened(path: str, digest: str, seen: str) -> Sequences:
    """One for each thread, state of a file and digest: STAT is prepared beside routine work, and must not wait for its reading."""
    return _of_thread(path, digest, seen, threading.get_ident())


@lru_cache(maxsize=16)
def _of_thread(path: str, digest: str, seen: str, thread: int) -> Sequences:
    del thread
    return Sequences(path, _proof(path, digest, seen))


@lru_cache(maxsize=8)
def _proof(path: str, digest: str, seen: str) -> Proof:
    """What was proven stays proven, for this process, until the file is touched."""
    del path, digest, seen  # a file that was proven to be one reference is not taken for another, or for a later self
    return Proof()


def _changed() -> ReferenceUnusable:
    return ReferenceUnusable(Reason.REFERENCE_CHANGED.words, code=str(Reason.REFERENCE_CHANGED))
