"""The reference a VCF is checked against: what the check needs of it, and one that reads a FASTA file."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Protocol

import pysam

from orders.intake.contig_names import name_table
from orders.intake.errors import ReferenceUnusable

BLOCK = 64 << 10
BLOCKS_KEPT = 16


@dataclass(frozen=True)
class Contig:
    name: str
    length: int
    aliases: tuple[str, ...] = ()


class ReferenceView(Protocol):
    """A named sequence collection; whoever can answer these five questions can be checked against."""

    @property
    def name(self) -> str:
        """As people know it: GRCh38, rCRS."""

    @property
    def digest(self) -> str:
        """Of the sequences themselves; two files with equal sequences have equal digests."""

    @property
    def contigs(self) -> Mapping[str, Contig]: ...

    def fetch(self, contig: str, start0: int, end0: int) -> str:
        """Upper-case bases of [start0, end0), cut at the ends of the contig."""

    def resolve(self, name: str) -> str | None:
        """The reference's own name for a contig, or None where it has no such contig."""


class FastaReference:
    """A plain or bgzip-compressed FASTA, read through its index; the index is made beside it where it is missing."""

    def __init__(
        self,
        path: Path,
        *,
        name: str | None = None,
        aliases: Mapping[str, tuple[str, ...]] | None = None,
        digest: str | None = None,
    ) -> None:
        try:
            self._file = pysam.FastaFile(str(path))
        except (OSError, ValueError) as error:
            raise ReferenceUnusable(f"The reference {path.name} cannot be read: {error}") from error
        self.name = name or path.name
        self._known_digest = digest
        self.contigs: Mapping[str, Contig] = {
            contig: Contig(contig, length, (aliases or {}).get(contig, ()))
            for contig, length in zip(self._file.references, self._file.lengths, strict=True)
        }
        self._one_reader = threading.Lock()  # one file position, perhaps several threads
        self._names = name_table(self.contigs.values())
        self._block = lru_cache(maxsize=BLOCKS_KEPT)(self._read_block)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over “>name\\nBASES\\n” per contig: the same for any wrapping, letter case or compression."""
        if self._known_digest:
            return self._known_digest
        sha = hashlib.sha256()
        for contig in self.contigs.values():
            sha.update(f">{contig.name}\n".encode())
            for start in range(0, contig.length, BLOCK):
                sha.update(self._read_block(contig.name, start // BLOCK).encode())
            sha.update(b"\n")
        return sha.hexdigest()

    def fetch(self, contig: str, start0: int, end0: int) -> str:
        start, end = max(start0, 0), min(end0, self.contigs[contig].length)
        if start >= end:
            return ""
        first, last = start // BLOCK, (end - 1) // BLOCK
        if first == last:
            return self._block(contig, first)[start - first * BLOCK : end - first * BLOCK]
        text = "".join(self._block(contig, index) for index in range(first, last + 1))
        return text[start - first * BLOCK : end - first * BLOCK]

    def resolve(self, name: str) -> str | None:
        return self._names.get(name)

    def close(self) -> None:
        self._file.close()

    def _read_block(self, contig: str, index: int) -> str:
        start = index * BLOCK
        with self._one_reader:
            text: str = self._file.fetch(contig, start, min(start + BLOCK, self.contigs[contig].length))
        return text.upper()
