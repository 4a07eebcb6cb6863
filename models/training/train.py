"""Trains the bundled model: `python -m models.training.train --minutes 50 --seed 0 --out DIR`.

The seed fixes the first weights and the order of the windows. How far a run gets in its minutes, and so the learning
rate at each step, depends on the machine: two runs agree in recipe, not in bits.
"""

import argparse
import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch.nn import functional as F

from models.training import machine, measures
from models.training.copies import heldout_genes
from models.training.genome import Codes, read_genome
from models.training.measures import QUICK
from models.training.network import Llama, LlamaConfig, save
from models.training.orfs import training_spans
from models.training.scoring import as_tokens
from models.training.windows import WindowSampler


@dataclass(frozen=True)
class Recipe:
    minutes: float
    seed: int
    batch: int = 16
    peak_rate: float = 1.5e-3
    final_share: float = 0.05  # of the peak, where the cosine ends
    warmup_steps: int = 60
    weight_decay: float = 0.1
    clip: float = 1.0

    def rate(self, step: int, elapsed: float) -> float:
        """Linear warm-up by steps times a cosine over the minutes."""
        done = min(1.0, elapsed / (60 * self.minutes))
        cosine = 0.5 * (1 + math.cos(math.pi * done))
        return self.peak_rate * min(1.0, (step + 1) / self.warmup_steps) * (self.final_share + (1 - self.final_share) * cosine)


@dataclass(frozen=True)
class Progress:
    step: int
    elapsed: float  # seconds
    bits: float  # a base, of this batch


def run(recipe: Recipe, network: Llama, sampler: WindowSampler) -> Iterator[Progress]:
    """Trains until the minutes are over, one step at a time."""
    optimiser = torch.optim.AdamW(network.parameters(), lr=0.0, betas=(0.9, 0.95), weight_decay=recipe.weight_decay)
    network.train()
    begun, step, elapsed = time.monotonic(), 0, 0.0
    while elapsed < 60 * recipe.minutes:
        for group in optimiser.param_groups:
            group["lr"] = recipe.rate(step, elapsed)
        _, windows = sampler.draw(recipe.batch)
        inputs, targets = as_tokens(windows)
        with torch.autocast("cpu", torch.bfloat16):
            logits = network(inputs)
        loss = F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), recipe.clip)
        optimiser.step()
        step, elapsed = step + 1, time.monotonic() - begun
        yield Progress(step, elapsed, loss.item() / math.log(2))


def train(recipe: Recipe, genome: Codes, out: Path) -> dict[str, object]:
    """Writes weights, config, vocabulary and the record of the run; returns the record."""
    torch.manual_seed(recipe.seed)
    network = Llama(LlamaConfig())
    network.initialise()
    context = network.config.max_position_embeddings
    sampler = WindowSampler(genome, training_spans(genome), length=context, seed=recipe.seed)
    history = []
    for progress in run(recipe, network, sampler):
        history.append(progress)
        if progress.step % 50 == 0:
            recent = sum(entry.bits for entry in history[-50:]) / 50
            print(f"{progress.elapsed:7.0f} s  step {progress.step:6d}  {recent:.4f} bits per base", flush=True)
    save(network, out)
    tokens = len(history) * recipe.batch * context
    record: dict[str, object] = {
        "recipe": asdict(recipe),
        "precision": "bfloat16 autocast",
        "steps": len(history),
        "tokens": tokens,
        "tokens_per_second": round(tokens / history[-1].elapsed),
        "first_steps_bits": _mean(history[:20]),
        "last_steps_bits": _mean(history[-20:]),
        "held_out": measures.bits_per_base(network.eval(), genome, heldout_genes(genome), QUICK.stride),
        "environment": machine.describe(),
    }
    (out / "training.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return record


def _mean(history: list[Progress]) -> float:
    return round(sum(entry.bits for entry in history) / len(history), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    record = train(Recipe(minutes=given.minutes, seed=given.seed), read_genome(), given.out)
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
