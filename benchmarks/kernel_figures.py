"""`kernels`: the figures of `benchmarks/kernels.py` as a workload."""

from __future__ import annotations

import importlib
import importlib.util

from benchmarks.measured import Measured, NotMeasured
from benchmarks.options import Options


def kernels(options: Options) -> Measured:
    """Kernels against this machine's bandwidth and best matrix product."""
    if importlib.util.find_spec("benchmarks.kernels") is None:
        raise NotMeasured("there are no measurements of the kernels alone yet")
    found: dict[str, float] = importlib.import_module("benchmarks.kernels").measure(options.quick)
    return Measured("kernels", "Kernels against the machine's floors", options.precision, options.rounds, found)
