"""The pool of KV blocks: who holds which, what may be found again, what is being copied out. No tensors and no requests here."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from engine.errors import BlockAccounting


class BlockState(enum.Enum):
    """Where a block is in its life, in the pool or in a slot of the arena. All transitions are in `_ALLOWED`."""

    FREE = "free"
    CACHED = "cached"  # held by nobody, its content can be found and taken up again
    USED = "used"
    DRAINING = "draining"  # being copied out: neither reusable nor findable
    SWAPPED = "swapped"  # a slot of the arena: holds what one sequence left

    __hash__ = object.__hash__  # an enum hashes its name, in Python, and every move is looked up


_ALLOWED = {
    (BlockState.FREE, BlockState.USED),
    (BlockState.USED, BlockState.FREE),
    (BlockState.USED, BlockState.CACHED),
    (BlockState.CACHED, BlockState.USED),
    (BlockState.CACHED, BlockState.FREE),
    (BlockState.USED, BlockState.DRAINING),  # to the arena …
    (BlockState.DRAINING, BlockState.FREE),
    (BlockState.DRAINING, BlockState.CACHED),  # … where others could find it before
    (BlockState.FREE, BlockState.SWAPPED),
    (BlockState.SWAPPED, BlockState.FREE),
    (BlockState.SWAPPED, BlockState.DRAINING),  # from the arena to a file …
    (BlockState.DRAINING, BlockState.SWAPPED),  # … which could not be written
}


def move(states: list[BlockState], block: int, to: BlockState) -> None:
    """Change the state of one of `states`; BlockAccounting unless the transition is allowed."""
    if (states[block], to) not in _ALLOWED:
        raise BlockAccounting(f"block {block} cannot go from {states[block].value} to {to.value}")
    states[block] = to


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

    def pop(self, count: int) -> list[int]:
        """Take out the first `count` blocks; there are as many."""
        after, block, taken = self._after, self._after[self._anchor], []
        for _ in range(count):
            taken.append(block)
            block = after[block]
        after[self._anchor], self._before[block] = block, self._anchor
        self.length -= count
        return taken

    def __iter__(self) -> Iterator[int]:
        block = self._after[self._anchor]
        while block != self._anchor:
            yield block
            block = self._after[block]


class BlockPool:
    """`total` blocks, numbered from 0. Tables are append-only lists of block numbers that the holder keeps.

    A block marked with `keep` is not freed when its last holder leaves but cached, and given away only when no free one is left,
    the least recently used first. One that is copied out drains meanwhile and is nobody's; then it is free, or cached.
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
        self._draining: set[int] = set()

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
        return self.total - self.available - len(self._draining)

    @property
    def draining(self) -> int:
        """Blocks that are being copied out."""
        return len(self._draining)

    def drains(self, block: int) -> bool:
        """Whether a block is being copied out."""
        return block in self._draining

    def references(self, block: int) -> int:
        """How many tables hold a block."""
        return self._references[block]

    def allocate(self, count: int) -> list[int]:
        """Take `count` blocks with one reference each; the caller has made sure that they are available."""
        if count > self.available:
            raise BlockAccounting(f"{count} blocks wanted, {self.available} available")
        while self._free.length < count:
            self._forsake(*self._cached.pop(1))
        taken = self._free.pop(count)
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

    def drain(self, blocks: Sequence[int]) -> None:
        """Their only holder leaves and their content is copied out: nobody has them until `drained` says that it is done."""
        for block in blocks:
            if self._references[block] != 1:
                raise BlockAccounting(f"block {block} has {self._references[block]} references and cannot be copied out")
            self._move(block, BlockState.DRAINING)
            self._references[block] = 0
            self._draining.add(block)

    def drained(self, blocks: Sequence[int]) -> None:
        """They have been copied out: free now, or cached when they are kept. As with `release`, the last comes first."""
        for block in reversed(blocks):
            self._draining.discard(block)
            if self._kept[block]:
                self._move(block, BlockState.CACHED)
                self._cached.append(block)
            else:
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
        """Raise BlockAccounting unless free + cached + used + draining = all and the counts equal the references in `tables`."""
        states = Counter(self._state)
        for state, line in ((BlockState.FREE, self._free), (BlockState.CACHED, self._cached)):
            listed = list(line)
            if not states[state] == len(set(listed)) == line.length or any(self._state[block] is not state for block in listed):
                raise BlockAccounting(f"{states[state]} blocks are {state.value} and {line.length} are listed so")
        if {block for block in range(self.total) if self._state[block] is BlockState.DRAINING} != self._draining:
            raise BlockAccounting(f"{states[BlockState.DRAINING]} blocks drain and {len(self._draining)} are listed so")
        counted = self._free.length + self._cached.length + states[BlockState.USED] + len(self._draining)
        if counted != self.total or self.used != states[BlockState.USED]:
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
        move(self._state, block, to)
