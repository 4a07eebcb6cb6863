"""BRCA1 saturation genome editing (Findlay and others, 2018): a table of human variants that no model of E. coli can know.

The table and the human reference are not in this repository. The figures are measured where `DATA` is; they stand beside what the
table itself holds (CADD, phyloP) and a rule of thumb by consequence, so that a reader sees what a useful score looks like.
"""

import csv
import gzip
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from models.training.auroc import Scored, auroc
from models.training.genome import MODELS, Codes, encode, reverse_complement
from models.training.network import Llama
from models.training.scoring import Reals, log_likelihoods

DATA = MODELS.parents[1] / "shared" / "data"
TABLE = Path("brca1/findlay2018_brca1_sge.tsv")
REFERENCE = Path("human/BRCA1.GRCh37.chr17_41176312_41370000.fa.gz")
REFERENCE_START = 41_176_312  # 1-based place of its first base on chromosome 17, GRCh37
SEVERITY = {"Nonsense": 3, "Canonical splice": 3, "Splice region": 2, "Missense": 1}  # everything else 0
WINDOW = 256


@dataclass(frozen=True)
class Change:
    place: int  # 0-based, in the reference
    ref: str
    alt: str
    lost: bool  # loss of function, against functional and intermediate
    consequence: str
    cadd: float
    phylop: float


class ReferenceMismatch(ValueError):
    """The table names a reference base that the reference does not have."""


def brca1(network: Llama, data: Path, seed: int) -> dict[str, Any]:
    """How well the model and each baseline tell loss of function from the rest."""
    reference = read_reference(data / REFERENCE)
    changes = read_table(data / TABLE, reference)
    scores = {
        "model": -model_deltas(network, reference, changes),
        "CADD": np.array([change.cadd for change in changes]),
        "phyloP": np.array([change.phylop for change in changes]),
        "consequence": np.array([SEVERITY.get(change.consequence, 0) for change in changes], np.float64),
    }
    lost, place = np.array([change.lost for change in changes]), np.array([change.place for change in changes])
    areas = {}
    for name, score in scores.items():
        area = auroc(Scored(score[lost], place[lost]), Scored(score[~lost], place[~lost]), seed=seed)
        areas[name] = {key: round(value, 4) for key, value in asdict(area).items()}
    return {"window": WINDOW, "variants": len(changes), "lost": int(lost.sum()), **areas}


def read_reference(path: Path) -> Codes:
    with gzip.open(path, "rt", encoding="ascii") as lines:
        return encode("".join(line.strip() for line in lines if not line.startswith(">")))


def read_table(path: Path, reference: Codes) -> list[Change]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    changes = [
        Change(
            int(row["pos_grch37"]) - REFERENCE_START,
            row["ref"],
            row["alt"],
            row["func.class"] == "LOF",
            row["consequence"],
            float(row["CADD.score"]),
            float(row["phyloP (mammalian)"]),
        )
        for row in rows
    ]
    for change in changes:
        if reference[change.place] != encode(change.ref)[0]:
            raise ReferenceMismatch(f"{change} differs from {REFERENCE.name}")
    return changes


def model_deltas(network: Llama, reference: Codes, changes: list[Change]) -> Reals:
    """Log-likelihood of the window with the change, minus without; one reference window a place."""
    places = sorted({change.place for change in changes})
    before = dict(zip(places, log_likelihoods(network, [sense_window(reference, place) for place in places]), strict=True))
    after = log_likelihoods(network, [sense_window(reference, change.place, change.alt) for change in changes])
    deltas: Reals = after - np.array([before[change.place] for change in changes])
    return deltas


def sense_window(reference: Codes, place: int, base: str | None = None) -> Codes:
    """The window around a place, in which it may have another base, as the gene reads it: BRCA1 lies on the minus strand."""
    window = reference[place - WINDOW // 2 : place + WINDOW // 2].copy()
    if base is not None:
        window[WINDOW // 2] = encode(base)[0]
    return reverse_complement(window)
