"""The nouns of an annotation: a transcript on a contig, and what was read from a file."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

Span = tuple[int, int]  # 1-based, both ends included

# Codons that end a protein, by NCBI translation table. Tables in which every stop codon may also be read through are left out.
_USUAL = ("TAA", "TAG", "TGA")
STOPS: dict[int, tuple[str, ...]] = {
    1: _USUAL, 2: ("TAA", "TAG", "AGA", "AGG"), 3: ("TAA", "TAG"), 4: ("TAA", "TAG"), 5: ("TAA", "TAG"), 6: ("TGA",),
    9: ("TAA", "TAG"), 10: ("TAA", "TAG"), 11: _USUAL, 12: _USUAL, 13: ("TAA", "TAG"), 14: ("TAG",), 16: ("TAA", "TGA"),
    21: ("TAA", "TAG"), 22: ("TCA", "TAA", "TGA"), 23: ("TTA", "TAA", "TAG", "TGA"), 24: ("TAA", "TAG"), 25: ("TAA", "TAG"),
    26: _USUAL, 29: ("TGA",), 30: ("TGA",), 33: ("TAG",),
}  # fmt: skip
STANDARD = 1


@dataclass(frozen=True)
class Transcript:
    """One transcript. Spans ascend on the contig, whatever the strand."""

    contig: str  # as the file names it, until it is resolved
    strand: str  # + or -
    gene: str  # as people call it
    gene_id: str
    name: str
    biotype: str
    exons: tuple[Span, ...]
    coding: tuple[Span, ...] = ()  # empty: codes for no protein
    phase: int = 0  # bases before the first whole codon, at the 5' end
    code: int = 0  # NCBI translation table; 0: the file does not say

    @property
    def start(self) -> int:
        """First base."""
        return self.exons[0][0]

    @property
    def end(self) -> int:
        """Last base."""
        return self.exons[-1][1]


@dataclass
class Read:
    """What a file holds. `skipped` counts what cannot be used, by reason; `lengths` are those it states of its contigs."""

    transcripts: list[Transcript] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    lengths: dict[str, int] = field(default_factory=dict)


def in_order(spans: tuple[Span, ...]) -> bool:
    """Whether spans ascend and do not overlap; a frame that slips, or runs over the origin of a circle, does not."""
    return all(left[1] < right[0] for left, right in pairwise(spans)) and all(a <= b for a, b in spans)
