"""`inspect`: load a model folder as a worker would, prove its bits, score a fixed sequence, and say what was found."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine import smoke
from engine.engine import Engine


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


def _model(folder: Path) -> dict[str, Any]:
    """Architecture by `config.json`; elements of all stored tensors, and their types."""
    from safetensors import safe_open

    from engine.weights import weight_files

    raw = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    parameters, types = 0, set()
    for path in weight_files(folder):  # a folder may hold others, which are not the model
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
    asked, total = smoke.score(engine)
    return {"smoke_bases": asked, "smoke_log_likelihood": total}
