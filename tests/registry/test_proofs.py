"""A file is read as a whole once for each state of it, by whichever process comes first; a touched one is read again."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from registry import proofs
from registry.models import FileProof

pytestmark = pytest.mark.django_db


@pytest.fixture
def path(tmp_path: Path) -> Path:
    for name in ("one.fa", "one.fa.fai"):
        (tmp_path / name).write_text("ACGT")
    return tmp_path / "one.fa"


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "SETTLED_SECONDS", -60.0)


class Reads:
    """Digests the file, and counts how often."""

    def __init__(self, path: Path) -> None:
        self.path, self.count = path, 0

    def __call__(self) -> str:
        self.count += 1
        return self.path.read_text()


def in_place(path: Path) -> None:
    """Other bytes of the same size, and the modification time put back."""
    times = path.stat()
    path.write_text("ACGA")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def exchanged(path: Path) -> None:
    other = path.with_name("other")
    other.write_text("ACGA")
    times = path.stat()
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.replace(path)


def index(path: Path) -> None:
    """The index decides which bases are read."""
    Path(f"{path}.fai").write_text("ACGA")


def test_it_is_read_once_and_never_again(path: Path, settled: None) -> None:
    reads = Reads(path)
    assert all(proofs.require(path, "ACGT", reads) for _ in range(3))
    assert (reads.count, FileProof.objects.count()) == (1, 1)
    assert proofs.look(path, "ACGT").proven
    assert not proofs.look(path, "another digest").proven


@pytest.mark.parametrize("touch", [in_place, exchanged, index])
def test_whatever_was_done_to_it_it_is_read_again(path: Path, settled: None, touch: Callable[[Path], None]) -> None:
    reads = Reads(path)
    assert proofs.require(path, "ACGT", reads)
    touch(path)
    assert not proofs.look(path, "ACGT").proven
    assert proofs.require(path, "ACGT", reads) is (touch is index)
    assert reads.count == 2


def test_what_does_not_hold_is_never_kept(path: Path, settled: None) -> None:
    assert not proofs.require(path, "other", Reads(path))
    assert not FileProof.objects.exists()


def test_a_file_that_was_just_written_is_read_but_proves_nothing(path: Path) -> None:
    """It may change again within one tick of the clock that its times are taken from."""
    reads = Reads(path)
    assert all(proofs.require(path, "ACGT", reads) for _ in range(2))
    assert (reads.count, FileProof.objects.count()) == (2, 0)


def test_a_file_that_changes_while_it_is_read_proves_nothing(path: Path, settled: None) -> None:
    def read() -> str:
        in_place(path)
        return "ACGT"

    assert proofs.require(path, "ACGT", read)
    assert not FileProof.objects.exists()


def test_a_file_that_is_not_there_has_no_state(tmp_path: Path) -> None:
    assert proofs.look(tmp_path / "none", "d") == proofs.UNSEEN
