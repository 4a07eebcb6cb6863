"""The contigs of a result's header: what others need before they can index it, and many callers leave out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from engine.command_line import survey
from engine.command_line.reference import Reference
from engine.command_line.vcf import UNNAMEABLE, Header

_LENGTH = re.compile(r"##contig=<(?:[^<>]*?,)??ID=([^,>]+)[^<>]*")
_BASES = re.compile(r"[<,]length=([0-9]{1,12})(?=[,>]|$)")
_PREFIX = "chr"
_UNTOLD = (1 << 31) - 1  # the length that htslib writes where nobody told it one


def declared(header: Header, used: Iterable[str], reference: Reference) -> Header:
    """The header with a line for every contig that it lacks: those of the reference, and all others that records name.

    `used` are the contigs of the records. Each is declared as the records spell it; a contig of the reference that none of them
    names, as they would spell it. Contigs of the header stay as they are.
    """
    used, known = list(used), survey.declared(header)["contig"]
    spelled: dict[str | None, list[str]] = {}
    for name in used:
        spelled.setdefault(reference.named(name), []).append(name)
    there = known.union(used)
    there |= {_other(name) for name in there}
    model = next((name for name in used if reference.named(name) is not None), None)
    lines = []
    for contig, length in reference.lengths.items():
        names = spelled.get(contig) or ([] if contig in there else [_named(contig, model, reference)])
        lines += [f"##contig=<ID={name},length={length}>" for name in names if name not in known and not UNNAMEABLE.search(name)]
    lines += [f"##contig=<ID={name}>" for name in spelled.get(None, []) if name not in known]
    return replace(header, meta=(*header.meta, *lines))


def of_other_lengths(header: Header, used: Iterable[str], reference: Reference) -> list[tuple[str, int, int]]:
    """Contigs of records that have another length in the header than in the reference: name and both."""
    used, found = set(used), []
    for line in header.meta:
        said = _LENGTH.match(line)
        bases = _BASES.search(said[0]) if said and said[1] in used else None
        contig = reference.named(said[1]) if said and bases else None
        if said and bases and contig and int(bases[1]) not in (reference.lengths[contig], _UNTOLD):
            found.append((said[1], int(bases[1]), reference.lengths[contig]))
    return found


def _named(contig: str, model: str | None, reference: Reference) -> str:
    """As the file would call it: with the prefix, or without, where its first known contig goes by that other name alone."""
    if model is None or reference.named(model) == model:
        return contig
    return contig if contig.startswith(_PREFIX) is model.startswith(_PREFIX) else _other(contig)


def _other(name: str) -> str:
    return name.removeprefix(_PREFIX) if name.startswith(_PREFIX) else f"{_PREFIX}{name}"
