"""The genome as base codes, and the line between what training may read and what it may not."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint8]  # A C G T = 0 1 2 3, anything else = OTHER

LETTERS = "ACGT"
OTHER = 4
MODELS = Path(__file__).resolve().parents[1]
GENOME = MODELS / "data" / "ecoli_536.NC_008253.fna.gz"

# 1-based, inclusive. Everything after TRAINING_END is held out, for good.
TRAINING_END = 4_400_000
GENOME_END = 4_938_920


class GenomeMismatch(ValueError):
    """The genome file is not the one the coordinates were fixed on."""


def read_genome(path: Path = GENOME) -> Codes:
    """Base codes of a FASTA file with exactly one sequence, of the expected length."""
    with gzip.open(path, "rt", encoding="ascii") as lines:
        header, *rows = lines.read().splitlines()
    codes = encode("".join(rows))
    if not header.startswith(">") or len(codes) != GENOME_END:
        raise GenomeMismatch(f"{path.name}: expected one sequence of {GENOME_END} bases, found {len(codes)}")
    return codes


def encode(sequence: str) -> Codes:
    """Base codes of a sequence; lower case (soft masking) counts as upper case."""
    table = np.full(256, OTHER, np.uint8)
    for code, letter in enumerate(LETTERS):
        table[[ord(letter), ord(letter.lower())]] = code
    return table[np.frombuffer(sequence.encode("ascii"), np.uint8)]


def decode(codes: Codes) -> str:
    return np.frombuffer((LETTERS + "N").encode("ascii"), np.uint8)[codes].tobytes().decode("ascii")


def reverse_complement(codes: Codes) -> Codes:
    flipped: NDArray[Any] = codes[::-1]
    return np.where(flipped < OTHER, 3 - flipped, flipped).astype(np.uint8)
