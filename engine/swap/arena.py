"""The arena: memory for blocks outside the pool. All that a block holds lies in one piece, in memory as in a file: keys and values
of every layer, and the state that is kept of its end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Bytes = npt.NDArray[np.uint8]
_NAN = 0xFF  # in every byte: NaN in every format of ours


class Arena:
    """`blocks` slots of `block_bytes` each, for the blocks of `pools`, tensors `[blocks of the pool, …]`. `memory` is
    `[blocks, block_bytes]`; `tell` hears bytes and seconds of every copy.
    """

    def __init__(self, pools: Sequence[Tensor], blocks: int, *, poison: bool = False) -> None:
        self._pools = [_bytes_of(pool) for pool in pools]
        widths = [pool.shape[1] for pool in self._pools]
        self._starts = np.cumsum([0, *widths]).tolist()
        self.block_bytes = sum(widths)
        self.memory: Bytes = torch.empty(blocks, self.block_bytes, dtype=torch.uint8).numpy()
        self.tell: Callable[[int, float], None] = lambda count, seconds: None
        self._poison = poison
        self.forget(range(blocks))

    def forget(self, slots: Iterable[int]) -> None:
        """What is in these slots is not needed any more; in tests they are filled with NaN."""
        for slot in slots if self._poison else ():
            self.memory[slot] = _NAN

    def take(self, moves: Sequence[tuple[int, int]]) -> None:
        """Copy blocks to slots."""
        began = time.perf_counter()
        for block, slot in moves:
            place = self.memory[slot]
            for pool, start in zip(self._pools, self._starts, strict=False):
                place[start : start + pool.shape[1]] = pool[block]
        self._note(len(moves), began)

    def give(self, moves: Sequence[tuple[int, int]]) -> None:
        """Copy slots to blocks."""
        began = time.perf_counter()
        for slot, block in moves:
            place = self.memory[slot]
            for pool, start in zip(self._pools, self._starts, strict=False):
                pool[block] = place[start : start + pool.shape[1]]
        self._note(len(moves), began)

    def _note(self, moves: int, began: float) -> None:
        self.tell(moves * self.block_bytes, time.perf_counter() - began)


def _bytes_of(pool: Tensor) -> Bytes:
    """A view of the same memory, `[blocks, bytes of one]`."""
    found: Bytes = pool.view(len(pool), -1).view(torch.uint8).numpy()
    return found
