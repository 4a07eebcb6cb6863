"""Which instructions the numerical library may use. Set through its environment, so before torch is first imported.

Intel's library has a strict reproducible mode in which the order of the additions no longer depends on the number of rows. It is
asked for where it exists (Intel processors) and proven, like everything else, by the probes of `kernels.matmul`.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from engine.config import Isa
from engine.errors import DeploymentMismatch

log = logging.getLogger(__name__)

_CPUINFO = Path("/proc/cpuinfo")


def pin(isa: Isa) -> None:
    """Ask the libraries for `isa`; values that the operator has set are left alone. No effect once torch is imported."""
    if "torch" in sys.modules:
        if os.environ.get("OMP_WAIT_POLICY", "").upper() != "PASSIVE":
            log.warning("torch came before the engine: its threads will spin while they wait", extra={"event": "late_pin"})
        return
    flags, intel = _processor()
    level = isa if isa != "auto" else ("avx512" if "avx512f" in flags else "avx2")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # a spinning thread takes the core from web server and database
    if isa != "auto":
        os.environ.setdefault("ATEN_CPU_CAPABILITY", level)
        os.environ.setdefault("MKL_ENABLE_INSTRUCTIONS", level.upper())
    if intel:
        os.environ.setdefault("MKL_CBWR", f"{level.upper()},STRICT")


def verify(isa: Isa, used: str) -> None:
    """Raise DeploymentMismatch when the level in use (`avx2`, `avx512`, `default`) is not the pinned one."""
    if isa not in ("auto", used):
        raise DeploymentMismatch(
            f"the deployment is pinned to {isa} and this process uses {used}; the pin must come before torch is first imported"
        )


def library_mode() -> str:
    """The library's reproducible mode and instruction limit as they stand in the environment, for the fingerprint."""
    return f"{os.environ.get('MKL_CBWR', 'free')}/{os.environ.get('MKL_ENABLE_INSTRUCTIONS', 'all')}"


def _processor() -> tuple[frozenset[str], bool]:
    """Feature flags of the processor and whether Intel made it; empty where the system does not say."""
    text = _CPUINFO.read_text() if _CPUINFO.exists() else ""
    flags = next((line.partition(":")[2].split() for line in text.splitlines() if line.startswith("flags")), [])
    return frozenset(flags), "GenuineIntel" in text
