"""Open reading frames: from the first ATG or GTG after a stop to the next stop, on both strands.

These are frames, not annotated genes: a long frame on the wrong strand of a gene counts too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models.training.genome import GENOME_END, OTHER, TRAINING_END, Codes, encode, reverse_complement

UPSTREAM, DOWNSTREAM = 60, 30  # bases around a frame that its windows may also use
TRAINING_MINIMUM, HELDOUT_MINIMUM = 600, 900


@dataclass(frozen=True, order=True)
class Frame:
    start: int  # 1-based, inclusive, on the forward strand; start < end on either strand
    end: int  # inclusive; the stop codon belongs to the frame
    strand: str  # "+" or "-"

    @property
    def coding_bases(self) -> int:
        """Bases from the start codon up to, and without, the stop codon."""
        return self.end - self.start + 1 - 3

    def sense(self, genome: Codes) -> Codes:
        """The frame as it is read, start codon first."""
        forward = genome[self.start - 1 : self.end]
        return forward if self.strand == "+" else reverse_complement(forward)

    def with_flanks(self, *, first: int, last: int) -> "Frame":
        """The span its windows are drawn from, clipped to positions first to last."""
        left, right = (UPSTREAM, DOWNSTREAM) if self.strand == "+" else (DOWNSTREAM, UPSTREAM)
        return Frame(max(first, self.start - left), min(last, self.end + right), self.strand)

    def without_stop(self) -> "Frame":
        """From the start codon to the last codon before the stop."""
        return replace(self, end=self.end - 3) if self.strand == "+" else replace(self, start=self.start + 3)


def find_frames(genome: Codes, *, first: int, last: int, minimum: int) -> list[Frame]:
    """Frames of at least `minimum` coding bases, read wholly inside positions first to last, in order of position."""
    region = genome[first - 1 : last]
    found = []
    for strand, sequence in (("+", region), ("-", reverse_complement(region))):
        for begin, stop in _spans(sequence, minimum):
            end = stop + 3  # half-open, in the strand's own coordinates
            if strand == "-":
                begin, end = len(region) - end, len(region) - begin
            found.append(Frame(first + begin, first + end - 1, strand))
    return sorted(found)


def training_spans(genome: Codes) -> list[Frame]:
    """What training may read: frames before the held-out region, with flanks that end there too."""
    return [frame.with_flanks(first=1, last=TRAINING_END) for frame in training_frames(genome)]


def training_coding(genome: Codes) -> list[Frame]:
    """The same frames without flanks and without the stop codon."""
    return [frame.without_stop() for frame in training_frames(genome)]


def training_frames(genome: Codes) -> list[Frame]:
    return find_frames(genome, first=1, last=TRAINING_END, minimum=TRAINING_MINIMUM)


def heldout_frames(genome: Codes) -> list[Frame]:
    """What the model is measured on and training never reads."""
    return find_frames(genome, first=TRAINING_END + 1, last=GENOME_END, minimum=HELDOUT_MINIMUM)


def _spans(sequence: Codes, minimum: int) -> Iterator[tuple[int, int]]:
    """0-based (first base of the start codon, first base of the stop codon) of every long enough frame."""
    for phase in range(3):
        codons = _codon_numbers(sequence[phase:])
        stops = np.flatnonzero(np.isin(codons, _numbers("TAA", "TAG", "TGA")))
        starts = np.flatnonzero(np.isin(codons, _numbers("ATG", "GTG")))
        previous = np.concatenate([[-1], stops[:-1]])
        nearest = np.searchsorted(starts, previous, side="right")  # the first start after the previous stop
        for stop, index in zip(stops, nearest, strict=True):
            if index < len(starts) and 3 * (stop - starts[index]) >= minimum:
                yield phase + 3 * int(starts[index]), phase + 3 * int(stop)


def _codon_numbers(sequence: Codes) -> NDArray[np.int16]:
    """One number a codon, 25 a + 5 b + c, so that a codon with an unknown base equals no start and no stop."""
    codons = sequence[: len(sequence) // 3 * 3].reshape(-1, 3).astype(np.int16)
    return (codons @ np.array([25, OTHER + 1, 1], np.int16)).astype(np.int16)


def _numbers(*codons: str) -> list[int]:
    return [int(_codon_numbers(encode(codon))[0]) for codon in codons]
