"""Measures a model folder on the held-out genes: `python -m models.training.evaluate FOLDER [--quick]`.

The full evaluation writes `evaluation.json` into the folder and, when stopped, goes on where it was; `--quick` measures a part and
only prints.
"""

import argparse
import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from models.training import brca1, machine, measures
from models.training.copies import Gene, heldout_genes
from models.training.finished import Finished
from models.training.genome import Codes, read_genome
from models.training.measures import FULL, QUICK, SURROUNDED, Scale
from models.training.network import Llama, load

MEASURED = ("model.safetensors", "config.json", "vocab.json", "heldout.tsv")


def evaluate(folder: Path, scale: Scale, *, kept: Path | None = None) -> dict[str, Any]:
    """Every figure of the model card, with what it was measured on; `kept` holds the finished ones of a run that was stopped."""
    network, genome = load(folder), read_genome()
    files = {name: file_hash(folder / name) for name in MEASURED if (folder / name).exists()}
    genes, finished = heldout_genes(genome), Finished(kept, files)
    return {
        "scale": scale.name,
        "seed": scale.seed,
        "precision": machine.precision(),
        "files": files,
        "parameters": sum(weight.numel() for weight in network.parameters()),
        "heldout_genes": len(genes),
        "copied_genes": sum(gene.copied for gene in genes),
        **{name: finished.measure(name, measure) for name, measure in _measures(network, genome, genes, scale).items()},
        "environment": {**machine.describe(), **finished.spent},
    }


def _measures(network: Llama, genome: Codes, genes: Sequence[Gene], scale: Scale) -> dict[str, Callable[[], Any]]:
    """What is measured at a scale, by the names in the record; nothing is measured yet."""
    coding = measures.unseen_coding_sequences(genes, genome)
    widths, seed = scale.widths, scale.seed
    of: dict[str, Callable[[], Any]] = {
        "bits_per_base": lambda: [measures.bits_per_base(network, genome, genes, width.bases, scale.stride) for width in widths],
        "variants": lambda: [measures.variant_effects(network, coding, genome, width, seed) for width in widths],
    }
    if scale is FULL:
        wide = measures.unseen_surrounded(genes, genome, SURROUNDED.bases // 2)
        of["variants_surrounded"] = lambda: measures.variant_effects(network, wide, genome, SURROUNDED, seed)
        of["deletions"] = lambda: [measures.deletion_effects(network, coding, width, seed) for width in widths]
        of["real_against_shuffled"] = lambda: [measures.real_against_shuffled(network, coding, width, seed) for width in widths]
    if scale is FULL and brca1.DATA.is_dir():
        of["brca1"] = lambda: brca1.brca1(network, brca1.DATA, seed)
    return of


def write(folder: Path) -> dict[str, Any]:
    kept = folder / "evaluation.part.json"
    figures = evaluate(folder, FULL, kept=kept)
    (folder / "evaluation.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    kept.unlink()
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
