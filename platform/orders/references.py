"""A registry reference as the intake check and the pictures read it."""

from functools import lru_cache
from pathlib import Path

from foundation.reasons import Reason
from orders.intake import FastaReference
from registry import files, proofs
from registry.errors import FileChanged
from registry.models import Reference


def view(reference: Reference) -> FastaReference:
    """The reference's sequence with the names its contigs go by; proven for each state of its file to be the registered one.

    Raises `FileChanged` where it is not.
    """
    aliases = tuple((contig["name"], tuple(contig["aliases"])) for contig in reference.contigs)
    path = files.fasta(reference)
    return _open(path, reference.name, reference.digest, aliases, proofs.look(path, reference.digest).seen)


@lru_cache(maxsize=8)
def _open(path: Path, name: str, digest: str, aliases: tuple[tuple[str, tuple[str, ...]], ...], seen: str) -> FastaReference:
    del seen  # part of the key: a file that was touched is opened and proven again
    opened = FastaReference(path, name=name, aliases=dict(aliases))
    if not proofs.require(path, digest, lambda: opened.digest):
        raise FileChanged(Reason.REFERENCE_CHANGED.words, code=str(Reason.REFERENCE_CHANGED))
    return opened
