"""`python -m benchmarks.labelled`: labelled variants by `python -m engine score` and by transformers on the same weights.

The judge is transformers in float64: how far both computations in float32, the engine's and transformers' own, lie from it, in Δ
and in the area under the ROC curve. A computation in float32 orders a pair wrongly when its scores lie closer than it can tell; how
many pairs it ordered wrongly is said, and how far apart the furthest of them really are. The way of transformers is written here as
plainly as it can be, a window cut from the reference and one full forward each, and shares no code with ours.

With `--keep FOLDER` what was computed is kept there as it comes, and with `--minutes` the call ends when they are over: called
again, it goes on. What is kept belongs to weights, engine version, reference and settings; an engine that was changed under one
version wants another folder.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import math
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from benchmarks.kept import Kept, Unfinished, named
from engine.__main__ import main as engine_command
from engine.version import VERSION

Reals = npt.NDArray[np.float64]
_BATCH = 16
_PIECE = 100  # records that the engine scores in one call
_COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


@dataclass(frozen=True)
class Labelled:
    """A single-base change of one contig; `place` counts from 0."""

    line: str  # of the VCF
    place: int
    ref: str
    alt: str
    positive: bool


@dataclass(frozen=True)
class Judged:
    """One computation in float32 beside that in float64."""

    area: float
    largest_difference: float  # of a Δ, nats
    wrong_pairs: int  # ordered otherwise
    furthest: float  # nats between the scores of such a pair, in float64

    def said(self, exact: float) -> str:
        """In one line."""
        pairs = (
            f"{self.wrong_pairs:,} pairs ordered otherwise, at most {self.furthest:.1e} nats apart"
            if self.wrong_pairs
            else "no pair otherwise"
        )
        return f"{self.area:.7f} ({abs(self.area - exact):.1e} off; Δ at most {self.largest_difference:.1e} nats off; {pairs})"


@dataclass(frozen=True)
class Agreement:
    """The areas under the curve by the engine and by transformers, in float32, and by transformers in float64."""

    variants: int
    positives: int
    ours: Judged
    theirs: Judged
    exact: float

    @property
    def apart(self) -> float:
        """Of the areas in float32."""
        return abs(self.ours.area - self.theirs.area)


@dataclass(frozen=True)
class Table:
    """What is scored: a model folder, a reference of one contig, and variants of a VCF with its header."""

    model: Path
    reference: Path
    header: str
    variants: Sequence[Labelled]
    window: int
    strand: str

    @property
    def weights(self) -> str:
        """What numbers belong to, beside what they are of."""
        return hashlib.sha256((self.model / "model.safetensors").read_bytes()).hexdigest()[:12]


def compare(
    model: Path,
    reference: Path,
    vcf: Path,
    positive: str,
    negative: str,
    *,
    window: int,
    strand: str,
    every: int = 1,
    keep: Path | None = None,
    until: float = math.inf,
) -> Agreement:
    """Score each `every`-th labelled record both ways. `positive` and `negative` are INFO items; blank negative: everybody else.

    Raises `benchmarks.kept.Unfinished` where the time is over before the last number is there.
    """
    header, variants = read(vcf, positive, negative)
    table = Table(model, reference, header, variants[::every], window, strand)
    kept = {name: Kept(keep and keep / f"{table.weights}-{name}", until) for name in ("float32", "engine", "float64")}
    theirs, ours = by_transformers(table, "float32", kept["float32"]), by_engine(table, kept["engine"])
    exact = by_transformers(table, "float64", kept["float64"])
    labels = np.array([variant.positive for variant in table.variants])
    area = auroc(-exact[labels], -exact[~labels])
    return Agreement(len(labels), int(labels.sum()), judged(ours, exact, labels), judged(theirs, exact, labels), area)


def judged(found: Reals, exact: Reals, labels: npt.NDArray[np.bool_]) -> Judged:
    """Scores that should be lower where the label holds, beside those that decide."""
    order, truth = (np.sign(deltas[labels][:, None] - deltas[~labels][None, :]) for deltas in (found, exact))
    wrong = order != truth
    distances = np.abs(exact[labels][:, None] - exact[~labels][None, :])[wrong]
    largest = float(np.abs(found - exact).max())
    area = auroc(-found[labels], -found[~labels])
    return Judged(area, largest, int(wrong.sum()), float(distances.max(initial=0.0)))


def auroc(positives: Reals, negatives: Reals) -> float:
    """Share of pairs in which the positive is higher, ties half."""
    below = np.searchsorted(np.sort(negatives), positives, "left") + np.searchsorted(np.sort(negatives), positives, "right")
    return float(below.sum() / 2 / len(positives) / len(negatives))


def by_engine(table: Table, kept: Kept) -> Reals:
    """Δ of each by the command line, some records at a time: what a score is does not depend on the others of its file."""
    bases = hashlib.sha256(_bases(table.reference).encode()).hexdigest()
    names = [named(VERSION, bases, table.window, table.strand, one.place, one.ref, one.alt) for one in table.variants]
    lines = dict(zip(names, (variant.line for variant in table.variants), strict=True))
    lacking = kept.lacking(names)
    for first in range(0, len(lacking), _PIECE):
        kept.go_on(f"the engine has scored {len(lines) - len(lacking) + first:,} of {len(lines):,} variants")
        piece = lacking[first : first + _PIECE]
        kept.add(dict(zip(piece, _scored(table, "".join(lines[name] for name in piece)), strict=True)))
    return np.array([kept[name] for name in names])


def _scored(table: Table, lines: str) -> Iterator[float]:
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder) / "given.vcf", Path(folder) / "scored.vcf"
        given.write_text(table.header + lines, encoding="utf-8")
        settings = ["--protocol", "centred", "--window", str(table.window), "--strand", table.strand, "--quiet"]
        files = ["--model", str(table.model), "--reference", str(table.reference), "--vcf", str(given), "--out", str(out)]
        if engine_command(["score", *files, *settings]):
            raise ValueError("the engine did not score every record")
        for line in out.read_text(encoding="utf-8").splitlines():
            if not line.startswith("#"):
                items = line.split("\t")[7].split(";")
                yield float(next(item for item in items if item.startswith("HELICASE_DELTA=")).partition("=")[2])


def by_transformers(table: Table, precision: str, kept: Kept) -> Reals:
    """Δ of each: the summed log-likelihood of its window with the change, minus without."""
    bases = _bases(table.reference)
    windows = [_windows(bases, variant, table.window, table.strand == "reverse") for variant in table.variants]
    texts = {named(text): text for pair in windows for text in pair}
    lacking = sorted(kept.lacking(texts), key=lambda name: (len(texts[name]), name))
    network = _network(table.model, precision) if lacking else None
    while lacking:
        kept.go_on(f"transformers in {precision} has read {len(texts) - len(lacking):,} of {len(texts):,} windows")
        batch = [name for name in lacking[:_BATCH] if len(texts[name]) == len(texts[lacking[0]])]  # so that nothing is padded
        kept.add(dict(zip(batch, _log_likelihoods(network, table.model, [texts[name] for name in batch]), strict=True)))
        lacking = lacking[len(batch) :]
    return np.array([kept[named(alternate)] - kept[named(reference)] for reference, alternate in windows])


def _windows(bases: str, variant: Labelled, window: int, reverse: bool) -> tuple[str, str]:
    start = variant.place - (window - 1) // 2
    left, right = bases[max(0, start) : variant.place], bases[variant.place + 1 : start + window]
    texts = [left + allele + right for allele in (variant.ref, variant.alt)]
    reference, alternate = (text.translate(_COMPLEMENT)[::-1] if reverse else text for text in texts)
    return reference, alternate


def _network(model: Path, precision: str) -> Any:
    """As it is made: without dropout."""
    import torch
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(model, dtype=getattr(torch, precision))


def _log_likelihoods(network: Any, model: Path, texts: Sequence[str]) -> list[float]:
    """Of texts of one length."""
    import torch

    vocabulary = json.loads((model / "vocab.json").read_text(encoding="utf-8"))
    tokens = torch.tensor([[vocabulary["bos"], *(vocabulary[base] for base in text)] for text in texts])
    with torch.inference_mode():
        logs = network(tokens[:, :-1]).logits.double().log_softmax(-1)
    found: list[float] = logs.gather(-1, tokens[:, 1:, None]).sum((1, 2)).tolist()
    return found


def read(vcf: Path, positive: str, negative: str) -> tuple[str, list[Labelled]]:
    """The header of a VCF, and its records with a label."""
    header, found = [], []
    with _text(vcf) as lines:
        for line in lines:
            if line.startswith("#"):
                header.append(line)
                continue
            _, position, _, ref, alt, _, _, info = line.rstrip("\n").split("\t")[:8]
            items = info.split(";")
            if positive in items or not negative or negative in items:
                found.append(Labelled(line, int(position) - 1, ref, alt, positive in items))
    return "".join(header), found


def _bases(reference: Path) -> str:
    with _text(reference) as lines:
        next(lines)
        return "".join(line.strip() for line in lines).upper()


def _text(path: Path) -> IO[str]:
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")


def main() -> None:
    """Print what was found, or how far it has come."""
    commands = argparse.ArgumentParser(prog="python -m benchmarks.labelled", description=__doc__)
    commands.add_argument("--model", type=Path, required=True)
    commands.add_argument("--reference", type=Path, required=True, help="FASTA file with one sequence, plain or gzip")
    commands.add_argument("--vcf", type=Path, required=True, help="single-base changes, one ALT a record")
    commands.add_argument("--positive", required=True, help="INFO item of those that should score lower, as CLASS=LOF")
    commands.add_argument("--negative", default="", help="INFO item of the others; everybody else where not given")
    commands.add_argument("--window", type=int, default=512)
    commands.add_argument("--strand", choices=("forward", "reverse"), default="forward")
    commands.add_argument("--every", type=int, default=1, metavar="N", help="score each N-th of the records alone")
    commands.add_argument("--keep", type=Path, metavar="FOLDER", help="keep what was computed, for another call")
    commands.add_argument("--minutes", type=float, default=math.inf, help="end after these; with --keep another call goes on")
    asked = vars(commands.parse_args())
    until = time.monotonic() + 60 * asked.pop("minutes")
    try:
        found = compare(**asked, until=until)
    except Unfinished as far:
        raise SystemExit(f"not finished: {far}; call again to go on") from far
    print(f"{found.variants:,} variants, {found.positives:,} of them {asked['positive']}")
    print(f"AUROC by transformers in float64 {found.exact:.7f}")
    print(f"by the engine in float32 {found.ours.said(found.exact)}")
    print(f"by transformers in float32 {found.theirs.said(found.exact)}")
    print(f"the engine and transformers in float32 are {found.apart:.1e} apart")


if __name__ == "__main__":
    main()
