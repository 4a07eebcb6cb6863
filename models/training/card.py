"""Measures the bundled model and writes its card: `python -m models.training.card` (`make model-card`).

Every figure of the card comes from `evaluation.json` (just measured), `training.json` or `recipe_check.json` (recorded by
the runs). The template holds none, and a test compares the card with the records.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from models.training import copies, evaluate, genome, orfs

FOLDER = genome.MODELS / "ecoli-orf-6l"
TEMPLATE = Path(__file__).with_name("card_template.md")
Record = dict[str, Any]


def render(folder: Path) -> str:
    """The card as it follows from the records in a model folder."""
    measured, training, check, config = (
        json.loads((folder / name).read_text(encoding="utf-8"))
        for name in ("evaluation.json", "training.json", "recipe_check.json", "config.json")
    )
    return TEMPLATE.read_text(encoding="utf-8").format(
        measured=measured,
        config=config,
        orfs=orfs,
        genome=genome,
        copies=copies,
        heldout_begin=genome.TRAINING_END + 1,
        training=training,
        training_tokens=training["tokens"] / 1e6,
        check=check,
        check_tokens=check["tokens"] / 1e6,
        check_markov=check["held_out"]["markov"]["6"],
        environment=measured["environment"],
        file_rows="\n".join(f"| `{name}` | `{value}` |" for name, value in measured["files"].items()),
        **_bits(measured["bits_per_base"]),
        **_variants(measured["variants"]),
        **_deletions(measured["deletions"]),
        **_shuffled(measured["real_against_shuffled"]),
    )


def _bits(bits: Record) -> Record:
    return {
        "bits": bits,
        "markov_columns": " | ".join(f"Markov {order}" for order in bits["markov"]),
        "markov_rule": "---|" * len(bits["markov"]),
        "markov": " | ".join(f"{value:.3f}" for value in bits["markov"].values()),
        "markov_with_copies": " | ".join(f"{value:.3f}" for value in bits["markov_with_copies"].values()),
    }


def _variants(variants: list[Record]) -> Record:
    rows = []
    for entry in variants:
        areas = [_area(entry[name]) for name in ("nonsense", "missense", "markov_nonsense", "markov_missense")]
        means = " · ".join(f"{value:.2f}" for value in entry["mean_delta"].values())
        rows.append(f"| {' | '.join([str(entry['window']), *areas, means])} |")
    return {
        "variants_a_kind": variants[0]["nonsense"]["positives"],
        "markov_order": variants[0]["markov_order"],
        "kinds": " · ".join(variants[0]["mean_delta"]),
        "variant_rows": "\n".join(rows),
        "missense": ", ".join(f"{_area(entry['missense'])} at {entry['window']}" for entry in variants),
    }


def _deletions(deletions: Record) -> Record:
    areas = deletions["frameshift"]
    return {
        "deletions": deletions,
        "deletions_a_size": next(iter(areas.values()))["positives"],
        "deletion_means": ", ".join(f"{size}: {value:.2f}" for size, value in deletions["mean_delta"].items()),
        "deletion_rows": "\n".join(f"| {name} | {_area(area)} |" for name, area in areas.items()),
    }


def _shuffled(shuffled: Record) -> Record:
    return {
        "shuffled": shuffled,
        "shuffled_codons": _area(shuffled["codons"]),
        "shuffled_bases": _area(shuffled["bases"]),
    }


def _area(area: dict[str, float]) -> str:
    return f"{area['auroc']:.3f} ({area['low']:.3f}–{area['high']:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    folder: Path = parser.parse_args().folder
    evaluate.write(folder)
    (folder / "CARD.md").write_text(render(folder), encoding="utf-8")
    print(f"{folder.name}: CARD.md and evaluation.json written")


if __name__ == "__main__":
    main()
