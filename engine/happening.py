"""What happens to a request on its way beside being computed, and who hears of it: the nouns of traces."""

from __future__ import annotations

import enum
from typing import Protocol


class What(enum.StrEnum):
    """What happens, in the words of traces. `count` of each is what stands behind it; the others have none."""

    PLACED = "placed"
    STARTS = "starts"
    GOES_ON = "goes on"  # after it stood aside
    AGAIN = "computed again"  # from here on it computes positions that it had computed before
    STOPPED = "stopped between layers"  # layers that had been computed
    RESUMED = "goes on from its layer"  # layers that had been computed
    ABANDONED = "pass abandoned"  # tokens of its row, not counted
    CAPPED = "waits for the end of a pass"  # that has stood still as often or as long as it may
    SENT_AWAY = "gives way"
    GIVEN_UP = "leaves its blocks"  # positions that it had computed, and will again unless others keep them
    DRAINS = "drains to memory"  # blocks
    IN_MEMORY = "lies in memory"
    TO_DISK = "is written to disk"  # blocks
    ON_DISK = "lies on disk"
    FROM_DISK = "is read from disk"  # blocks
    READ = "is read"
    LOST = "is lost outside"  # what it left cannot be had: it computes its positions again
    RETURNS = "is copied back"  # blocks
    IN_POOL = "is back in the pool"
    RECLASSED = "has another class"  # the class
    ON_HOLD = "on hold"
    RELEASED = "released"
    CANCEL = "cancel asked"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Listener(Protocol):
    """Whoever keeps what is told."""

    def __call__(self, what: What, handle: int, count: int = 0, by: int = 0) -> None:
        """Something happens to `handle`; `by` is the STAT request that it makes way for, 0: none."""
        ...


class Diary:
    """Where one scheduler says what happens. Nothing is kept, and nothing made, until somebody listens."""

    __slots__ = ("listener",)

    def __init__(self) -> None:
        self.listener: Listener | None = None

    def tell(self, what: What, handle: int, count: int = 0, by: int = 0) -> None:
        """As `Listener`."""
        if self.listener is not None:
            self.listener(what, handle, count, by)
