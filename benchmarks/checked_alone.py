"""One upload checked in a process of its own, which tells its memory and where it is: `python -m benchmarks.checked_alone ID`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any
from uuid import UUID

_EVERY = 0.2  # seconds between two lines


def main(pk: str) -> None:
    """Check until it is no longer waiting, slice after slice; a line of JSON now and then, and one at the end."""
    import django

    django.setup()
    from orders import checking, staging
    from orders.models import Intake

    begun = time.monotonic()
    told: dict[str, float] = {"first_batch": 0.0, "peak": 0.0, "growth": 0.0, "base": 0.0, "share": 0.0, "next": 0.0}
    write = staging.Stage.write

    def noted(stage: staging.Stage, verdicts: Any, checkpoint: Any = None) -> None:
        write(stage, verdicts, checkpoint)
        now = time.monotonic() - begun
        told["first_batch"] = told["first_batch"] or now
        memory = _resident()
        told["peak"] = max(told["peak"], memory)
        if now >= told["next"]:
            told["next"] = now + _EVERY
            told["share"] = Intake.objects.values_list("progress", flat=True).get(pk=pk)
            if not told["base"] and told["share"] > 0.2:
                told["base"] = memory
            if told["base"]:
                told["growth"] = max(told["growth"], memory - told["base"])
            _say(told, now)

    staging.Stage.write = noted  # type: ignore[method-assign]
    while Intake.objects.filter(pk=pk, state="waiting").exists():
        checking.check_intake(UUID(pk))
    told["share"] = 1.0
    _say(told, time.monotonic() - begun)


def _say(told: dict[str, float], seconds: float) -> None:
    print(json.dumps({**told, "seconds": seconds}), flush=True)


def _resident() -> float:
    """Bytes of this process in memory now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return float(line.split()[1]) * 1024
    return 0.0


if __name__ == "__main__":
    main(sys.argv[1])
