"""The pool of KV blocks: who holds which, and nothing else. It knows neither tensors nor requests."""

from __future__ import annotations

import enum
from collections import Counter, deque
from collections.abc import Iterable, Sequence

from engine.errors import BlockAccounting


class BlockState(enum.Enum):
    """FREE and USED are in use today; the others keep their place in the accounting."""

    FREE = "free"
    CACHED = "cached"  # unreferenced, content findable
    USED = "used"
    DRAINING = "draining"  # being copied out, not yet reusable
    SWAPPED = "swapped"  # content lives outside the pool


_ALLOWED = {
    (BlockState.FREE, BlockState.USED),
    (BlockState.USED, BlockState.FREE),
}


class BlockPool:
    """`total` blocks, numbered from 0. Tables are append-only lists of block numbers that the holder keeps."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._state = [BlockState.FREE] * total
        self._references = [0] * total
        self._free = deque(range(total))
        self._released: list[int] = []

    @property
    def free(self) -> int:
        """Blocks that can be allocated now."""
        return len(self._free)

    @property
    def used(self) -> int:
        """Blocks that at least one table holds."""
        return self.total - len(self._free)

    def allocate(self, count: int) -> list[int]:
        """Take `count` free blocks with one reference each; the caller has made sure that they exist."""
        if count > len(self._free):
            raise BlockAccounting(f"{count} blocks wanted, {len(self._free)} free")
        taken = [self._free.popleft() for _ in range(count)]
        for block in taken:
            self._move(block, BlockState.USED)
            self._references[block] = 1
        return taken

    def share(self, blocks: Sequence[int]) -> None:
        """Add one reference to each of `blocks`, all of them used."""
        for block in blocks:
            if self._state[block] is not BlockState.USED:
                raise BlockAccounting(f"block {block} is {self._state[block].value} and cannot be shared")
            self._references[block] += 1

    def release(self, blocks: Sequence[int]) -> None:
        """Drop one reference to each of `blocks`; those without any become free."""
        for block in blocks:
            if self._references[block] < 1:
                raise BlockAccounting(f"block {block} is released more often than it was taken")
            self._references[block] -= 1
            if self._references[block] == 0:
                self._move(block, BlockState.FREE)
                self._free.append(block)
                self._released.append(block)

    def drain_released(self) -> tuple[int, ...]:
        """Blocks that became free since the last call, in order; a runner may overwrite them."""
        released, self._released = tuple(self._released), []
        return released

    def check(self, tables: Iterable[Sequence[int]]) -> None:
        """Raise BlockAccounting unless free + cached + used = all and the counts equal the references in `tables`."""
        states = Counter(self._state)
        if sum(states.values()) != self.total or not states[BlockState.FREE] == len(set(self._free)) == len(self._free):
            raise BlockAccounting(f"{states} do not add up to {self.total} blocks, {len(self._free)} of them listed free")
        held = Counter(block for table in tables for block in table)
        for block, (state, references) in enumerate(zip(self._state, self._references, strict=True)):
            if references != held[block] or (references > 0) is not (state is BlockState.USED):
                raise BlockAccounting(f"block {block} is {state.value} with {references} references and {held[block]} holders")

    def _move(self, block: int, to: BlockState) -> None:
        if (self._state[block], to) not in _ALLOWED:
            raise BlockAccounting(f"block {block} cannot go from {self._state[block].value} to {to.value}")
        self._state[block] = to
