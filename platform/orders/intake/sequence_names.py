"""Names of sequences seen so far, in bounded memory."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Self

from foundation.file_reasons import FileReason
from orders.intake.verdicts import Tally


class SequenceNames:
    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._lines: dict[bytes, int] = {}

    @property
    def state(self) -> list[str | int]:
        """Every name's digest and line, one after the other, for `resumed`."""
        return [part for name, line in self._lines.items() for part in (name.hex(), line)]

    def resumed(self, state: Sequence[Any]) -> Self:
        """The same names, as they were left."""
        self._lines = {bytes.fromhex(name): line for name, line in zip(state[::2], state[1::2], strict=True)}
        return self

    def first_line(self, name: bytes, line: int) -> int | None:
        """The line where the same name was first seen, or None; the name is remembered while there is room."""
        key = hashlib.blake2b(name, digest_size=16).digest()
        first = self._lines.get(key)
        if first is None:
            limit = self._tally.limits.remembered_names
            if len(self._lines) < limit:
                self._lines[key] = line
            else:
                self._tally.note(FileReason.FILE_NAMES_NOT_COMPARED, line, limit=f"{limit:,}")
        return first
