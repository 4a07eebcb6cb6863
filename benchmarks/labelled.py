"""`python -m benchmarks.labelled`: labelled variants by `python -m engine score` and by transformers on the same weights.

The judge is transformers in float64: how far both computations in float32, the engine's and transformers' own, lie from it, in Δ
and in the area under the ROC curve. A computation in float32 orders a pair wrongly when its scores lie closer than it can tell; how
many pairs it ordered wrongly is said, and how far apart the furthest of them really are. The way of transformers is written here as
plainly as it can be, a window cut from the reference and one full forward each, and shares no code with ours.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from engine.__main__ import main as engine_command

Reals = npt.NDArray[np.float64]
_BATCH = 16
_COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


@dataclass(frozen=True)
class Labelled:
    """Single-base changes of one contig; `place` counts from 0."""

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


def compare(model: Path, reference: Path, vcf: Path, positive: str, negative: str, *, window: int, strand: str) -> Agreement:
    """Score the file both ways. `positive` and `negative` are INFO items as `CLASS=LOF`; a blank negative is everybody else."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "scored.vcf"
        settings = ["--protocol", "centred", "--window", str(window), "--strand", strand, "--quiet"]
        files = ["--model", str(model), "--reference", str(reference), "--vcf", str(vcf), "--out", str(out)]
        if engine_command(["score", *files, *settings]):
            raise ValueError("the engine did not score every record")
        found = list(_scored(out, positive, negative))
    variants, ours = [variant for variant, _ in found], np.array([delta for _, delta in found])
    asked = {"window": window, "reverse": strand == "reverse"}
    theirs, exact = (
        by_transformers(model, _bases(reference), variants, precision=kind, **asked) for kind in ("float32", "float64")
    )
    labels = np.array([variant.positive for variant in variants])
    area = auroc(-exact[labels], -exact[~labels])
    return Agreement(len(variants), int(labels.sum()), judged(ours, exact, labels), judged(theirs, exact, labels), area)


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


def by_transformers(
    model: Path, bases: str, variants: Sequence[Labelled], *, window: int, reverse: bool, precision: str = "float32"
) -> Reals:
    """Δ of each: the summed log-likelihood of its window with the change, minus without."""
    windows = [_windows(bases, variant, window, reverse) for variant in variants]
    distinct = sorted({text for pair in windows for text in pair}, key=lambda text: (len(text), text))
    values = dict(zip(distinct, _log_likelihoods(model, distinct, precision), strict=True))
    return np.array([values[alternate] - values[reference] for reference, alternate in windows])


def _windows(bases: str, variant: Labelled, window: int, reverse: bool) -> tuple[str, str]:
    start = variant.place - (window - 1) // 2
    left, right = bases[max(0, start) : variant.place], bases[variant.place + 1 : start + window]
    texts = [left + allele + right for allele in (variant.ref, variant.alt)]
    reference, alternate = (text.translate(_COMPLEMENT)[::-1] if reverse else text for text in texts)
    return reference, alternate


def _log_likelihoods(model: Path, texts: Sequence[str], precision: str) -> Iterator[float]:
    """In the order given; texts of one length go together, so that nothing is padded."""
    import torch
    from transformers import AutoModelForCausalLM

    vocabulary = json.loads((model / "vocab.json").read_text(encoding="utf-8"))
    network = AutoModelForCausalLM.from_pretrained(model, dtype=getattr(torch, precision))  # as it is made: without dropout
    first = 0
    while first < len(texts):
        batch = [text for text in texts[first : first + _BATCH] if len(text) == len(texts[first])]
        tokens = torch.tensor([[vocabulary["bos"], *(vocabulary[base] for base in text)] for text in batch])
        with torch.inference_mode():
            logs = network(tokens[:, :-1]).logits.double().log_softmax(-1)
        yield from logs.gather(-1, tokens[:, 1:, None]).sum((1, 2)).tolist()
        first += len(batch)


def _scored(path: Path, positive: str, negative: str) -> Iterator[tuple[Labelled, float]]:
    with _text(path) as lines:
        for line in lines:
            if line.startswith("#"):
                continue
            _, position, _, ref, alt, _, _, info = line.rstrip("\n").split("\t")[:8]
            items = info.split(";")
            if positive in items or not negative or negative in items:
                delta = next(item for item in items if item.startswith("HELICASE_DELTA=")).partition("=")[2]
                yield Labelled(int(position) - 1, ref, alt, positive in items), float(delta)


def _bases(reference: Path) -> str:
    with _text(reference) as lines:
        next(lines)
        return "".join(line.strip() for line in lines).upper()


def _text(path: Path) -> IO[str]:
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")


def main() -> None:
    """Print what was found."""
    commands = argparse.ArgumentParser(prog="python -m benchmarks.labelled", description=__doc__)
    commands.add_argument("--model", type=Path, required=True)
    commands.add_argument("--reference", type=Path, required=True, help="FASTA file with one sequence, plain or gzip")
    commands.add_argument("--vcf", type=Path, required=True, help="single-base changes, one ALT a record")
    commands.add_argument("--positive", required=True, help="INFO item of those that should score lower, as CLASS=LOF")
    commands.add_argument("--negative", default="", help="INFO item of the others; everybody else where not given")
    commands.add_argument("--window", type=int, default=512)
    commands.add_argument("--strand", choices=("forward", "reverse"), default="forward")
    asked = vars(commands.parse_args())
    found = compare(**asked)
    print(f"{found.variants:,} variants, {found.positives:,} of them {asked['positive']}")
    print(f"AUROC by transformers in float64 {found.exact:.7f}")
    print(f"by the engine in float32 {found.ours.said(found.exact)}")
    print(f"by transformers in float32 {found.theirs.said(found.exact)}")
    print(f"the engine and transformers in float32 are {found.apart:.1e} apart")


if __name__ == "__main__":
    main()
