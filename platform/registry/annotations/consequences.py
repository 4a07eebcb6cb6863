"""What a change does to the transcripts it meets, by bcftools csq: each change alone, one line for the gravest consequence.

The tool is handed only the genes around the changes, so that a whole genome's annotation costs no memory. Each run has a process of
its own: within one, the tool remembers the last position of the file before, and refuses a second file that begins further left.
"""

import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pysam
from pysam.version import __bcftools_version__

from registry.annotations import canonical
from registry.annotations.transcripts import Span

TOOL = f"bcftools csq {__bcftools_version__}"
NO_ANNOTATION = "no annotation"
UNKNOWN = "not worked out"  # begins what is said where there is none
UNWRITTEN = f"{UNKNOWN}: not written in A, C, G and T"
REFUSED = f"{UNKNOWN}: bcftools refuses this record"
GIVEN_UP = f"{UNKNOWN}: bcftools refused too many records of this file"
INTERGENIC = "intergenic"
UNNAMED = "no consequence named"  # within a gene that the tool says nothing of, such as one of an unusual kind
AROUND = 10  # bases beside a change in which a gene may begin
BLOCK = 8192  # bases whose genes are looked up together: neighbours among the changes share them
_CSQ = "import sys, pysam.bcftools; pysam.bcftools.csq(*sys.argv[1:], catch_stdout=False)"
RUN_SECONDS = 120.0  # of one run of the tool, for all changes of a batch
SHOWN = "4"  # amino acids of a longer stretch
# From the gravest on, as the tool names them.
_GRAVITY = (
    "transcript_ablation", "feature_ablation", "splice_acceptor", "splice_donor", "stop_gained", "frameshift", "stop_lost",
    "start_lost", "feature_elongation", "inframe_altering", "inframe_insertion", "inframe_deletion", "missense", "splice_region",
    "start_retained", "stop_retained", "synonymous", "5_prime_utr", "3_prime_utr", "non_coding", "intron", "coding_sequence",
)  # fmt: skip


@dataclass(frozen=True)
class Change:
    """Upper-case bases at a 1-based position of a contig, as the reference names it."""

    contig: str
    position: int
    ref: str
    alt: str


@dataclass
class Patience:
    """What is left of the search for single records that the tool refuses: among 2,000 changes it takes eleven runs for each."""

    runs: int = 1000  # refused ones
    seconds: float = 300.0  # spent on them

    def spend(self, seconds: float) -> None:
        """One more refused run, and how long it took."""
        self.runs, self.seconds = self.runs - 1, self.seconds - seconds


