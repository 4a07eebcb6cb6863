"""Held-out genes that training has read all the same: a genome repeats itself, and coordinates keep no copy out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.training.genome import OTHER, TRAINING_END, Codes, reverse_complement
from models.training.heldout import verified_heldout
from models.training.orfs import Frame

RUN = 31  # bases; a run as long does not recur by chance in five million
COPIED_SHARE = 0.1  # of its runs, from which on a gene counts as copied


@dataclass(frozen=True)
class Gene:
    frame: Frame
    copied: bool  # mobile element, doubled gene: no fair measure of what the model generalises


def heldout_genes(genome: Codes) -> list[Gene]:
    frames = verified_heldout(genome)
    shares = copied_shares([frame.sense(genome) for frame in frames], genome[:TRAINING_END])
    return [Gene(frame, share >= COPIED_SHARE) for frame, share in zip(frames, shares, strict=True)]


def copied_shares(sequences: Sequence[Codes], training: Codes) -> list[float]:
    """Which share of the 31-base runs of each sequence occurs in the training part, on either strand."""
    known = np.sort(np.concatenate([_runs(training), _runs(reverse_complement(training))]))
    shares = []
    for sequence in sequences:
        asked = _runs(sequence)
        nearest = np.minimum(np.searchsorted(known, asked), len(known) - 1)
        shares.append(float((known[nearest] == asked).mean()))
    return shares


def _runs(codes: Codes) -> NDArray[np.int64]:
    """Every run of 31 known bases as a base-4 number (62 bits)."""
    if codes.max() >= OTHER:
        raise ValueError("a run with an unknown base has no number")
    runs = np.zeros(len(codes) - RUN + 1, np.int64)
    for place in range(RUN):
        runs = runs * 4 + codes[place : place + len(runs)]
    return runs
