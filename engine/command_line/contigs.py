"""The contigs of a result's header: what others need before they can index it, and many callers leave out."""

from __future__ import annotations

import re
from dataclasses import replace

from engine.command_line.reference import Reference
from engine.command_line.vcf import Broken, Header, Record

_NAME = re.compile(r"##contig=<(?:[^<>]*,)?ID=([^,>]+)")
_PREFIX = "chr"


def declared(header: Header, first: Record | Broken | None, reference: Reference) -> Header:
    """The header with a line for every contig of the reference that it lacks, named as the first record names its own.

    Contigs of the header that the reference does not hold stay as they are.
    """
    known = {found[1] for line in header.meta if (found := _NAME.match(line))}
    known |= {_other(name) for name in known}
    lines = [
        f"##contig=<ID={_named(contig, first, reference)},length={length}>"
        for contig, length in reference.lengths.items()
        if contig not in known
    ]
    return replace(header, meta=(*header.meta, *lines))


def _named(contig: str, first: Record | Broken | None, reference: Reference) -> str:
    """As the file would call it: with the prefix, or without, where its first record is known by that other name alone."""
    found = reference.named(first.contig) if isinstance(first, Record) else None
    if not isinstance(first, Record) or found in (None, first.contig):
        return contig
    return contig if contig.startswith(_PREFIX) is first.contig.startswith(_PREFIX) else _other(contig)


def _other(name: str) -> str:
    return name.removeprefix(_PREFIX) if name.startswith(_PREFIX) else f"{_PREFIX}{name}"
