"""Power of paired sentinels, and outcomes until a model that ranks worse is found."""

from __future__ import annotations

import json

import numpy as np
import torch

from benchmarks.measured import Bar, Measured
from benchmarks.peer import ROOT
from benchmarks.progress import counted, stage
from drift import ranking
from drift.measures import Reals
from drift.sequential import LabelTest
from drift.thresholds import SENTINELS

VALIDATED = 0.94  # a model as a laboratory would validate it; the bundled one ranks far better on its own panel
LOST = 0.01
_SIZES = (250, 500, 1000, 2000)


def measure(result: Measured, seed: int, *, quick: bool) -> None:
    """Power at 0.94 and at the bundled model's own AUROC; outcomes until a loss is found, and false alarms."""
    draw = np.random.default_rng(seed + 7)
    own = bundled_auroc()
    for name, before in (("", VALIDATED), ("bundled_", own)):
        for size in _SIZES:
            power = paired_power(draw, before, before - LOST, size, trials=60 if quick else 200)
            result.figures[f"{name}auroc_power_{size}"] = power
            result.bars.append(
                Bar(f"paired sentinels {size} + {size}, AUROC {before:.4f}", 100 * power, f"% find a loss of {LOST}")
            )
    result.figures["auroc_power"] = result.figures["bundled_auroc_power_2000"]
    streams, length = (6, 2_000) if quick else (60, 20_000)
    calls = sum(followed(draw, VALIDATED, length) <= length for _ in counted("outcomes, nothing lost", range(streams), streams))
    result.figures["labels_null"] = streams * length
    result.figures["labels_null_calls"] = calls
    for hundredths in (1, 2, 3, 5):
        stage(f"outcomes, {hundredths} points lost")
        found = [followed(draw, VALIDATED - hundredths / 100, 30_000) for _ in range(10 if quick else 60)]
        result.figures[f"labels_{hundredths}_p90"] = float(np.quantile(found, 0.9))
        result.bars.append(
            Bar(f"outcomes, AUROC 0.94 to {VALIDATED - hundredths / 100:.2f}", float(np.median(found)), "outcomes, median")
        )


def bundled_auroc() -> float:
    """Nonsense against synonymous at 512 bases, as measured when the model was made."""
    evaluation = json.loads((ROOT / "models" / "ecoli-orf-2k" / "evaluation.json").read_text(encoding="utf-8"))
    return float(next(row["nonsense"]["auroc"] for row in evaluation["variants"] if row["window"] == 512))


def paired_power(draw: np.random.Generator, before: float, after: float, size: int, trials: int) -> float:
    """Share of sets of `size` positives and negatives that tell, when noise alone takes the AUROC from one to the other."""
    apart = _normal_quantile(before) * np.sqrt(2)
    noise = np.sqrt((apart / np.sqrt(2) / _normal_quantile(after)) ** 2 - 1)
    told = 0
    for _ in range(trials):
        scored = draw.normal(apart, 1, size), draw.normal(0, 1, size)
        again = tuple(group + draw.normal(0, noise, size) for group in scored)
        z = ranking.paired(scored, (again[0], again[1])).z
        told += z is not None and z < SENTINELS.deepest_z
    return told / trials


def followed(draw: np.random.Generator, auroc: float, most: int) -> int:
    """Outcomes until the test of outcomes calls; one more than `most` where it does not."""
    placements = _placements(draw, auroc, most)
    test = LabelTest(VALIDATED)
    for number, placement in enumerate(placements.tolist(), 1):
        test = test.step(placement)
        if test.raised:
            return number
    return most + 1


def _placements(draw: np.random.Generator, auroc: float, number: int) -> Reals:
    drawn = torch.from_numpy(draw.normal(_normal_quantile(auroc) * np.sqrt(2), 1, number))
    return np.asarray(torch.special.ndtr(drawn).numpy())


def _normal_quantile(share: float) -> float:
    return float(torch.special.ndtri(torch.tensor(share, dtype=torch.float64)))
