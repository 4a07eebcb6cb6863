"""What the tests of this folder share: writing a small file, checking it, and looking at the verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from foundation.file_reasons import FileReason
from orders import intake
from orders.intake import FileVerdict, Kind, Limits, ReferenceView, Verdict

# Contig 1 has 60 bases and a run of A at 21–30; contig MT is short, so no alias of the real one applies.
ONE = "ACGTACGTAC" "GGCCTTGACT" "AAAAAAAAAA" "GTGTGTGTCC" "ACGTNNACGT" "TTGACCATGA"  # fmt: skip
TWO = "TTTTGGGGCCCCAAAATTTTGGGGCCCCAAAATTTTGGGGCCCC"
COLUMNS = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"


@dataclass(frozen=True)
class Judged:
    verdicts: Sequence[Verdict]
    summary: FileVerdict

    @property
    def only(self) -> Verdict:
        (verdict,) = self.verdicts
        return verdict

    @property
    def codes(self) -> list[FileReason | None]:
        return [verdict.code for verdict in self.verdicts]

    @property
    def refused_for(self) -> FileReason | None:
        return self.summary.refusal.code if self.summary.refusal else None

    @property
    def notes(self) -> set[FileReason]:
        return {problem.code for problem in self.summary.problems if not problem.fatal}


def judge(
    path: Path,
    content: str | bytes | None = None,
    *,
    reference: ReferenceView | None = None,
    sample: str | None = None,
    accept: frozenset[Kind] = intake.EVERY_KIND,
    limits: Limits | None = None,
) -> Judged:
    """Check a file (written first where content is given); the promise of the counts is asserted for every one."""
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    check = intake.check(path, filename=path.name, reference=reference, sample=sample, accept=accept, limits=limits)
    verdicts = list(check)
    summary = check.summary
    assert sum(summary.counts.values()) == summary.items == len(verdicts)
    assert all(verdict.code and verdict.reason and verdict.line for verdict in verdicts if verdict.outcome != "accepted")
    return Judged(verdicts, summary)


def vcf(*records: str, samples: Sequence[str] = (), header: Sequence[str] = ("##fileformat=VCFv4.2",)) -> str:
    """A VCF of records written with blanks for tabs; with samples, FORMAT and genotypes follow INFO."""
    columns = "\t".join((COLUMNS, "FORMAT", *samples)) if samples else COLUMNS
    return "\n".join((*header, columns, *("\t".join(record.split()) for record in records))) + "\n"


def sites(*alleles: str) -> str:
    """A sites-only VCF of `contig position ref alt` entries."""
    return vcf(*(f"{contig} {position} . {ref} {alt} . PASS ." for contig, position, ref, alt in map(str.split, alleles)))
