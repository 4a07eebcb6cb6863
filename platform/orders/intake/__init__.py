"""The intake check: what is in an uploaded file, line by line, before anything is ordered.

Our own checker comes first, with line numbers and words a laboratory understands; only what it accepted is shown to
bcftools for the normalised form. It knows no Django and no database.

    check = intake.check(path, filename="panel.vcf", reference=reference, sample="NA12878")
    for verdict in check: ...
    check.summary.state
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from orders.intake.check import EVERY_KIND, Check
from orders.intake.contig_names import human_accessions
from orders.intake.errors import FileChanged, IntakeError, NotFinished, ReferenceUnusable
from orders.intake.reading import Place
from orders.intake.reference import Contig, FastaReference, ReferenceView
from orders.intake.resuming import State as Resumable
from orders.intake.resuming import packed, unpacked
from orders.intake.sequences import SequenceReader, read_sequences
from orders.intake.verdicts import (
    BuildProof,
    FileVerdict,
    Kind,
    Limits,
    Outcome,
    Problem,
    Progress,
    State,
    Verdict,
    Zygosity,
)

__all__ = [
    "EVERY_KIND",
    "BuildProof",
    "Check",
    "Contig",
    "FastaReference",
    "FileChanged",
    "FileVerdict",
    "IntakeError",
    "Kind",
    "Limits",
    "NotFinished",
    "Outcome",
    "Place",
    "Problem",
    "Progress",
    "ReferenceUnusable",
    "ReferenceView",
    "Resumable",
    "SequenceReader",
    "State",
    "Verdict",
    "Zygosity",
    "check",
    "human_accessions",
    "packed",
    "read_sequences",
    "unpacked",
]


def check(
    path: Path,
    *,
    filename: str,
    reference: ReferenceView | None,
    sample: str | None = None,
    accept: frozenset[Kind] = EVERY_KIND,
    limits: Limits | None = None,
    progress: Callable[[Progress], None] | None = None,
    state: Resumable | None = None,
) -> Check:
    """Iterate the result for the verdicts; `.summary` afterwards is the verdict on the file. `progress` is called per chunk.

    `state` is that of an interrupted check of the same file; `.resumed` says whether it could be used.
    """
    return Check(
        path,
        filename=filename,
        reference=reference,
        sample=sample,
        accept=accept,
        limits=limits or Limits(),
        progress=progress,
        state=state,
    )
