"""`inspect`: load a model folder as a worker would, prove its bits, score a fixed sequence, and say what was found."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.command_line import running
from engine.engine import Engine
from engine.errors import ModelRefused
from engine.windows import combine_sequence, plan_sequence

LONGEST = 96  # bases of the smoke score, or as many as the context holds


def read(options: argparse.Namespace) -> float:
    """Nothing is asked: the moment at which loading begins, in seconds of a steady clock."""
    return time.monotonic()


def report(engine: Engine, began: float, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One row: what the folder holds, the deployment and its bits, and a smoke score. ModelRefused where it cannot score."""
    loaded = time.monotonic()
    yield {
        **_model(options.model),
        "context": engine.context,
        "vocabulary": engine.scheduler.limits.vocabulary,
        "tokenizer": type(engine.tokenizer).__name__,
        "token_bases": engine.tokenizer.width,
        **{name: value for name, value in engine.deployment.as_dict().items() if name != "model"},
        "batch_invariant": engine.batch_invariant,
        "golden": engine.golden,
        **_smoke(engine),
        "load_seconds": round(loaded - began, 3),
        "smoke_seconds": round(time.monotonic() - loaded, 3),
    }


def bases(length: int) -> str:
    """A fixed sequence without a short period: base i is number i² + 3i + ⌊i/7⌋, modulo 4, of A, C, G, T."""
    return "".join("ACGT"[(i * i + 3 * i + i // 7) % 4] for i in range(length))


def _model(folder: Path) -> dict[str, Any]:
    """Architecture by `config.json`; elements of all stored tensors, and their types."""
    from safetensors import safe_open

    raw = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    parameters, types = 0, set()
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as stored:
            for name in stored.keys():  # noqa: SIM118 -- no mapping: it has keys() and cannot be iterated
                tensor = stored.get_slice(name)
                parameters += math.prod(tensor.get_shape())
                types.add(tensor.get_dtype())
    return {
        "architecture": ",".join(raw.get("architectures") or [str(raw.get("model_type"))]),
        "parameters": parameters,
        "stored_as": ",".join(sorted(types)),
        "layers": raw.get("num_hidden_layers"),
        "hidden": raw.get("hidden_size"),
    }


def _smoke(engine: Engine) -> dict[str, Any]:
    """The log-likelihood, in nats, of the fixed sequence."""
    asked = bases(min(LONGEST, max(2, engine.context - 8)))
    plan = plan_sequence(asked, engine.tokenizer, context=engine.context)
    found = running.results(engine, plan.requests)
    score = combine_sequence(plan, [found[request] for request in plan.requests])
    if not math.isfinite(score.total):
        raise ModelRefused(f"the smoke score of {len(asked)} bases is {score.total}, no number")
    return {"smoke_bases": len(asked), "smoke_log_likelihood": score.total}
