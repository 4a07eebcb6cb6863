"""Measures a model folder on the held-out genes: `python -m models.training.evaluate FOLDER [--quick]`.

The full evaluation writes `evaluation.json` into the folder; `--quick` measures a part of it and only prints.
"""

import argparse
import hashlib
import json
import time
from pathlib import Path
from typing import Any

from models.training import machine, measures
from models.training.copies import heldout_genes
from models.training.genome import read_genome
from models.training.measures import FULL, QUICK, Scale
from models.training.network import load

MEASURED = ("model.safetensors", "config.json", "vocab.json", "heldout.tsv")


def evaluate(folder: Path, scale: Scale) -> dict[str, Any]:
    """Every figure of the model card, with what it was measured on."""
    begun, worked = time.monotonic(), time.process_time()
    network, genome = load(folder), read_genome()
    genes = heldout_genes(genome)
    coding = measures.unseen_coding_sequences(genes, genome)
    figures: dict[str, Any] = {
        "scale": scale.name,
        "seed": scale.seed,
        "precision": "float32",
        "files": {name: file_hash(folder / name) for name in MEASURED if (folder / name).exists()},
        "parameters": sum(weight.numel() for weight in network.parameters()),
        "heldout_genes": len(genes),
        "copied_genes": len(genes) - len(coding),
        "bits_per_base": measures.bits_per_base(network, genome, genes, scale.stride),
        "variants": [measures.variant_effects(network, coding, genome, width, scale) for width in scale.widths],
    }
    if scale.deletions:
        figures["deletions"] = measures.deletion_effects(network, coding, scale.widths[0], scale)
    if scale.shuffles:
        figures["real_against_shuffled"] = measures.real_against_shuffled(network, coding, scale)
    spent = {
        "seconds": round(time.monotonic() - begun),
        "processor_seconds": round(time.process_time() - worked),
    }
    return {**figures, "environment": {**machine.describe(), **spent}}


def write(folder: Path) -> dict[str, Any]:
    figures = evaluate(folder, FULL)
    (folder / "evaluation.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return figures


def file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="a part of the panels, seconds, writes nothing")
    given = parser.parse_args()
    print(json.dumps(evaluate(given.folder, QUICK) if given.quick else write(given.folder), indent=1))


if __name__ == "__main__":
    main()
