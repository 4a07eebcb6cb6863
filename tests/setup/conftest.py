"""Checkouts for the tests of the supervisor, in folders that the database's user may enter."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from supervisor import secrets_file
from supervisor.ports import Reservation
from supervisor.postgres import Postgres
from tests.setup import stand_in


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Like tmp_path, which is closed to others; its name holds a space."""
    folder = Path(tempfile.mkdtemp(prefix="helicase set-up "))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def prepared_run() -> Iterator[Path]:
    """A `.run` with secrets and an empty cluster: initdb takes seconds, and only one test is about it."""
    with tempfile.TemporaryDirectory(prefix="helicase-run-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        secrets = secrets_file.load_or_create(folder / "secrets.json")
        server = Postgres(folder / "postgres", folder / "postgres.log", secrets.database_superuser, Reservation(), fast=True)
        server.start()
        server.stop()
        server.reservation.close()
        yield folder


@pytest.fixture
def checkout(open_folder: Path, prepared_run: Path) -> Iterator[Path]:
    """A stand-in checkout; whatever a failed test leaves running is ended."""
    root = stand_in.build(open_folder / "checkout")
    subprocess.run(["cp", "-a", prepared_run, root / ".run"], check=True)  # -a: the owner is part of it
    yield root
    stand_in.kill_all(root)


@pytest.fixture
def up(checkout: Path) -> Callable[..., stand_in.Running]:
    """Starts `make up` in the stand-in checkout."""
    return lambda **variables: stand_in.start(checkout, **variables)
