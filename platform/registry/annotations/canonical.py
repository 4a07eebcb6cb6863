"""One form for every annotation: GFF3 as bcftools csq reads it, sorted, with the gene on every line, bgzip with an index."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pysam

from registry import leftovers
from registry.annotations.transcripts import Span, Transcript

SOURCE = "helicase"
_PLAIN = re.compile(r"[^A-Za-z0-9_.:*()'+-]")


def write(transcripts: Sequence[Transcript], folder: Path, *, order: Mapping[str, int]) -> tuple[Path, str]:
    """Write transcripts of resolved contigs, with an index; `order` sorts the contigs. The file, named after its digest, and that.

    Under a name of its own first: what is there already may be read meanwhile, and a file that was cut off is never taken for one.
    To be called while the folder is held by `leftovers.registering`.
    """
    unfinished = leftovers.unfinished(folder, ".gff3.gz")
    try:
        digest = _written(transcripts, unfinished, order)
        path = folder / f"{digest[:32]}.gff3.gz"
        for suffix in (".tbi", ""):  # the file itself last: what has a name is whole
            Path(f"{unfinished}{suffix}").replace(f"{path}{suffix}")
        return path, digest
    finally:
        for suffix in ("", ".tbi"):
            Path(f"{unfinished}{suffix}").unlink(missing_ok=True)


def _written(transcripts: Sequence[Transcript], path: Path, order: Mapping[str, int]) -> str:
    numbered = sorted(_lines(transcripts), key=lambda line: (order[line[0]], line[1], -line[2]))
    digest = hashlib.sha256()
    with pysam.BGZFile(str(path), "wb", None) as out:
        out.write(b"##gff-version 3\n")
        for _contig, _start, _end, text in numbered:
            out.write(text.encode())
            digest.update(text.encode())
    pysam.tabix_index(str(path), preset="gff", force=True)
    return digest.hexdigest()


def digest(path: Path) -> str:
    """SHA-256 of the lines of such a file, read through its index, as they are read for consequences."""
    found = hashlib.sha256()
    with pysam.TabixFile(str(path)) as opened:
        for contig in opened.contigs:
            for line in opened.fetch(contig):
                found.update(f"{line}\n".encode())
    return found.hexdigest()


def plain(text: str) -> str:
    """A name as it may stand in a column of GFF3 and VCF."""
    return _PLAIN.sub("_", text) or "_"


Line = tuple[str, int, int, str]


def _lines(transcripts: Sequence[Transcript]) -> Iterator[Line]:
    genes: dict[tuple[str, str], list[Transcript]] = {}
    for transcript in transcripts:
        genes.setdefault((transcript.contig, transcript.gene_id), []).append(transcript)
    names: set[str] = set()
    for number, ((contig, _gene_id), members) in enumerate(genes.items(), start=1):
        gene, first = f"g{number}", members[0]
        coding = any(member.coding for member in members)
        biotype = "protein_coding" if coding else plain(first.biotype)
        about = f"ID=gene:{gene};Name={plain(first.gene)};biotype={biotype};gene={gene}"
        start, end = min(m.start for m in members), max(m.end for m in members)
        yield _line(contig, "gene", (start, end), first.strand, ".", about)
        for member in members:
            yield from _transcript(member, gene, _unique(plain(member.name), names))


def _unique(name: str, taken: set[str]) -> str:
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}.{number}"
    taken.add(found)
    return found


def _transcript(transcript: Transcript, gene: str, name: str) -> Iterator[Line]:
    contig, strand = transcript.contig, transcript.strand
    kind = "mRNA" if transcript.coding else "transcript"
    about = f"ID=transcript:{name};Parent=gene:{gene};biotype={plain(transcript.biotype)};gene={gene}"
    yield _line(contig, kind, (transcript.start, transcript.end), strand, ".", about)
    part = f"Parent=transcript:{name};gene={gene}"
    for span in transcript.exons:
        yield _line(contig, "exon", span, strand, ".", part)
    for span, phase in _phased(transcript):
        yield _line(contig, "CDS", span, strand, str(phase), part)
    for utr, span in untranslated(transcript):
        yield _line(contig, utr, span, strand, ".", part)


def _phased(transcript: Transcript) -> Iterator[tuple[Span, int]]:
    phase = transcript.phase
    for span in transcript.coding if transcript.strand == "+" else reversed(transcript.coding):
        yield span, phase
        phase = (3 - (span[1] - span[0] + 1 - phase) % 3) % 3


def untranslated(transcript: Transcript) -> Iterator[tuple[str, Span]]:
    """The parts of exons before and behind the coding sequence."""
    if not transcript.coding:
        return
    first, last = transcript.coding[0][0], transcript.coding[-1][1]
    before, behind = ("five_prime_UTR", "three_prime_UTR") if transcript.strand == "+" else ("three_prime_UTR", "five_prime_UTR")
    for start, end in transcript.exons:
        if start < first:
            yield before, (start, min(end, first - 1))
        if end > last:
            yield behind, (max(start, last + 1), end)


def _line(contig: str, kind: str, span: Span, strand: str, phase: str, attributes: str) -> Line:
    columns = (contig, SOURCE, kind, str(span[0]), str(span[1]), ".", strand, phase, attributes)
    return contig, span[0], span[1], "\t".join(columns) + "\n"


def genes_of(lines: Iterable[str]) -> dict[str, Span]:
    """Number and span of the genes among lines of this form."""
    found = {}
    for line in lines:
        columns = line.split("\t")
        if columns[2] == "gene":
            found[gene_of(line)] = (int(columns[3]), int(columns[4]))
    return found


def gene_of(line: str) -> str:
    """The gene that a line of this form belongs to."""
    return line.rstrip("\n").rpartition(";gene=")[2]
