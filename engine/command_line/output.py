"""A result file that appears whole or not at all, bgzip where its name says so; or standard output."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from engine.command_line import bgzf
from engine.command_line.source import STANDARD

_BGZIP = (".gz", ".bgz")
_BUFFER = 1 << 16


class Output:
    """Text goes in; bytes that were no UTF-8 when they were read come out as they were."""

    def __init__(self, name: str, file: BinaryIO, *, compressed: bool) -> None:
        self._name, self._file = name, file
        self._packer = bgzf.Writer(file) if compressed else None

    def write(self, text: str) -> None:
        """OSError that names the file, where there is no room."""
        content = text.encode("utf-8", "surrogateescape")
        with self._named():
            (self._packer or self._file).write(content)

    def finish(self) -> None:
        """Everything has been written."""
        with self._named():
            if self._packer is not None:
                self._packer.finish()
            self._file.flush()

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OSError(error.errno, f"cannot be written: {error.strerror}", self._name) from error


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Output]:
    """What is written stands under `path` when the block has ended well, and not at all when it has not.

    Devices and pipes are written to as they are; a link is followed.
    """
    if path == STANDARD:
        output = Output("standard output", sys.stdout.buffer, compressed=False)
        yield output
        output.finish()
        return
    target, compressed = path.resolve(), path.suffix.lower() in _BGZIP
    hold = _replacing if target.is_file() or not target.exists() else _device
    with hold(target) as file:
        output = Output(str(path), file, compressed=compressed)
        yield output
        output.finish()


@contextlib.contextmanager
def _replacing(target: Path) -> Iterator[BinaryIO]:
    """A file beside the target that takes its place; without a trace when something is raised, Ctrl-C included."""
    beside = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        file = beside.open("xb", buffering=_BUFFER)
    except OSError as error:  # nobody asked for the name of the file beside it
        raise OSError(error.errno, error.strerror, str(target)) from error
    try:
        yield file
        os.fsync(file.fileno())
        file.close()
        beside.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):  # what could not be written cannot be written now either
            file.close()
        beside.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _device(target: Path) -> Iterator[BinaryIO]:
    file = target.open("wb", buffering=_BUFFER)
    try:
        yield file
    finally:
        with contextlib.suppress(OSError):  # `Output.finish` has written everything, or has said why not
            file.close()
