"""Builds the C++ kernels once for each source, set of flags and compiler, and finds what was built before.

The library lies in the checkout's `.run`, or in the user's cache where the checkout cannot be written. Its name holds a digest of
all that went into it, and it appears by renaming, so that a reader never meets half of one.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from kernels.errors import KernelsUnavailable

log = logging.getLogger(__name__)

Level = Literal["avx2", "avx512", "avx512_bf16", "avx512_amx"]

SOURCES = Path(__file__).with_name("native")
_ROOT = Path(__file__).resolve().parents[1]
_COMPILER = "g++"
_AVX512 = ("-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mfma")
_INSTRUCTIONS: dict[str, tuple[str, ...]] = {
    "avx2": ("-mavx2", "-mfma"),
    "avx512": _AVX512,
    "avx512_bf16": (*_AVX512, "-mavx512bf16"),
    "avx512_amx": (*_AVX512, "-mavx512bf16", "-mamx-tile", "-mamx-bf16"),
}
# contraction is off: the source says where a product is fused, the compiler may not
_FLAGS = ("-std=c++17", "-O3", "-pthread", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden", "-fPIC", "-shared", "-w")
_SECONDS = 120.0  # a compiler that takes longer hangs


def flags(level: Level) -> tuple[str, ...]:
    """All flags of a build for one instruction set."""
    return (*_FLAGS, *_INSTRUCTIONS[level])


def library(level: Level) -> Path:
    """The compiled kernels for `level`, built when they are not there yet. Raises KernelsUnavailable with the reason."""
    if level not in _INSTRUCTIONS:
        raise KernelsUnavailable(f"there are no compiled kernels for the instruction set {level!r}")
    digest = _digest(*(part for path in sorted(SOURCES.iterdir()) for part in (path.name, path.read_text())), *flags(level))
    stem = f"kernels-{level}-{digest}"
    compiler = shutil.which(_COMPILER)
    if compiler is None:
        return _built_before(stem)
    name = f"{stem}-{_digest(_version(compiler))}.so"
    for folder in _folders():
        if (folder / name).exists():
            return folder / name
    return _build(compiler, level, writable(), name)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _folders() -> Iterator[Path]:
    yield _ROOT / ".run" / "kernels"
    yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "helicase" / "kernels"


def _built_before(stem: str) -> Path:
    for folder in _folders():
        for path in sorted(folder.glob(f"{stem}-*.so")):
            return path
    raise KernelsUnavailable(f"there is no {_COMPILER} on the path, and no library that one has built before")


def _version(compiler: str) -> str:
    return _run([compiler, "-v", "-E", "-x", "c++", os.devnull]).stderr.partition(" version ")[2].partition("\n")[0]


def writable() -> Path:
    """A folder for what is compiled. Raises KernelsUnavailable where none can be written."""
    for folder in _folders():
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    raise KernelsUnavailable(f"no folder for compiled kernels can be written: {', '.join(map(str, _folders()))}")


def _build(compiler: str, level: Level, folder: Path, name: str) -> Path:
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="building-", dir=folder) as place:
        made = Path(place) / name
        sources = [str(path) for path in sorted(SOURCES.glob("*.cpp"))]
        outcome = _run([compiler, *flags(level), "-o", str(made), *sources])
        if outcome.returncode:
            lines = outcome.stderr.strip().splitlines() or [f"status {outcome.returncode}"]
            reason = next((line for line in lines if "error" in line), lines[-1])
            raise KernelsUnavailable(f"{_COMPILER} could not build the kernels: {reason}")
        made.replace(folder / name)
    log.info("kernels built for %s in %.1f s", level, time.monotonic() - started, extra={"event": "kernels_built"})
    return folder / name


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"LC_ALL": "C"}
    try:
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=_SECONDS)  # noqa: S603 — our own flags
    except (OSError, subprocess.TimeoutExpired) as error:
        raise KernelsUnavailable(f"{_COMPILER} could not run: {error}") from error
