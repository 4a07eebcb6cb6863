"""The nouns of the intake check: what was found, line by line and for the file as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from foundation.file_reasons import FileReason
from orders.intake.errors import FileRefused


class Kind(StrEnum):
    VCF = "vcf"
    FASTA = "fasta"
    FASTQ = "fastq"


class Outcome(StrEnum):
    ACCEPTED = "accepted"  # will be scored
    PARKED = "parked"  # sound, but this version cannot score it: a person decides
    REFUSED = "refused"  # wrong in itself
    NOT_CARRIED = "not_carried"  # the chosen sample does not have this allele
    NO_CALL = "no_call"  # it is not known whether the sample has it


class State(StrEnum):
    ACCEPTED = "accepted"
    ACCEPTED_WITH_EXCEPTIONS = "accepted_with_exceptions"
    REFUSED = "refused"


class Zygosity(StrEnum):
    HETEROZYGOUS = "heterozygous"
    HOMOZYGOUS = "homozygous"
    HAPLOID = "haploid"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Limits:
    """Sizes above which a file, a line or an allele is not taken."""

    max_decompressed: int = 4 << 30  # bytes of text in one file
    max_ratio: int = 250  # text bytes per compressed byte; sequencing data stays below 100
    ratio_floor: int = 16 << 20  # bytes of text before the ratio is looked at
    max_line: int = 4 << 20  # bytes; FASTA sequence lines have no limit
    max_header: int = 16 << 20  # bytes of VCF header
    max_items: int = 5_000_000  # records × ALT, sequences or reads
    max_allele: int = 256  # bases in REF or ALT
    max_event: int = 0  # bases of a symbolic deletion, duplication or inversion; 0: none is scored
    max_sequence: int = 2_000_000  # bases in one sequence or read
    remembered_names: int = 200_000  # sequence names kept to find duplicates
    remembered_variants: int = 20_000  # accepted variants kept to find duplicates
    batch: int = 2_000  # verdicts held back while their alleles are normalised
    proof_sample: int = 1_000  # records after which a wrong reference stops the check


@dataclass(frozen=True, slots=True)
class Verdict:
    """One record × ALT of a VCF, one sequence of a FASTA, one read of a FASTQ."""

    line: int  # of the text after decompression, from 1
    outcome: Outcome
    alt_index: int = 0  # as in the genotype, from 1; 0 where the record was not read as far, and for sequences
    code: FileReason | None = None  # why it is not accepted
    reason: str = ""  # the same in words; for an accepted item the words of its flags
    flags: tuple[FileReason, ...] = ()  # said about an accepted item
    contig: str = ""  # the reference's name, where the contig is known
    submitted_contig: str = ""  # the file's name for it
    position: int = 0  # 1-based
    ref: str = ""
    alt: str = ""
    end: int = 0  # last base of a symbolic event, 1-based; 0: the alleles are written out
    # The normalised (trimmed, left-aligned) form; 0 until it was worked out. A single base for a single base is its own, and a
    # symbolic event stays where the caller put it.
    norm_position: int = 0
    norm_ref: str = ""
    norm_alt: str = ""
    genotype: str = ""  # as written in the sample column
    zygosity: Zygosity = Zygosity.UNKNOWN
    phased: bool = False
    filter: str = ""  # as written; "." where no filter was run
    name: str = ""  # the VCF's ID column, or the name of the sequence
    sequence_offset: int = 0  # byte of the decompressed text where the bases begin
    sequence_length: int = 0  # bases


class Boundary:
    """Between two records: what came before is judged, and nothing behind it was read. Here a check can be interrupted."""


BOUNDARY = Boundary()


@dataclass(frozen=True)
class Problem:
    """Something about the file as a whole; fatal ones refuse it."""

    code: FileReason
    line: int | None
    reason: str
    fatal: bool
    lines: int = 1  # how many lines it was seen on


@dataclass(frozen=True)
class BuildProof:
    """Why the file is believed to belong to the reference."""

    lengths_matched: tuple[str, ...] = ()  # contigs whose declared length is the reference's
    lengths_contradicting: tuple[str, ...] = ()
    ref_checked: int = 0  # records whose REF could be compared
    ref_matched: int = 0

    @property
    def match_rate(self) -> float | None:
        return self.ref_matched / self.ref_checked if self.ref_checked else None


@dataclass(frozen=True)
class FileVerdict:
    """The file as a whole, once every verdict was read."""

    state: State
    filename: str
    kind: Kind | None
    compression: str  # plain, gzip or bgzip
    problems: tuple[Problem, ...]
    samples: tuple[str, ...]  # of the header
    sample: str | None  # the one the verdicts speak of
    records: int  # records, sequences or reads
    items: int  # records × ALT
    counts: Mapping[Outcome, int]  # add up to items
    codes: Mapping[FileReason, int]  # items by reason code and by flag
    reference: str | None
    reference_digest: str | None
    build: BuildProof
    lines: int
    bytes_read: int
    bytes_of_text: int

    @property
    def accepted(self) -> int:
        return self.counts[Outcome.ACCEPTED]

    @property
    def refusal(self) -> Problem | None:
        return next((problem for problem in self.problems if problem.fatal), None)


@dataclass(frozen=True)
class Progress:
    """Where a running check stands."""

    bytes_read: int
    bytes_total: int
    lines: int
    items: int


@dataclass
class Tally:
    """What the readers of one file have counted and noticed so far."""

    limits: Limits
    kind: Kind | None = None
    samples: tuple[str, ...] = ()
    sample: str | None = None
    records: int = 0
    items: int = 0
    lines: int = 0
    lengths_matched: list[str] = field(default_factory=list)
    lengths_contradicting: list[str] = field(default_factory=list)
    ref_checked: int = 0
    ref_matched: int = 0
    notes: dict[FileReason, Problem] = field(default_factory=dict)

    def note(self, reason: FileReason, line: int | None, **values: object) -> None:
        """Say something once, with the first line it was seen on and the number of lines."""
        first = self.notes.get(reason)
        if first is None:
            self.notes[reason] = Problem(reason, line, reason.say(**values), fatal=False)
        else:
            self.notes[reason] = Problem(reason, first.line, first.reason, fatal=False, lines=first.lines + 1)

    def count(self, items: int, *, line: int) -> None:
        """One more record with so many ALT, or one more sequence; raises FileRefused above the limit."""
        if self.items + items > self.limits.max_items:
            raise FileRefused(FileReason.FILE_TOO_MANY_ITEMS, at_line=line, limit=f"{self.limits.max_items:,}")
        self.records += 1
        self.items += items

    def build(self) -> BuildProof:
        return BuildProof(tuple(self.lengths_matched), tuple(self.lengths_contradicting), self.ref_checked, self.ref_matched)
