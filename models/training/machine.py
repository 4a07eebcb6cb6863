"""What a measurement ran on, as far as it explains the figures: never a host name or a path."""

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


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return os.uname().machine
