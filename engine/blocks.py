"""The pool of KV blocks: who holds which, what may be found again, and nothing else. It knows neither tensors nor requests."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from engine.errors import BlockAccounting


class BlockState(enum.Enum):
    """Where a block is in its life. All transitions are in `_ALLOWED`; swapping out brings DRAINING and SWAPPED into use."""

    FREE = "free"
    CACHED = "cached"  # held by nobody, its content can be found and taken up again
    USED = "used"
    DRAINING = "draining"  # being copied out, not yet reusable
    SWAPPED = "swapped"  # content lives outside the pool


_ALLOWED = {
    (BlockState.FREE, BlockState.USED),
    (BlockState.USED, BlockState.FREE),
    (BlockState.USED, BlockState.CACHED),
    (BlockState.CACHED, BlockState.USED),
    (BlockState.CACHED, BlockState.FREE),
}


class _Line:
    """A queue threaded through two arrays that all lines of a pool share: any block leaves in constant time."""

    def __init__(self, before: list[int], after: list[int], anchor: int) -> None:
        self._before, self._after, self._anchor = before, after, anchor
        before[anchor] = after[anchor] = anchor
        self.length = 0

    def append(self, block: int) -> None:
        last = self._before[self._anchor]
        self._before[block], self._after[block] = last, self._anchor
        self._after[last] = self._before[self._anchor] = block
        self.length += 1

    def remove(self, block: int) -> None:
        before, after = self._before[block], self._after[block]
        self._after[before], self._before[after] = after, before
        self.length -= 1

    def pop_first(self) -> int:
        block = self._after[self._anchor]
        self.remove(block)
        return block

    def __iter__(self) -> Iterator[int]:
        block = self._after[self._anchor]
        while block != self._anchor:
            yield block
            block = self._after[block]


class BlockPool:
    """`total` blocks, numbered from 0. Tables are append-only lists of block numbers that the holder keeps.

    A block marked with `keep` is not freed when its last holder leaves but cached, and given away only when no free one is left,
    the least recently used first.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self._state = [BlockState.FREE] * total
        self._references = [0] * total
        self._kept = [False] * total
        before, after = [0] * (total + 2), [0] * (total + 2)
        self._free, self._cached = _Line(before, after, total), _Line(before, after, total + 1)
        for block in range(total):
            self._free.append(block)
        self._released: list[int] = []
        self._evicted: list[int] = []

    @property
    def free(self) -> int:
        """Blocks without content."""
        return self._free.length

    @property
    def cached(self) -> int:
        """Blocks that nobody holds and whose content can be found."""
        return self._cached.length

    @property
    def available(self) -> int:
        """Blocks that can be allocated now: free ones, then cached ones."""
        return self._free.length + self._cached.length

    @property
    def used(self) -> int:
        """Blocks that at least one table holds."""
        return self.total - self.available

    def references(self, block: int) -> int:
        """How many tables hold a block."""
        return self._references[block]

    def allocate(self, count: int) -> list[int]:
        """Take `count` blocks with one reference each; the caller has made sure that they are available."""
        if count > self.available:
            raise BlockAccounting(f"{count} blocks wanted, {self.available} available")
        while self._free.length < count:
            self._forsake(self._cached.pop_first())
        taken = [self._free.pop_first() for _ in range(count)]
        for block in taken:
            self._move(block, BlockState.USED)
            self._references[block] = 1
        return taken

    def share(self, blocks: Sequence[int]) -> None:
        """Add one reference to each of `blocks`, all of them used or cached."""
        for block in blocks:
            if self._state[block] is BlockState.CACHED:
                self._cached.remove(block)
                self._move(block, BlockState.USED)
            elif self._state[block] is not BlockState.USED:
                raise BlockAccounting(f"block {block} is {self._state[block].value} and cannot be shared")
            self._references[block] += 1

    def release(self, blocks: Sequence[int]) -> None:
        """Drop one reference to each of `blocks`; those without any become free, or cached when they are kept.

        The last block of a table is let go first, so that a cached chain loses its end before its beginning.
        """
        for block in reversed(blocks):
            if self._references[block] < 1:
                raise BlockAccounting(f"block {block} is released more often than it was taken")
            self._references[block] -= 1
            if self._references[block] == 0 and self._kept[block]:
                self._move(block, BlockState.CACHED)
                self._cached.append(block)
            elif self._references[block] == 0:
                self._to_free(block)

    def keep(self, block: int) -> None:
        """Its content can be found from now on: cache it when its last holder leaves."""
        if self._state[block] is not BlockState.USED:
            raise BlockAccounting(f"block {block} is {self._state[block].value} and has no content to keep")
        self._kept[block] = True

    def forget(self, block: int) -> None:
        """Its content shall not be found any more; a cached block becomes free."""
        self._kept[block] = False
        if self._state[block] is BlockState.CACHED:
            self._cached.remove(block)
            self._to_free(block)

    def drain_released(self) -> tuple[int, ...]:
        """Blocks that became free since the last call, in order; a runner may overwrite them."""
        released, self._released = tuple(self._released), []
        return released

    def drain_evicted(self) -> list[int]:
        """Kept blocks that were given away since the last call: whoever finds content must strike them out."""
        evicted, self._evicted = self._evicted, []
        return evicted

    def check(self, tables: Iterable[Sequence[int]]) -> None:
        """Raise BlockAccounting unless free + cached + used = all and the counts equal the references in `tables`."""
        states = Counter(self._state)
        for state, line in ((BlockState.FREE, self._free), (BlockState.CACHED, self._cached)):
            listed = list(line)
            if not states[state] == len(set(listed)) == line.length or any(self._state[block] is not state for block in listed):
                raise BlockAccounting(f"{states[state]} blocks are {state.value} and {line.length} are listed so")
        if states[BlockState.FREE] + states[BlockState.CACHED] + states[BlockState.USED] != self.total:
            raise BlockAccounting(f"{states} do not add up to {self.total} blocks")
        held = Counter(block for table in tables for block in table)
        for block, (state, references) in enumerate(zip(self._state, self._references, strict=True)):
            if references != held[block] or (references > 0) is not (state is BlockState.USED):
                raise BlockAccounting(f"block {block} is {state.value} with {references} references and {held[block]} holders")
            if self._kept[block] and state is BlockState.FREE:
                raise BlockAccounting(f"block {block} is free and still findable")

    def _forsake(self, block: int) -> None:
        self._kept[block] = False
        self._evicted.append(block)
        self._to_free(block)

    def _to_free(self, block: int) -> None:
        self._move(block, BlockState.FREE)
        self._free.append(block)
        self._released.append(block)

    def _move(self, block: int, to: BlockState) -> None:
        if (self._state[block], to) not in _ALLOWED:
            raise BlockAccounting(f"block {block} cannot go from {self._state[block].value} to {to.value}")
        self._state[block] = to
