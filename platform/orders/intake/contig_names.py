"""The names one contig goes by: 1, chr1 and NC_000001.10 are one sequence, but chrM may be two different ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

RCRS_LENGTH = 16_569
"""Revised Cambridge Reference Sequence, NC_012920.1. The chrM of hg19 (NC_001807.4) has 16,571 bases and is another sequence."""

_MITOCHONDRIAL = ("MT", "M", "chrMT", "chrM")
_NUCLEAR = (*map(str, range(1, 23)), "X", "Y")

# Version of each RefSeq accession NC_000001 … NC_000024 in GRCh37; GRCh38 is one higher throughout.
_GRCH37_VERSION = (10, 11, 11, 11, 9, 11, 13, 10, 11, 10, 9, 11, 10, 8, 9, 9, 10, 9, 9, 10, 8, 10, 10, 9)


class Sized(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def length(self) -> int: ...
    @property
    def aliases(self) -> tuple[str, ...]: ...


def usual_names(name: str, length: int) -> tuple[str, ...]:
    """Other names of a contig that may be used without asking; none for names we do not know."""
    if name in (*_MITOCHONDRIAL, "NC_012920.1"):
        return (*_MITOCHONDRIAL, "NC_012920.1") if length == RCRS_LENGTH else ("chrM", "M", "NC_001807.4")
    bare = name.removeprefix("chr")
    return (bare, f"chr{bare}") if bare in _NUCLEAR else ()


def human_accessions(assembly: str) -> dict[str, str]:
    """Accession → bare name of the nuclear chromosomes, for GRCh37 or GRCh38: the version tells the two apart."""
    step = {"GRCh37": 0, "GRCh38": 1}[assembly]
    return {
        f"NC_{number:06d}.{version + step}": name
        for number, (version, name) in enumerate(zip(_GRCH37_VERSION, _NUCLEAR, strict=True), start=1)
    }


def name_table(contigs: Iterable[Sized]) -> Mapping[str, str]:
    """Every name → the reference's own; a name that two contigs could claim resolves to neither."""
    known = list(contigs)
    claims: dict[str, set[str]] = {}
    for contig in known:
        for alias in (*contig.aliases, *usual_names(contig.name, contig.length)):
            claims.setdefault(alias, set()).add(contig.name)
    table = {alias: owners.pop() for alias, owners in claims.items() if len(owners) == 1}
    return table | {contig.name: contig.name for contig in known}
