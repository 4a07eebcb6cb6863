"""How one attention call is cut up: query rows into items, items into slabs of equal work, keys and values into tiles.

A tile is `TILE` keys at an absolute multiple of `TILE`, so that every query row reduces the same tiles in the same order whatever
chunk, batch or slab it is in. The plan depends on the step alone and serves all layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

TILE = 64  # keys a tile; a change changes bits, so it belongs to the kernel set
TALL = 64  # query rows of an item
SHORT = 8  # query rows of an item for chunks of a few tokens
SLAB = 32  # items (query rows of one KV head) worked on together; scores of a slab stay in the cache


@dataclass(frozen=True, slots=True)
class Geometry:
    """What attention must know of model and pool. Sizes in elements; `window` is the sliding window in tokens, or None."""

    heads: int
    kv_heads: int
    head_dim: int
    block_size: int
    window: int | None = None

    @property
    def group(self) -> int:
        """Query heads that share one KV head."""
        return self.heads // self.kv_heads


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive query rows of one sequence: rows `row … row + length` of the step stand at positions `start … start + length`.

    `blocks` begin with block number `first` of the sequence; those before it hold no key that a row may see, for the sliding window
    has left them, and their memory may belong to others by now.
    """

    row: int
    start: int
    length: int
    blocks: Sequence[int]
    first: int = 0


def flattened(spans: Sequence[Span]) -> tuple[Tensor, Tensor]:
    """Spans as rows of {row, start, length, where its blocks begin, blocks, blocks before them} and all blocks, int64."""
    starts = list(accumulate((len(span.blocks) for span in spans), initial=0))
    table = np.array([(s.row, s.start, s.length, at, len(s.blocks), s.first) for s, at in zip(spans, starts, strict=False)])
    blocks = np.fromiter(chain.from_iterable(span.blocks for span in spans), np.int64, starts[-1])
    return torch.from_numpy(table), torch.from_numpy(blocks)


@dataclass(frozen=True, slots=True)
class TileStep:
    """One tile of one slab: where its keys lie, which scores are void, which values do not exist yet."""

    gather: Tensor  # [items * blocks per tile] rows of the pool seen as [blocks * kv_heads, block_size, head_dim]
    void_scores: Tensor | None  # [items, rows, TILE] bool, None when every key counts for every row
    void_values: Tensor | None  # [items, TILE, 1] bool, None when all values have been written


@dataclass(frozen=True, slots=True)
class Slab:
    """Items of equal height; `items` counts KV heads too and includes padding."""

    rows: Tensor  # [parts, height] query rows of the step (a part is an item before it is split by KV head)
    parts: int
    items: int
    height: int
    tiles: tuple[TileStep, ...]
    source: Tensor  # rows of the flattened [parts * height] output that are real …
    target: Tensor  # … and the step's rows they belong to


@dataclass(frozen=True, slots=True)
class _Part:
    """At most `height` query rows of one span."""

    row: int
    start: int
    length: int
    end: int  # keys exist below this position
    blocks: Sequence[int]
    first: int

    def held(self, start: int, end: int) -> tuple[int, Sequence[int]]:
        """Which of the sequence's blocks number `start … end` are there: how many are missing at the beginning, and the others."""
        gone = min(max(self.first - start, 0), end - start)
        return gone, self.blocks[max(start - self.first, 0) : max(end - self.first, 0)]

    def tiles(self, window: int | None) -> tuple[int, int]:
        first = 0 if window is None else max(0, self.start - window + 1) // TILE
        return first, (self.start + self.length - 1) // TILE


class Plan:
    """The slabs of one step. `short` is the proven height for few rows (or TALL), `batches[n]` the proven item count for n."""

    def __init__(self, spans: Sequence[Span], geometry: Geometry, *, short: int, batches: Sequence[int]) -> None:
        self._geometry = geometry
        parts: dict[int, list[_Part]] = {}
        for span in spans:
            height = short if span.length <= short else TALL
            for offset in range(0, span.length, height):
                length = min(height, span.length - offset)
                part = _Part(span.row + offset, span.start + offset, length, span.start + span.length, span.blocks, span.first)
                parts.setdefault(height, []).append(part)
        per_slab = max(1, (len(batches) - 1) // geometry.kv_heads)
        self.slabs: list[Slab] = []
        for height, group in parts.items():
            group.sort(key=lambda part: part.tiles(geometry.window), reverse=True)
            for at in range(0, len(group), per_slab):
                self.slabs.append(self._slab(group[at : at + per_slab], height, batches))

    def _slab(self, parts: list[_Part], height: int, batches: Sequence[int]) -> Slab:
        wanted = len(parts) * self._geometry.kv_heads
        items = batches[wanted]
        offsets = np.arange(height)
        lengths = np.array([part.length for part in parts])
        starts = np.array([part.start for part in parts])
        rows = np.array([part.row for part in parts])[:, None] + np.minimum(offsets, lengths[:, None] - 1)
        positions = starts[:, None] + np.minimum(offsets, lengths[:, None] - 1)
        real = offsets < lengths[:, None]
        ranges = [part.tiles(self._geometry.window) for part in parts]
        tiles = range(min(first for first, _ in ranges), max(last for _, last in ranges) + 1)
        return Slab(
            rows=torch.from_numpy(rows),
            parts=len(parts),
            items=items,
            height=height,
            tiles=tuple(self._tile(parts, positions, tile, items) for tile in tiles),
            source=torch.from_numpy(np.flatnonzero(real)),
            target=torch.from_numpy(rows[real]),
        )

    def _tile(self, parts: list[_Part], positions: npt.NDArray[np.int64], tile: int, items: int) -> TileStep:
        kv_heads, size = self._geometry.kv_heads, self._geometry.block_size
        per_tile = TILE // size
        blocks = np.zeros((items, per_tile), dtype=np.int64)
        for index, part in enumerate(parts):
            gone, held = part.held(tile * per_tile, (tile + 1) * per_tile)
            if held:
                pool_rows = np.array(held)[None, :] * kv_heads + np.arange(kv_heads)[:, None]
                blocks[index * kv_heads : (index + 1) * kv_heads, gone : gone + len(held)] = pool_rows
        keys = np.arange(tile * TILE, (tile + 1) * TILE)
        void = keys[None, None, :] > positions[:, :, None]
        if self._geometry.window is not None:
            void |= keys[None, None, :] <= positions[:, :, None] - self._geometry.window
        missing = keys[None, :] >= np.array([part.end for part in parts])[:, None]
        missing |= keys[None, :] < np.array([part.first * size for part in parts])[:, None]
        padding = items - len(parts) * kv_heads
        return TileStep(
            gather=torch.from_numpy(blocks.reshape(-1)),
            void_scores=self._per_item(void, kv_heads, padding, group=True) if void.any() else None,
            void_values=self._per_item(missing[:, :, None], kv_heads, padding, group=False) if missing.any() else None,
        )

    def _per_item(self, mask: npt.NDArray[np.bool_], kv_heads: int, padding: int, *, group: bool) -> Tensor:
        """Repeat a mask of parts for each KV head (and its query heads); padding items are void throughout."""
        if group:
            mask = np.repeat(mask, self._geometry.group, axis=1)
        mask = np.repeat(mask, kv_heads, axis=0)
        if padding:
            mask = np.concatenate([mask, np.ones((padding, *mask.shape[1:]), dtype=np.bool_)])
        return torch.from_numpy(mask)
