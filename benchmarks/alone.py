"""One long score in a process of its own, so that its peak memory is nobody else's: `python -m benchmarks.alone`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import models, workloads
from benchmarks.measured import NotMeasured
from benchmarks.ours import Ours, default
from benchmarks.peer import ROOT, Precision
from engine import Score, isa

SOURCES = {"app": workloads.APP, "coli": workloads.COLI}
_REPORTS = 16  # lines of progress


def measure(source: str, tokens: int | None, precision: Precision) -> dict[str, Any]:
    """Run it. `seconds`, `tokens`, `peak_gb` (the process's high-water mark), `growth_gb` from a quarter of the way to its end."""
    asked = ["--source", source, "--precision", precision, *(["--tokens", str(tokens)] if tokens else [])]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.alone", *asked], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise NotMeasured(f"the process ended with {done.returncode}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if "why" in found:
        raise NotMeasured(found["why"])
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Score the beginning of real sequence, with progress on standard error and the result as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.alone", description=__doc__)
    parser.add_argument("--source", choices=SOURCES, default="app")
    parser.add_argument("--tokens", type=int, help="the first so many bases (default: all)")
    parser.add_argument("--precision", choices=("fp32", "bf16", "int8"), default="fp32")
    asked = parser.parse_args(arguments)
    isa.pin("auto")
    try:
        found = _score(workloads.real(SOURCES[asked.source], asked.tokens), asked.precision)
    except NotMeasured as why:
        found = {"why": str(why)}
    print(json.dumps(found))


def _score(tokens: tuple[int, ...], precision: Precision) -> dict[str, Any]:
    ours = Ours(models.folder(models.SLIDING), default(precision))
    before, begun = int(ours.engine.stats()["tokens"]), time.perf_counter()
    ours.submit(Score(tokens))
    outcomes, resident = ours.step(), [_status("VmRSS")]
    while not outcomes:
        outcomes = ours.step()
        done = int(ours.engine.stats()["tokens"]) - before
        if done * _REPORTS >= len(resident) * len(tokens):
            resident.append(_status("VmRSS"))
            seconds = time.perf_counter() - begun
            print(f"{done:>9,} tokens, {seconds:6.1f} s, {resident[-1]:.2f} GB", file=sys.stderr, flush=True)
    if outcomes[0].error is not None:
        raise NotMeasured(str(outcomes[0].error))
    return {
        "seconds": time.perf_counter() - begun,
        "tokens": len(tokens),
        "peak_gb": _status("VmHWM"),
        "growth_gb": resident[-1] - resident[len(resident) // 4],
    }


def _status(name: str) -> float:
    """A size of this process, in GB."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024 / 1e9


if __name__ == "__main__":
    main()