class Consequences:
    """The annotation of one reference, for the changes of one file. `unknown` counts those without a consequence, by reason."""

    def __init__(self, annotation: Path, fasta: Path, codes: Mapping[str, int], patience: Patience | None = None) -> None:
        self._fasta, self._codes = fasta, codes
        self._index = pysam.TabixFile(str(annotation))
        self.patience = patience or Patience()
        self.unknown: Counter[str] = Counter()

    def of(self, changes: Sequence[Change]) -> list[str]:
        """A sentence of a few words for each change, in their order."""
        found = [UNWRITTEN] * len(changes)
        by_code: dict[int, list[int]] = {}
        for place, change in enumerate(changes):
            if change.contig not in self._codes:
                found[place] = INTERGENIC
            elif change.ref.strip("ACGT") == change.alt.strip("ACGT") == "" and change.ref and change.alt:
                by_code.setdefault(self._codes[change.contig], []).append(place)
        for code, places in by_code.items():
            places.sort(key=lambda place: (changes[place].contig, changes[place].position))
            genes, lines = self._around([changes[place] for place in places])
            within = [place for place, gene in zip(places, genes, strict=True) if gene]
            for place in places:
                found[place] = INTERGENIC
            for place, said in zip(within, self._run([changes[p] for p in within], lines, code), strict=True):
                found[place] = said
        self.unknown.update(said for said in found if said.startswith(UNKNOWN))
        return found

    def _around(self, changes: Sequence[Change]) -> tuple[list[bool], list[str]]:
        """Whether each change lies in a gene, and every line of those genes."""
        inside, genes, blocks = [], dict[str, tuple[str, Span]](), dict[tuple[str, int], dict[str, Span]]()
        for change in changes:
            first, last = change.position, change.position + len(change.ref) - 1
            near = dict[str, Span]()
            for block in range((first - AROUND) // BLOCK, (last + AROUND) // BLOCK + 1):
                if (change.contig, block) not in blocks:
                    lines = self._fetch(change.contig, block * BLOCK, (block + 1) * BLOCK)
                    blocks[change.contig, block] = canonical.genes_of(lines)
                near |= blocks[change.contig, block]
            inside.append(any(start <= last and first <= end for start, end in near.values()))
            near = {gene: span for gene, span in near.items() if span[0] <= last + AROUND and first - AROUND <= span[1]}
            genes |= {gene: (change.contig, span) for gene, span in near.items()}
        lines = [
            line for gene, (contig, span) in genes.items() for line in self._fetch(contig, *span) if canonical.gene_of(line) == gene
        ]
        return inside, lines

    def _fetch(self, contig: str, start: int, end: int) -> list[str]:
        if contig not in self._index.contigs:
            return []
        return list(self._index.fetch(contig, max(start - 1, 0), end))

    def _run(self, changes: Sequence[Change], lines: Sequence[str], code: int, *, searching: bool = False) -> list[str]:
        """One run for all; where the tool refuses them, halves, down to the one that it refuses, as far as the patience goes."""
        if not changes:
            return []
        if self.patience.seconds <= 0 or (searching and self.patience.runs <= 0):
            return [GIVEN_UP] * len(changes)
        began = time.monotonic()
        try:
            return _csq(changes, lines, self._fasta, code)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            self.patience.spend(time.monotonic() - began)
        if len(changes) == 1:
            return [REFUSED]
        half = len(changes) // 2
        return [said for part in (changes[:half], changes[half:]) for said in self._run(part, lines, code, searching=True)]


def _csq(changes: Sequence[Change], lines: Sequence[str], fasta: Path, code: int) -> list[str]:
    contigs = dict.fromkeys(change.contig for change in changes)
    header = ["##fileformat=VCFv4.2", *(f"##contig=<ID={contig}>" for contig in contigs)]
    rows = [f"{c.contig}\t{c.position}\t{n}\t{c.ref}\t{c.alt}\t.\t.\t." for n, c in enumerate(changes)]
    with tempfile.TemporaryDirectory(prefix="consequence-") as folder:
        gff, vcf, out = (Path(folder, name) for name in ("genes.gff3", "changes.vcf", "said.vcf"))
        gff.write_text("##gff-version 3\n" + "\n".join(lines) + "\n")
        vcf.write_text("\n".join([*header, "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO", *rows]) + "\n")
        asked = ("-f", str(fasta), "-g", str(gff), "-l", "-B", SHOWN, "-C", str(code), "--verbosity", "0", "-o", str(out), str(vcf))
        command = [sys.executable, "-c", _CSQ, *asked]
        subprocess.run(command, check=True, capture_output=True, timeout=RUN_SECONDS)  # noqa: S603 -- no shell
        said = [UNNAMED] * len(changes)
        for line in out.read_text().splitlines():
            if not line.startswith("#"):
                columns = line.split("\t")
                said[int(columns[2])] = _gravest(columns[7])
    return said


def _gravest(info: str) -> str:
    """The gravest of the consequences that BCSQ lists: its name, gene and transcript, and the change of the protein."""
    field = next((part for part in info.split(";") if part.startswith("BCSQ=")), "")
    told = [entry.split("|") for entry in field.removeprefix("BCSQ=").split(",") if "|" in entry]
    if not told:
        return UNNAMED
    columns = min(told, key=lambda entry: (_gravity(entry[0]), entry[2]))
    names = columns[0].lstrip("*").replace("&", ", ").replace("_", " ")
    protein = columns[5] if len(columns) > 5 else ""
    transcript = f"({columns[2]})" if columns[2] not in ("", columns[1]) else ""  # a gene of one transcript often lends it its name
    return " ".join(filter(None, (names, columns[1], protein, transcript)))


def _gravity(names: str) -> int:
    return min(_GRAVITY.index(name) if name in _GRAVITY else len(_GRAVITY) for name in names.lstrip("*").split("&"))
