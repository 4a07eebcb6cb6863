"""What a measurement ran on and in, as far as it explains the figures: never a host name or a path."""

import os
from datetime import UTC, datetime
from pathlib import Path

import torch


def describe() -> dict[str, object]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


def halves() -> bool:
    """Whether bfloat16 is quicker than float32 here. Without AVX-512 it is emulated, and takes several times as long."""
    return torch.backends.cpu.get_cpu_capability() == "AVX512"


def autocast() -> torch.autocast:
    """What a network is computed in."""
    return torch.autocast("cpu", torch.bfloat16, enabled=halves())


def precision() -> str:
    """Its name, for the records."""
    return "bfloat16 autocast" if halves() else "float32"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return os.uname().machine
