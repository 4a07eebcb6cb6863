"""The slots of the arena: which are free, and whose content lies in the others. Each has exactly one owner."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from engine.blocks import BlockState, move
from engine.errors import BlockAccounting
from engine.swap.content import Content


class ArenaSlots:
    """`total` slots, numbered from 0."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._state = [BlockState.FREE] * total
        self._free = deque(range(total))
        self._dropped: list[int] = []

    @property
    def free(self) -> int:
        """Slots without content."""
        return len(self._free)

    @property
    def used(self) -> int:
        """Slots with content."""
        return self.total - len(self._free)

    def take(self, content: Content) -> bool:
        """Give content the slots it needs; False when there are too few."""
        if content.size > len(self._free):
            return False
        content.slots = [self._free.popleft() for _ in range(content.size)]
        self._move(content, BlockState.SWAPPED)
        return True

    def drain(self, content: Content) -> None:
        """They are being copied to a file."""
        self._move(content, BlockState.DRAINING)

    def stay(self, content: Content) -> None:
        """They could not be."""
        self._move(content, BlockState.SWAPPED)

    def give_back(self, content: Content) -> None:
        """What is in them is not needed any more."""
        self._move(content, BlockState.FREE)
        self._free.extend(content.slots)
        self._dropped.extend(content.slots)
        content.slots = []

    def drain_dropped(self) -> tuple[int, ...]:
        """Slots that became free since the last call."""
        dropped, self._dropped = tuple(self._dropped), []
        return dropped

    def check(self, contents: Iterable[Content]) -> None:
        """Raise BlockAccounting unless every slot is free or belongs to exactly one of `contents`."""
        owned = [slot for content in contents for slot in content.slots]
        if len(set(owned)) != len(owned):
            raise BlockAccounting("a slot of the arena has two owners")
        free = {slot for slot, state in enumerate(self._state) if state is BlockState.FREE}
        if free != set(self._free) or len(free) != len(self._free) or free & set(owned) or len(free) + len(owned) != self.total:
            raise BlockAccounting(f"{len(free)} slots of the arena are free, {len(owned)} have an owner, there are {self.total}")

    def _move(self, content: Content, to: BlockState) -> None:
        for slot in content.slots:
            move(self._state, slot, to)
