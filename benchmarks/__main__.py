"""`python -m benchmarks [NAME …]`: measure workloads, all of them when none is named."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Sequence

from benchmarks.measured import Measured, NotMeasured
from benchmarks.options import Options
from engine import isa

WORKLOADS = {  # name: module and function, imported when it runs
    "mixed": ("benchmarks.mixed", "mixed"),
    "mixed-long": ("benchmarks.mixed", "mixed_long"),
    "variants": ("benchmarks.variants", "variants"),
    "saturation": ("benchmarks.saturation", "saturation"),
    "reads": ("benchmarks.reads", "reads"),
    "long": ("benchmarks.long", "long"),
    "stat": ("benchmarks.stat", "stat"),
    "stat-platform": ("benchmarks.stat_platform", "stat_platform"),
    "reach": ("benchmarks.reach", "reach"),
    "preempted": ("benchmarks.preempted", "preempted"),
    "intake": ("benchmarks.intake", "intake"),
    "manifest": ("benchmarks.manifest", "manifest"),
    "worklist": ("benchmarks.worklist", "worklist"),
    "audit": ("benchmarks.audit", "audit"),
    "drift": ("benchmarks.drift", "drift"),
    "scheduler": ("benchmarks.scheduler", "scheduler"),
    "kernels": ("benchmarks.kernel_figures", "kernels"),
}


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    found.add_argument("names", metavar="NAME", nargs="*", help=f"workloads, of {', '.join(WORKLOADS)}; none: all")
    found.add_argument("--quick", action="store_true", help="under 50 s each on two cores: less work, fewer rounds, no peers")
    found.add_argument("--json", action="store_true", help="print one JSON object last")
    found.add_argument("--precision", choices=("fp32", "bf16", "int8"), default="fp32")
    found.add_argument("--peers", help="names with commas between, or none; default: all that are installed, none when quick")
    found.add_argument("--rounds", type=int, default=0, help="rounds of each alternation (default 3, quick 1)")
    found.add_argument("--whole", action="store_true", help="intake, reads and long: all of it, which takes up to an hour or more")
    found.add_argument("--keep", action="store_true", help="write table, object and picture to benchmarks/results/")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and say in the exit status whether everything named could be measured."""
    commands = parser()
    asked = commands.parse_args(arguments)
    unknown = [name for name in asked.names if name not in WORKLOADS]
    if unknown:
        commands.error(f"there is no workload {', '.join(unknown)}; there are {', '.join(WORKLOADS)}")
    peers = None if asked.peers is None else tuple(name for name in asked.peers.split(",") if name not in ("", "none"))
    options = Options(asked.precision, asked.quick, asked.whole, peers, asked.rounds)
    isa.pin("auto")  # before torch is first imported, as an engine worker does
    failed = [name for name in asked.names or WORKLOADS if not _measured(name, options, asked)]
    return 1 if failed else 0


def _measured(name: str, options: Options, asked: argparse.Namespace) -> bool:
    from benchmarks import machine, report

    module, function = WORKLOADS[name]
    begun = time.monotonic()
    try:
        result: Measured = getattr(importlib.import_module(module), function)(options)
    except NotMeasured as why:
        print(f"{name} was not measured: {why}", file=sys.stderr, flush=True)
        return False
    result.notes.append(f"the whole call took {time.monotonic() - begun:.0f} s")
    on = machine.describe()
    print(report.table(result, on), flush=True)
    if asked.keep:
        print("kept: " + ", ".join(report.keep(result, on)), flush=True)
    if asked.json:
        print(json.dumps(report.as_object(result, on)), flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
