"""Trains the bundled model: `python -m models.training.train --out DIR [--from FOLDER] [--tokens N] [--seed N] [--resume]`.

Every few minutes the whole state goes to `DIR/checkpoint.pt`; `--resume` goes on from there, with the windows that would
have come next.
"""

import argparse
import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from models.training import machine
from models.training.evaluate import file_hash
from models.training.genome import Codes, read_genome
from models.training.network import Llama, LlamaConfig, load, save
from models.training.recipe import LONG, STEP_TOKENS, Recipe
from models.training.scoring import as_tokens, cores
from models.training.stops import stop_penalty
from models.training.windows import WindowSampler

SLIDING_WINDOW = 256
CHECKPOINT, CHECKPOINT_SECONDS = "checkpoint.pt", 150
LOG_STEPS = 25


@dataclass
class Run:
    """Everything that a checkpoint holds, and so all that decides how a run goes on."""

    recipe: Recipe
    network: Llama
    optimiser: torch.optim.Optimizer
    sampler: WindowSampler
    done: int = 0  # tokens
    seconds: float = 0.0  # beside whatever else the machine did
    processor_seconds: float = 0.0
    # (tokens, bits per base of each group of windows), averages over LOG_STEPS
    bits: list[tuple[int, list[float]]] = field(default_factory=list)

    @classmethod
    def begin(cls, recipe: Recipe, network: Llama, genome: Codes) -> "Run":
        optimiser = torch.optim.AdamW(network.parameters(), lr=0.0, betas=(0.9, 0.95), weight_decay=recipe.weight_decay, fused=True)
        return cls(recipe, network.train(), optimiser, WindowSampler(genome, seed=recipe.seed))

    def save(self, out: Path) -> None:
        state = {name: getattr(self, name) for name in ("done", "seconds", "processor_seconds", "bits")}
        parts = {name: getattr(self, name).state_dict() for name in ("network", "optimiser")}
        torch.save({**state, **parts, "sampler": self.sampler.state}, out / f"{CHECKPOINT}.part")
        (out / f"{CHECKPOINT}.part").replace(out / CHECKPOINT)
        save(self.network, out)

    def restore(self, out: Path) -> None:
        state = torch.load(out / CHECKPOINT, weights_only=True)
        self.network.load_state_dict(state.pop("network"))
        self.optimiser.load_state_dict(state.pop("optimiser"))
        self.sampler.state = state.pop("sampler")
        for name, value in state.items():
            setattr(self, name, value)


def steps(run: Run, until: int | None = None) -> Iterator[list[float]]:
    """Trains until all tokens, or `until` of them, are read; yields the bits per base of each group of windows, step by step."""
    with cores() as pool:
        while run.done < (until or run.recipe.tokens):
            begun, worked = time.monotonic(), time.process_time()
            for group in run.optimiser.param_groups:
                group["lr"] = run.recipe.rate(run.done)
            halves = [[run.sampler.read(places) for places in half] for half in run.recipe.halves(run.sampler, run.done)]
            weight = run.recipe.stop_weight if run.recipe.closing(run.done) else 0.0
            results = list(pool.map(lambda half, weight=weight: _gradients(run.network, half, weight), halves))
            for parameter, *parts in zip(run.network.parameters(), *(gradients for _, gradients in results), strict=True):
                parameter.grad = sum(parts[1:], parts[0])
            torch.nn.utils.clip_grad_norm_(run.network.parameters(), run.recipe.clip)
            run.optimiser.step()
            run.done += STEP_TOKENS
            run.seconds += time.monotonic() - begun
            run.processor_seconds += time.process_time() - worked
            yield [value for bits, _ in results for value in bits]


def _gradients(network: Llama, half: list[Codes], stop_weight: float) -> tuple[list[float], list[Tensor]]:
    """Bits per base of each group of windows, and this half's part of the gradient of the mean loss over the step's tokens."""
    total, bits = torch.zeros(()), []
    for windows in half:
        inputs, targets = as_tokens(windows)
        with machine.autocast():
            logits = network(inputs)
        loss = F.cross_entropy(logits.float().flatten(0, 1), targets.flatten(), reduction="sum")
        bits.append(loss.item() / targets.numel() / math.log(2))
        if stop_weight:
            loss = loss + stop_weight * stop_penalty(logits, windows)
        total = total + loss / STEP_TOKENS
    return bits, list(torch.autograd.grad(total, list(network.parameters())))


def train(run: Run, out: Path, start: Path | None, until: int | None = None) -> dict[str, object]:
    """Writes checkpoints, weights, config, vocabulary and the record of the run; returns the record."""
    recent: list[list[float]] = []
    saved = time.monotonic()
    for bits in steps(run, until):
        recent.append(bits)
        if len(recent) == LOG_STEPS:
            run.bits.append((run.done, np.mean(recent, axis=0).round(4).tolist()))
            rate = run.recipe.rate(run.done)
            print(f"{run.seconds:7.0f} s  {run.done:11,} tokens  rate {rate:.6f}  {run.bits[-1][1]}", flush=True)
            recent = []
        if time.monotonic() - saved > CHECKPOINT_SECONDS:
            run.save(out)
            saved = time.monotonic()
    run.save(out)
    record = {**record_of(run), "start": start_of(start), "environment": machine.describe()}
    (out / "training.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return record


def record_of(run: Run) -> dict[str, object]:
    """What the run was; its seconds are those of the steps, beside whatever else the machine did."""
    return {
        "recipe": asdict(run.recipe),
        "precision": machine.precision(),
        "tokens": run.done,
        "last_rate": run.recipe.rate(run.done),
        "minutes": round(run.seconds / 60),
        "processor_minutes": round(run.processor_seconds / 60),
        "first_bits": run.bits[0][1] if run.bits else None,
        "last_bits": run.bits[-1][1] if run.bits else None,
    }


def start_of(folder: Path | None) -> dict[str, object] | None:
    """The weights a run started from, and the tokens that had gone into them."""
    if folder is None:
        return None
    earlier = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    return {"name": folder.name, "sha256": file_hash(folder / "model.safetensors"), "tokens": earlier["tokens"]}


def first_network(folder: Path | None, seed: int) -> Llama:
    """Fresh weights, or those of a folder, with a sliding window."""
    torch.manual_seed(seed)
    start = Llama(LlamaConfig()) if folder is None else load(folder)
    network = Llama(replace(start.config, sliding_window=SLIDING_WINDOW, max_position_embeddings=LONG))
    if folder is None:
        network.initialise()
    else:
        network.load_state_dict(start.state_dict())
    return network


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--from", type=Path, dest="folder", help="model folder whose weights to start from")
    parser.add_argument("--tokens", type=int, default=11_000_000)
    parser.add_argument("--until", type=int, help="stop after as many of them, as if the run had been cut short")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in --out")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    run = Run.begin(Recipe(tokens=given.tokens, seed=given.seed), first_network(given.folder, given.seed), read_genome())
    if given.resume:
        run.restore(given.out)
    print(json.dumps(train(run, given.out, given.folder, given.until), indent=1))


if __name__ == "__main__":
    main()
