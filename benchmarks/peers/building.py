"""Environments of the peers, one each under `.run/benchmarks/peers/`, built from lists of exact versions.

The lists are complete, so pip resolves nothing: several of these engines ask for packages that do not fit a machine without a GPU
(a torchvision for CUDA, a torch under another name), and none of those is needed here.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.peer import FOLDER, ROOT

LISTS = ROOT / "benchmarks" / "peers"
BORROWED = {"transformers_cb": "transformers"}  # adapters that live in another's environment
TCMALLOC = "libtcmalloc-minimal4"  # a Debian package


class BuildFailed(Exception):
    """An environment could not be made; the message ends with the last lines of the log."""


def build(name: str, say: Callable[[str], None] = print) -> None:
    """Make the environment `name`, unless it is there in the listed versions. Raises BuildFailed."""
    root = FOLDER / "peers" / name
    if name in BORROWED:
        build(BORROWED[name], say)
        if not root.is_symlink():
            root.symlink_to(BORROWED[name], target_is_directory=True)
        return
    wanted = LISTS / f"{name}.txt"
    digest = hashlib.sha256(wanted.read_bytes()).hexdigest()
    stamp = root / "installed"
    if stamp.exists() and stamp.read_text() == digest:
        say(f"{name}: there already")
        return
    say(f"{name}: installing {sum('==' in line for line in wanted.read_text().splitlines())} packages")
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    log = root.parent / f"{name}.log"
    log.unlink(missing_ok=True)
    run(log, sys.executable, "-m", "venv", root)
    pip(log, root, "install", "--no-compile", "--no-deps", "-r", wanted)
    if name in EXTRA:
        EXTRA[name](root, log, say)
    stamp.write_text(digest)
    say(f"{name}: ready")


def vllm(root: Path, log: Path, say: Callable[[str], None]) -> None:
    """vLLM asks for tcmalloc to be loaded first; it is unpacked here, not installed. Where Debian is not, it runs without."""
    try:
        run(log, "apt-get", "download", TCMALLOC, folder=root)
        package = next(root.glob(f"{TCMALLOC}_*.deb"))
        run(log, "dpkg-deb", "-x", package, root / "tcmalloc")
    except (BuildFailed, StopIteration):
        say("vllm: without tcmalloc, which could not be had here; it is slower for that")


def llamacpp(root: Path, log: Path, say: Callable[[str], None]) -> None:
    """llama.cpp's server and library, compiled for this processor from the sources that its Python binding brings."""
    say("llamacpp: compiling, some minutes")
    pinned = (LISTS / "llamacpp-source.txt").read_text().strip()
    pip(log, root, "download", "--no-deps", "--no-binary", "llama-cpp-python", "-d", root, pinned)
    source = root / "source"
    with tarfile.open(next(root.glob("llama_cpp_python-*.tar.gz"))) as archive:
        archive.extractall(source, filter="data")
    inner = next(source.iterdir())
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "BUILD_SHARED_LIBS": "ON",
        "GGML_NATIVE": "ON",
        "LLAMA_BUILD_TESTS": "OFF",
        "LLAMA_BUILD_EXAMPLES": "OFF",
        "LLAMA_BUILD_APP": "OFF",
        "LLAMA_USE_PREBUILT_UI": "OFF",  # it would be fetched from somewhere
        "LLAMA_OPENSSL": "OFF",
    }
    cmake, flags = root / "bin" / "cmake", [f"-D{name}={value}" for name, value in options.items()]
    run(log, cmake, "-S", inner / "vendor" / "llama.cpp", "-B", root / "build", *flags)
    run(log, cmake, "--build", root / "build", "--target", "llama-server", "--parallel", "2")
    shutil.copytree(inner / "llama_cpp", root / "binding" / "llama_cpp")
    shutil.rmtree(source)
    (root / "version").write_text(pinned.partition("==")[2])


EXTRA: dict[str, Callable[[Path, Path, Callable[[str], None]], None]] = {"vllm": vllm, "llamacpp": llamacpp}


def pip(log: Path, root: Path, *arguments: str | Path) -> None:
    """pip of the environment."""
    run(log, root / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments)


def run(log: Path, *command: str | Path, folder: Path = ROOT) -> None:
    """A command whose words go to the log. Raises BuildFailed with the last of them."""
    try:
        with log.open("ab") as words:
            code = subprocess.run(command, cwd=folder, stdout=words, stderr=subprocess.STDOUT, check=False).returncode
    except OSError as error:
        raise BuildFailed(f"{command[0]}: {error.strerror}") from error
    if code:
        last = "\n".join(log.read_text(errors="replace").splitlines()[-8:])
        raise BuildFailed(f"{Path(command[0]).name} ended with {code}; the end of {log}:\n{last}")
