"""The normalised form beside the submitted one: trimmed and left-aligned by bcftools, in batches of bounded size.

bcftools is shown only plain bases that were checked before, since it silently moves symbolic alleles. Each allele goes
in with its own piece of the reference, so any ReferenceView will do; where shifting reaches the edge of the piece, the
allele is tried again with a wider one.
"""

from __future__ import annotations

import re
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import pysam.bcftools
from pysam.utils import SamtoolsError

from foundation.file_reasons import FileReason
from orders.intake.errors import FileRefused
from orders.intake.reference import ReferenceView
from orders.intake.verdicts import BOUNDARY, Boundary, Limits, Outcome, Verdict

FLANK, WIDER = 200, 16
_NOT_A_BASE = re.compile("[^ACGT]")
_ONE_AT_A_TIME = threading.Lock()  # bcftools inside pysam keeps its state in globals


class Allele(NamedTuple):
    contig: str
    position: int  # 1-based
    ref: str
    alt: str


def normalised(
    verdicts: Iterator[Verdict | Boundary], *, reference: ReferenceView, limits: Limits, repeats: Repeats
) -> Iterator[Verdict | Boundary]:
    """The same verdicts in the same order; accepted ones gain their normalised form and a flag where they repeat.

    A boundary is passed on where nothing is held back, which is between two records unless one has thousands of ALT.
    """
    batch: list[Verdict] = []
    try:
        for verdict in verdicts:
            if not isinstance(verdict, Boundary):
                batch.append(verdict)
                full = len(batch) >= 2 * limits.batch
            else:
                full = len(batch) >= limits.batch
            if full:
                yield from _settled(batch, reference, repeats)
                batch = []
            if verdict is BOUNDARY and not batch:
                yield BOUNDARY
    except FileRefused:
        yield from _settled(batch, reference, repeats)
        raise
    yield from _settled(batch, reference, repeats)


def left_aligned(alleles: list[Allele], reference: ReferenceView) -> list[Allele | None]:
    """Each allele in its shortest, leftmost form; None for one that bcftools could not work out."""
    results: list[Allele | None] = list(alleles)
    waiting, flank = list(range(len(alleles))), FLANK
    while waiting:
        found = _run([alleles[index] for index in waiting], flank, reference)
        again = []
        for index, (moved, at_edge) in zip(waiting, found, strict=True):
            results[index] = moved
            if at_edge:
                again.append(index)
        waiting, flank = again, flank * WIDER
    return results


class Repeats:
    """Accepted variants seen lately, with the line they were first on. Sorted files need no more than a handful."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._lines: OrderedDict[tuple[Allele, int], int] = OrderedDict()

    @property
    def state(self) -> list[list[str | int]]:
        """Every variant with its line, the one seen first before the others, for `resumed`."""
        return [[*allele, end, line] for (allele, end), line in self._lines.items()]

    def resumed(self, state: Sequence[Any]) -> Self:
        """The same variants, as they were left."""
        self._lines = OrderedDict(((Allele(*allele), end), line) for *allele, end, line in state)
        return self

    def first_line(self, allele: Allele, end: int, line: int) -> int | None:
        """`end` is that of a symbolic event."""
        if (allele, end) in self._lines:
            return self._lines[allele, end]
        self._lines[allele, end] = line
        if len(self._lines) > self._kept:
            self._lines.popitem(last=False)
        return None


def _settled(batch: list[Verdict], reference: ReferenceView, repeats: Repeats) -> Iterator[Verdict]:
    movable = [_submitted(verdict) for verdict in batch if verdict.outcome is Outcome.ACCEPTED and _moves(verdict)]
    moved = iter(left_aligned(movable, reference))
    for verdict in batch:
        if verdict.outcome is not Outcome.ACCEPTED:
            yield verdict
            continue
        form = next(moved) if _moves(verdict) else _submitted(verdict)
        yield _with_form(verdict, form, repeats)


def _submitted(verdict: Verdict) -> Allele:
    return Allele(verdict.contig, verdict.position, verdict.ref, verdict.alt)


def _moves(verdict: Verdict) -> bool:
    """Its normal form has to be worked out."""
    return not verdict.norm_position


def _with_form(verdict: Verdict, form: Allele | None, repeats: Repeats) -> Verdict:
    first = repeats.first_line(form or _submitted(verdict), verdict.end, verdict.line)
    if first is None and not _moves(verdict):
        return verdict
    flags, words = list(verdict.flags), [verdict.reason] if verdict.reason else []
    if form is None:
        flags.append(FileReason.VCF_NOT_NORMALISED)
        words.append(FileReason.VCF_NOT_NORMALISED.say())
        form = _submitted(verdict)
    if first is not None:
        flags.append(FileReason.VCF_DUPLICATE)
        words.append(FileReason.VCF_DUPLICATE.say(first=first))
    return replace(
        verdict, norm_position=form.position, norm_ref=form.ref, norm_alt=form.alt, flags=tuple(flags), reason=" ".join(words)
    )


def _run(alleles: list[Allele], flank: int, reference: ReferenceView) -> list[tuple[Allele | None, bool]]:
    """One call of bcftools; with each result whether it stopped at the edge of its piece."""
    starts = [max(0, allele.position - 1 - flank) for allele in alleles]
    fasta, header, body = [], ["##fileformat=VCFv4.2"], []
    for index, (allele, start) in enumerate(zip(alleles, starts, strict=True)):
        before = reference.fetch(allele.contig, start, allele.position - 1)
        end = allele.position - 1 + len(allele.ref)
        # Ambiguity codes around the allele stop its shift just as N does; bcftools knows only N.
        after = reference.fetch(allele.contig, end, end + 1)
        piece = _NOT_A_BASE.sub("N", before) + allele.ref + _NOT_A_BASE.sub("N", after)
        fasta.append(f">{index}\n{piece}\n")
        header.append(f"##contig=<ID={index},length={len(piece)}>")
        body.append(f"{index}\t{allele.position - start}\t.\t{allele.ref}\t{allele.alt}\t.\t.\t.")
    header.append("#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO")
    rows = _bcftools_norm("".join(fasta), "\n".join(header + body) + "\n")
    results: list[tuple[Allele | None, bool]] = [(None, False)] * len(alleles)
    for row in rows:
        name, position, _, ref, alt = row.split("\t", 5)[:5]
        index, local = int(name), int(position)
        moved = Allele(alleles[index].contig, starts[index] + local, ref, alt)
        results[index] = (moved, local == 1 and starts[index] > 0)
    return results


def _bcftools_norm(fasta: str, vcf: str) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="normalise-") as folder:
        pieces, submitted, result = (Path(folder, name) for name in ("pieces.fa", "submitted.vcf", "normalised.vcf"))
        pieces.write_text(fasta)
        submitted.write_text(vcf)
        try:
            with _ONE_AT_A_TIME:
                pysam.bcftools.norm("-f", str(pieces), "-c", "e", "-o", str(result), str(submitted), catch_stdout=False)
        except SamtoolsError:
            return []  # said per allele: vcf.not-normalised
        return [line for line in result.read_text().splitlines() if not line.startswith("#")]
