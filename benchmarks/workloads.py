"""The work itself, token ids and nothing else, from fixed seeds: the same for ours, the baseline and every peer."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.measured import NotMeasured
from benchmarks.peer import ROOT, Work

BASES = (4, 5, 6, 7)  # ids of A, C, G and T in the vocabulary of `models.py`
WINDOW = 1024  # tokens of a reference window of `variants`
_LETTERS = np.full(256, 8, dtype=np.int64)  # anything else is N
_LETTERS[np.frombuffer(b"ACGT", dtype=np.uint8)] = BASES
APP = ROOT / "benchmarks" / "data" / "GRCh38.chr21_24985581_26000306.fa.gz"
COLI = ROOT / "models" / "data" / "ecoli_536.NC_008253.fna.gz"

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Alternate:
    """A reference window with one base changed at `at`."""

    at: int
    base: int


@dataclass(frozen=True, slots=True)
class Locus:
    """A reference window and its alternates."""

    reference: Tokens
    alternates: tuple[Alternate, ...]

    def changed(self, alternate: Alternate) -> Tokens:
        """The alternate's whole window."""
        return (*self.reference[: alternate.at], alternate.base, *self.reference[alternate.at + 1 :])


def mixed(requests: int = 64, *, longest_output: int = 256, seed: int = 1) -> tuple[Work, ...]:
    """Prompts log-uniform from 10 to 2,000 tokens, outputs from 8; all there at time 0."""
    generator = np.random.default_rng(seed)
    prompts = _log_uniform(generator, 10, 2000, requests)
    outputs = _log_uniform(generator, 8, longest_output, requests)
    return tuple(Work(_bases(generator, prompt), output) for prompt, output in zip(prompts, outputs, strict=True))


def mixed_long(requests: int = 256) -> tuple[Work, ...]:
    """As `mixed`, with outputs of up to 1,024 tokens."""
    return mixed(requests, longest_output=1024, seed=11)


def variants(windows: int = 20, alternates: int = 10, *, seed: int = 2) -> tuple[Locus, ...]:
    """Reference windows of 1,024 tokens, each with single-base alternates at neighbouring places around its middle."""
    generator = np.random.default_rng(seed)
    places = range(WINDOW // 2 - alternates // 2, WINDOW // 2 - alternates // 2 + alternates)
    loci = []
    for _ in range(windows):
        reference = _bases(generator, WINDOW)
        changes = generator.integers(1, len(BASES), alternates).tolist()
        loci.append(
            Locus(reference, tuple(Alternate(at, _other(reference[at], by)) for at, by in zip(places, changes, strict=True)))
        )
    return tuple(loci)


def sequences(loci: Sequence[Locus]) -> tuple[Tokens, ...]:
    """Every distinct sequence of `variants`, references first in each locus."""
    return tuple(itertools.chain.from_iterable((locus.reference, *map(locus.changed, locus.alternates)) for locus in loci))


def reads(short: int = 20_000, contigs: int = 20, *, seed: int = 5) -> tuple[Tokens, ...]:
    """Contigs of 10,000 to 50,000 bases and reads of 35 to 300. A smaller call gives the beginning of each kind."""

    def sequence(kind: int, number: int, low: int, high: int) -> Tokens:
        generator = np.random.default_rng([seed, kind, number])
        return _bases(generator, int(generator.integers(low, high + 1)))

    longs = [sequence(0, number, 10_000, 50_000) for number in range(contigs)]
    return (*longs, *(sequence(1, number, 35, 300) for number in range(short)))


def long(tokens: int, *, seed: int = 3) -> Tokens:
    """One random sequence."""
    return _bases(np.random.default_rng(seed), tokens)


def contig(bases: int, *, seed: int = 7) -> str:
    """A stretch of random bases, whose sites in the middle are to be saturated."""
    drawn = np.random.default_rng(seed).integers(0, 4, bases)
    return "".join("ACGT"[base] for base in drawn.tolist())


def short_request(number: int) -> Work:
    """A prompt of 200 tokens that wants 16: what somebody waits for while long work runs."""
    return Work(_bases(np.random.default_rng([4, number]), 200), 16)


def real(path: Path, tokens: int | None = None) -> Tokens:
    """The ids of a gzipped FASTA's bases, or its first `tokens`. Raises NotMeasured when the file is not there."""
    if not path.exists():
        raise NotMeasured(f"{path.name} is not here")
    with gzip.open(path, "rb") as file:
        bases = b"".join(line.strip().upper() for line in file if not line.startswith(b">"))
    return tuple(_LETTERS[np.frombuffer(bases[:tokens], dtype=np.uint8)].tolist())


def digest(work: object) -> str:
    """A short SHA-256 of ids and limits, so that two runs can prove that they had the same work."""
    plain = json.dumps(work, default=dataclasses.asdict)
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


def _log_uniform(generator: np.random.Generator, low: int, high: int, count: int) -> list[int]:
    found: list[int] = np.exp(generator.uniform(np.log(low), np.log(high), count)).astype(int).tolist()
    return found


def _bases(generator: np.random.Generator, count: int) -> Tokens:
    return tuple(generator.integers(BASES[0], BASES[-1] + 1, count).tolist())


def _other(base: int, by: int) -> int:
    return BASES[0] + (base - BASES[0] + by) % len(BASES)
