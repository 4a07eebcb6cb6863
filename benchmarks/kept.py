"""Numbers that take long to compute, kept in a file as they come: a measurement of hours can be made in pieces of minutes."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path


class Unfinished(Exception):
    """There was no time for the rest; what was computed is kept."""


class Kept:
    """Numbers by what they were computed from. Without a path they are kept in memory alone, until the program ends."""

    def __init__(self, path: Path | None = None, until: float = math.inf) -> None:
        """`until` is a moment of `time.monotonic`, in seconds."""
        self._path, self._until = path, until
        self._found: dict[str, float] = {}
        if path is not None and path.exists():
            whole = path.read_text(encoding="ascii").rpartition("\n")[0]  # a line that was cut off is computed again
            self._found = {name: float.fromhex(number) for name, number in map(str.split, whole.splitlines())}
            os.truncate(path, len(whole) + 1 if whole else 0)

    def __getitem__(self, name: str) -> float:
        return self._found[name]

    def lacking(self, names: Iterable[str]) -> list[str]:
        """Those that are still to be computed, in order, each once."""
        return [name for name in dict.fromkeys(names) if name not in self._found]

    def add(self, numbers: Mapping[str, float]) -> None:
        """Keep some more."""
        self._found |= numbers
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="ascii") as file:
                file.writelines(f"{name} {number.hex()}\n" for name, number in numbers.items())

    def go_on(self, said: str) -> None:
        """Before every piece of work: `Unfinished` with these words where the time is over."""
        if time.monotonic() > self._until:
            raise Unfinished(said)


def named(*parts: object) -> str:
    """A name for what follows from these parts alone."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:32]
