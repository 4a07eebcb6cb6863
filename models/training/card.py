"""Measures the bundled model and writes its card: `python -m models.training.card` (`make model-card`).

Every figure of the card comes from `evaluation.json` (just measured) or `training.json` (recorded by the run). The template holds
none, and a test compares the card with the records.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from models.training import copies, evaluate, genome, orfs, recipe, stops

FOLDER = genome.MODELS / "ecoli-orf-2k"
LOADED = ("config.json", "model.safetensors", "vocab.json")
TEMPLATE = Path(__file__).with_name("card_template.md")
BRCA1 = """\
Saturation genome editing (Findlay and others, 2018): {figures[variants]:,} variants, {figures[lost]} of them with loss of function,
told from all others. The model sees windows of {figures[window]} bases in the sense of the gene. CADD and phyloP are columns of
the table. Consequence is a rule: nonsense and canonical splice site, then splice region, then missense, then the rest.

| score | AUROC, loss of function against the rest |
|---|---|
{areas}"""
Record = dict[str, Any]


def render(folder: Path) -> str:
    """The card as it follows from the records in a model folder."""
    measured, training, config = (
        json.loads((folder / name).read_text(encoding="utf-8")) for name in ("evaluation.json", "training.json", "config.json")
    )
    return TEMPLATE.read_text(encoding="utf-8").format(
        name=folder.name,
        measured=measured,
        config=config,
        orfs=orfs,
        genome=genome,
        copies=copies,
        recipe=recipe,
        stops=stops,
        heldout_begin=genome.TRAINING_END + 1,
        environment=measured["environment"],
        file_rows="\n".join(f"| `{name}` | `{value}` |" for name, value in measured["files"].items()),
        brca1=_brca1(measured.get("brca1")),
        **_training(training),
        **_bits(measured["bits_per_base"]),
        **_variants(measured["variants"], measured["variants_surrounded"]),
        **_deletions(measured["deletions"]),
        **_shuffled(measured["real_against_shuffled"]),
    )


def _training(training: Record) -> Record:
    return {
        "training": training,
        "training_tokens": training["tokens"] / 1e6,
        "planned_tokens": training["recipe"]["tokens"] / 1e6,
        "warmup": training["recipe"]["warmup_tokens"] / 1e6,
        "start_hash": training["start"]["sha256"][:12],
        "start_tokens": training["start"]["tokens"] / 1e6,
        "environment_trained": training["environment"],
        "first_bits": " · ".join(f"{value:.3f}" for value in training["first_bits"]),
        "last_bits": " · ".join(f"{value:.3f}" for value in training["last_bits"]),
    }


def _bits(widths: list[Record]) -> Record:
    rows = []
    for bits in widths:
        for label, suffix in (("held-out genes", ""), ("with the copies", "_with_copies")):
            model, second = bits[f"model{suffix}"], bits[f"model_second_half{suffix}"]
            markov = " | ".join(f"{value:.3f}" for value in bits[f"markov{suffix}"].values())
            rows.append(
                f"| {label} | {bits['window']:,} | {bits[f'windows{suffix}']} | **{model:.3f}** | {second:.3f} | {markov} |"
            )
    return {
        "long_width": widths[-1]["window"],
        "markov_columns": " | ".join(f"Markov {order}" for order in widths[0]["markov"]),
        "markov_rule": "---|" * len(widths[0]["markov"]),
        "bits_rows": "\n".join(rows),
    }


def _variants(widths: list[Record], surrounded: Record) -> Record:
    rows = []
    for entry in [*widths, surrounded]:
        areas = [_area(entry[name]) for name in ("nonsense", "missense", "markov_nonsense", "markov_missense")]
        where = "gene and neighbours" if entry is surrounded else "gene"
        counts = [str(entry["nonsense"][name]) for name in ("positives", "genes")]
        cells = [f"{entry['window']:,}", where, *counts, *areas, _means(entry["mean_delta"])]
        rows.append(f"| {' | '.join(cells)} |")
    return {
        "markov_order": widths[0]["markov_order"],
        "kinds": " · ".join(widths[0]["mean_delta"]),
        "variant_rows": "\n".join(rows),
        "missense": ", ".join(f"{_area(entry['missense'])} at {entry['window']:,}" for entry in widths),
    }


def _deletions(widths: list[Record]) -> Record:
    first = widths[0]
    rows = [
        [
            f"{entry['window']:,}",
            _count(entry["frameshift"]["1 against 3"]),
            *map(_area, entry["frameshift"].values()),
            _means(entry["mean_delta"]),
        ]
        for entry in widths
    ]
    return {
        "deletion_columns": " | ".join(first["frameshift"]),
        "deletion_rule": "---|" * len(first["frameshift"]),
        "deletion_sizes": " · ".join(first["mean_delta"]),
        "deletion_rows": "\n".join(f"| {' | '.join(cells)} |" for cells in rows),
    }


def _shuffled(widths: list[Record]) -> Record:
    orders = ("codons", "dinucleotides", "bases")
    rows = [[f"{entry['window']:,}", _count(entry["codons"]), *(_area(entry[order]) for order in orders)] for entry in widths]
    return {"shuffled_rows": "\n".join(f"| {' | '.join(cells)} |" for cells in rows)}


def _brca1(figures: Record | None) -> str:
    if figures is None:
        return "Not measured: the table and the human reference were not on the machine."
    areas = "\n".join(f"| {name} | {_area(figures[name])} |" for name in ("model", "phyloP", "CADD", "consequence"))
    return BRCA1.format(figures=figures, areas=areas)


def _count(area: dict[str, float]) -> str:
    return str(area["positives"])


def _means(means: dict[str, float]) -> str:
    return " · ".join(f"{value:.2f}" for value in means.values())


def _area(area: dict[str, float]) -> str:
    return f"{area['auroc']:.3f} ({area['low']:.3f}–{area['high']:.3f})"


def write_sums(folder: Path) -> None:
    """Checksums of what an engine loads, in the format of `sha256sum`."""
    lines = [f"{evaluate.file_hash(folder / name)}  {name}\n" for name in LOADED]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="ascii")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    folder: Path = parser.parse_args().folder
    evaluate.write(folder)
    write_sums(folder)
    (folder / "CARD.md").write_text(render(folder), encoding="utf-8")
    print(f"{folder.name}: CARD.md and evaluation.json written")


if __name__ == "__main__":
    main()
