"""What a measurement ran on, as far as it explains the figures: never a host name or a path."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.peer import ROOT

_TOLD = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx_vnni", "amx_bf16", "amx_int8")
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def describe() -> dict[str, object]:
    """Processor, instruction sets, cores, memory, caches, versions, date."""
    import torch

    return {
        "processor": _cpuinfo("model name") or os.uname().machine,
        "family": f"{_cpuinfo('cpu family')}/{_cpuinfo('model')}",
        "isa": [flag for flag in _TOLD if flag in _cpuinfo("flags").split()],
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "last_level_cache_mb": round(last_level_cache() / (1 << 20), 1),
        "torch": torch.__version__,
        "date": datetime.now(UTC).date().isoformat(),
    }


def in_words(machine: dict[str, object]) -> str:
    """One line for tables and pictures."""
    isa = machine["isa"]
    level = "AVX-512" if isinstance(isa, list) and "avx512f" in isa else "AVX2"
    bf16 = ""
    if isinstance(isa, list):
        bf16 = " with BF16 and AMX" if "amx_bf16" in isa else " with BF16" if "avx512_bf16" in isa else ""
    return f"{machine['processor']}, {machine['cores']} cores, {level}{bf16}, {machine['memory_gb']} GB, torch {machine['torch']}"


def last_level_cache() -> int:
    """Bytes of the largest cache a core sees; 32 MiB where the system does not say."""
    sizes = [_bytes(path.read_text().strip()) for path in sorted(_CACHES.glob("index*/size"))]
    return max(sizes, default=32 << 20)


def commit() -> str:
    """The commit of this folder, with `+` when tracked files differ from it; empty outside of a repository."""
    git = ("git", "-C", str(ROOT))
    found = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    if found.returncode:
        return ""
    changed = subprocess.run([*git, "status", "--porcelain", "-uno"], capture_output=True, text=True, check=False).stdout.strip()
    return found.stdout.strip() + ("+" if changed else "")


def busy() -> tuple[float, float]:
    """Seconds that all cores together have worked since the machine started, and that this process and its children have."""
    fields = [int(value) for value in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    spent = os.times()
    own = spent.user + spent.system + spent.children_user + spent.children_system
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK"), own


def core_seconds(session: int) -> float:
    """Seconds that all cores have worked for the living processes of a session."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            fields = path.read_text().rsplit(")", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) * (int(fields[3]) == session)
    return total / os.sysconf("SC_CLK_TCK")


def _cpuinfo(name: str) -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+)([KMG]?)", text)
    return int(found[1]) * _SIZES[found[2]] if found else 0
