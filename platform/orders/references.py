"""A registry reference as the intake check and the pictures read it."""

from functools import lru_cache
from pathlib import Path

from foundation.errors import HelicaseError
from orders.intake import FastaReference
from registry import files
from registry.models import Reference


class ReferenceChanged(HelicaseError):
    """The reference file no longer holds the sequences it was registered with."""


def view(reference: Reference) -> FastaReference:
    """The reference's sequence with the names its contigs go by; proven once a process to be the registered one."""
    aliases = tuple((contig["name"], tuple(contig["aliases"])) for contig in reference.contigs)
    return _open(files.fasta(reference), reference.name, reference.digest, aliases)


@lru_cache(maxsize=8)
def _open(path: Path, name: str, digest: str, aliases: tuple[tuple[str, tuple[str, ...]], ...]) -> FastaReference:
    opened = FastaReference(path, name=name, aliases=dict(aliases))
    if opened.digest != digest:
        raise ReferenceChanged(code="reference.changed")
    return opened
