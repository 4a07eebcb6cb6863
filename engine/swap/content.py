"""The nouns of swapping: what one sequence left outside the pool, where that is, and how it can be lost."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from engine.swap.cost import Costs


class Where(enum.Enum):
    """Where content is. It may be taken up again from the arena only."""

    LEAVING = "leaving"  # the next step copies it to the arena
    ARENA = "arena"
    FILE = "file"
    LOADING = "loading"  # from its file to the arena


class Failure(enum.StrEnum):
    """Why a file was of no use. What it was to hold is computed again, or stays in the arena where it could not be written."""

    FULL = "full"  # no space on the disk, or a quota
    CAP = "cap"  # our own limit
    REFUSED = "refused"  # the folder is gone, cannot be written, or the disk answers with an error
    MISSING = "missing"  # the file is gone
    TORN = "torn"  # shorter or longer than it was written
    CORRUPT = "corrupt"  # not the bytes that were written
    FOREIGN = "foreign"  # of another version, deployment or sequence
    KEY = "key"  # encrypted with another key
    SLOW = "slow"  # not read in time


@dataclass(slots=True, eq=False)
class Content:
    """The position of a sequence and its block table, whose blocks lie in `slots`, in order, but for those that others held: those
    are found by their key.
    """

    number: int  # of its own, and of its file
    computed: int
    first: int
    registered: int
    key: bytes
    slides: bool
    places: tuple[bytes | None, ...]  # of each block of the table its key, or None for the next of `slots`
    size: int  # slots it takes
    slots: list[int] = field(default_factory=list)  # none while it is only in a file
    where: Where = Where.LEAVING
    moving: bool = False  # the next step reads or writes its slots
    busy: bool = False  # the files' thread does
    filed: bool = True  # may be written to a file; False once that has failed
    gone: bool = False  # nobody wants it any more

    @property
    def keys(self) -> list[bytes]:
        """Of the blocks that others held."""
        return [key for key in self.places if key is not None]


@dataclass(frozen=True, slots=True)
class Done:
    """The files' thread has ended with some content."""

    number: int
    failure: Failure | None = None


class Files(Protocol):
    """What lies below the arena. Nothing here waits for a disk."""

    def write(self, number: int, slots: Sequence[int]) -> bool:
        """Begin to write slots to a file; False when that is beyond the cap. The slots are read until `finished` names it."""
        ...

    def read(self, number: int, slots: Sequence[int]) -> None:
        """Begin to read a file into slots, which are written until `finished` names it."""
        ...

    def drop(self, number: int) -> None:
        """Remove a file, if there is one."""
        ...

    def finished(self) -> list[Done]:
        """What has ended since the last call."""
        ...

    @property
    def count(self) -> int:
        """Files there are."""
        ...

    @property
    def size(self) -> int:
        """Bytes in them."""
        ...


@dataclass(frozen=True, slots=True)
class Outside:
    """What an engine has outside its pool."""

    slots: int = 0  # blocks of the arena
    block_bytes: int = 0  # of one block, all layers
    files: Files | None = None
    costs: Costs | None = None  # what moving and computing took so far; None: nothing was measured
