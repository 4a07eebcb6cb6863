"""Fixes the held-out genes by coordinates and hash: `python -m models.training.heldout` writes the list."""

import csv
import hashlib
from dataclasses import dataclass
from pathlib import Path

from models.training.genome import MODELS, Codes, decode, read_genome
from models.training.orfs import Frame, heldout_frames

HELDOUT = MODELS / "ecoli-orf-2k" / "heldout.tsv"
COLUMNS = ("contig", "start", "end", "strand", "coding_bases", "sha256")
CONTIG = "NC_008253.1"


@dataclass(frozen=True)
class HeldOut:
    frame: Frame
    sha256: str  # of the upper-case sense sequence, start codon to stop codon


class HeldOutMismatch(ValueError):
    """A held-out gene does not have the sequence it was fixed with."""


def sequence_hash(frame: Frame, genome: Codes) -> str:
    return hashlib.sha256(decode(frame.sense(genome)).encode("ascii")).hexdigest()


def write_heldout(path: Path, genome: Codes) -> int:
    frames = heldout_frames(genome)
    with path.open("w", encoding="ascii", newline="") as file:
        rows = csv.writer(file, delimiter="\t", lineterminator="\n")
        rows.writerow(COLUMNS)
        for frame in frames:
            rows.writerow((CONTIG, frame.start, frame.end, frame.strand, frame.coding_bases, sequence_hash(frame, genome)))
    return len(frames)


def read_heldout(path: Path = HELDOUT) -> list[HeldOut]:
    with path.open(encoding="ascii", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [HeldOut(Frame(int(row["start"]), int(row["end"]), row["strand"]), row["sha256"]) for row in rows]


def verified_heldout(genome: Codes, path: Path = HELDOUT) -> list[Frame]:
    """The held-out frames, refused when the genome at hand is not the one they were fixed on."""
    entries = read_heldout(path)
    for entry in entries:
        if sequence_hash(entry.frame, genome) != entry.sha256:
            raise HeldOutMismatch(f"{entry.frame} differs from {path.name}")
    return [entry.frame for entry in entries]


if __name__ == "__main__":
    print(f"{write_heldout(HELDOUT, read_genome())} held-out frames written to {HELDOUT.name}")
