"""A reference of any size, read at any place through an index; nothing is written beside it."""

from __future__ import annotations

import contextlib
import difflib
import gzip
import hashlib
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import pysam
import pysam.samtools
from pysam.utils import SamtoolsError

from engine.command_line import bgzf
from engine.command_line.source import GZIP
from engine.errors import InvalidRequest

_TILE = 1 << 16  # bases read at a time
_NAMES = 256  # kept: unknown names come in runs
_TILES = 16  # kept: neighbours need no reading
_SMALL = 16 << 20  # bytes of a plain gzip file that are unpacked without asking
_PIECE = 1 << 20


class Reference:
    """Contigs by name, in the order of the file, with their lengths."""

    def __init__(self, file: pysam.FastaFile) -> None:
        self._file = file
        self.lengths: dict[str, int] = dict(zip(file.references, file.lengths, strict=True))
        self._tile = lru_cache(maxsize=_TILES)(self._read)
        self.nearest = lru_cache(maxsize=_NAMES)(self._nearest)  # the name that looks most like an unknown one, where one does

    def fetch(self, contig: str, start: int, end: int) -> str:
        """Upper-case bases of [start, end), 0-based, within the contig."""
        if start >= end:
            return ""
        first = start // _TILE
        tiles = "".join(self._tile(contig, number) for number in range(first, (end - 1) // _TILE + 1))
        return tiles[start - first * _TILE : end - first * _TILE]

    def fetcher(self, contig: str) -> Callable[[int, int], str]:
        """`fetch` of one contig, as planning wants it."""
        return lambda start, end: self.fetch(contig, start, end)

    def named(self, name: str) -> str | None:
        """The contig of this name; else the one with `chr` before it, or without, where there is one; else None."""
        if name in self.lengths:
            return name
        other = name.removeprefix("chr") if name.startswith("chr") else f"chr{name}"
        return other if other in self.lengths else None

    def _nearest(self, name: str) -> str | None:
        return next(iter(difflib.get_close_matches(name, self.lengths, n=1)), None)

    def digest(self) -> str:
        """SHA-256 over ">NAME\\nBASES\\n" of every contig: as in the registry; wrapping, case and compression play no part."""
        found = hashlib.sha256()
        for contig, length in self.lengths.items():
            found.update(f">{contig}\n".encode())
            for number in range(-(-length // _TILE)):
                found.update(self._read(contig, number).encode())
            found.update(b"\n")
        return found.hexdigest()

    def _read(self, contig: str, number: int) -> str:
        start = number * _TILE
        bases: str = self._file.fetch(contig, start, min(start + _TILE, self.lengths[contig]))
        return bases.upper()


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Reference]:
    """A FASTA file, plain or bgzip; a small one may be gzip. An index beside it is used where it is not older than the file.

    InvalidRequest for a large gzip file, and for what is no FASTA file; OSError where there is none.
    """
    with contextlib.ExitStack() as stack:
        with path.open("rb") as file:
            compressed, anywhere = file.read(len(GZIP)) == GZIP, file.seek(0) == 0 and bgzf.is_bgzf(file)
        beside = [Path(f"{path}{suffix}") for suffix in (".fai", *([".gzi"] if anywhere else []))]
        fresh = all(index.exists() and index.stat().st_mtime_ns >= path.stat().st_mtime_ns for index in beside)
        if not fresh or (compressed and not anywhere):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="helicase-")))
            fasta = _unpacked(path, folder) if compressed and not anywhere else path
            beside = _indexed(path, fasta, folder, compressed=anywhere)
        else:
            fasta = path
        yield Reference(stack.enter_context(_read_through(path, fasta, *beside)))


def _read_through(path: Path, fasta: Path, index: Path, blocks: Path | None = None) -> pysam.FastaFile:
    try:
        return pysam.FastaFile(
            str(fasta), filepath_index=str(index), filepath_index_compressed=None if blocks is None else str(blocks)
        )
    except (OSError, ValueError) as error:
        raise InvalidRequest(f"{path} cannot be read through its index {index}") from error


def _unpacked(path: Path, folder: Path) -> Path:
    """A small gzip file, unpacked: gzip can only be read from its beginning."""
    if path.stat().st_size > _SMALL:
        raise InvalidRequest(
            f"{path} is gzip, which can only be read from its beginning; make a bgzip file of it: "
            f"gunzip -c {path} | bgzip > {path.stem}.bgz"
        )
    fasta = folder / "reference.fa"
    try:
        with gzip.open(path) as packed, fasta.open("wb") as plain:
            shutil.copyfileobj(packed, plain, _PIECE)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidRequest(f"{path} is not whole: {error}") from error
    return fasta


def _indexed(path: Path, fasta: Path, folder: Path, *, compressed: bool) -> list[Path]:
    """Indexes made anew, out of the way of whoever owns the file."""
    index, blocks = folder / "reference.fai", folder / "reference.gzi"
    said = ["--gzi-idx", str(blocks)] if compressed else []
    before = pysam.set_verbosity(0)  # the library would write lines of its own to standard error
    try:
        pysam.samtools.faidx(str(fasta), "--fai-idx", str(index), *said, catch_stdout=False)
    except SamtoolsError as error:
        raise InvalidRequest(
            f"{path} cannot be indexed: a FASTA file begins with '>', and the lines of a sequence but the last are equally long"
        ) from error
    finally:
        pysam.set_verbosity(before)
    names = index.read_text(encoding="utf-8").count("\n")
    if not names:
        raise InvalidRequest(f"{path}: the file holds no sequence")
    with gzip.open(fasta) if compressed else fasta.open("rb") as file:
        if _headers(file) != names:
            raise InvalidRequest(f"{path} holds two sequences of one name, or one without bases")
    return [index, blocks] if compressed else [index]


def _headers(file: gzip.GzipFile | BinaryIO) -> int:
    """Lines that begin with '>'."""
    count, before = 0, b"\n"
    while piece := file.read(_PIECE):
        count += (before + piece).count(b"\n>")
        before = piece[-1:]
    return count
