"""Matrix products whose rows keep their bits: a library's product only on shapes that a probe has found safe.

A library chooses its inner loop, and with it the order of the additions over K, by the number of rows and by how threads share
them. So each (K, N) is probed at the real thread count: a row count is safe when a row's bits depend neither on its position nor on
the other rows, and all safe counts of one product agree with each other. Calls are cut into safe counts, the last piece padded.
Where nothing is safe the product runs in an order that is written down: slow, and right.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

LARGEST = 2048
_COUNTS = (1, 2, 4, 6, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 768, 1024, 1536, 2048)
_BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_SHIFTS = (1, 6)


def ordered(a: Tensor, b: Tensor) -> Tensor:
    """`[..., M, K] @ [..., K, N] -> [..., M, N]`, one product and one addition at a time, K ascending."""
    total = a[..., :, 0:1] * b[..., 0:1, :]
    for k in range(1, a.shape[-1]):
        total += a[..., :, k : k + 1] * b[..., k : k + 1, :]
    return total


def row_counts(product: Callable[[Tensor], Tensor], width: int, counts: Iterable[int] = _COUNTS) -> tuple[int, ...]:
    """Row counts on which `product` (`[M, width] -> [M, N]`) gives each row the same bits; empty when there is none.

    Of the counts that do not care where a row stands, the largest is the measure, because long steps pay most; those that give the
    same bits as it does, wherever their rows are taken from, are safe.
    """
    generator = torch.Generator().manual_seed(width)
    rows = torch.randn(LARGEST, width, generator=generator)
    steady = [count for count in counts if _keeps_rolled_rows(product, rows[:count].clone())]
    if not steady:
        return ()
    largest = max(steady)
    measure = product(rows[:largest].clone())
    return tuple(count for count in steady if _agrees(product, rows, count, measure))


def _keeps_rolled_rows(product: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    y = product(x)
    return all(torch.equal(product(x.roll(shift, 0)), y.roll(shift, 0)) for shift in _SHIFTS)


def _agrees(product: Callable[[Tensor], Tensor], rows: Tensor, count: int, measure: Tensor) -> bool:
    last = len(measure) - count
    return all(torch.equal(product(rows[at : at + count].clone()), measure[at : at + count]) for at in {0, last // 2, last})


class Linear:
    """`x @ weight.T` with the bits of each row independent of everything else in the call.

    `weight` is `[N, K]` float32, `x` is `[T, K]`, T ≥ 1; the result is `[T, N]`. `counts` are the safe row counts (ascending); with
    none the ordered product is used. Left out, they are those proven for this shape at the calling thread's number of threads.
    """

    def __init__(self, weight: Tensor, counts: tuple[int, ...] | None = None) -> None:
        self.columns = weight.contiguous().t()
        self.counts = safe_counts(weight.shape[1], weight.shape[0], torch.get_num_threads()) if counts is None else counts

    def __call__(self, x: Tensor) -> Tensor:
        if not self.counts:
            return ordered(x, self.columns)
        out = x.new_empty(x.shape[0], self.columns.shape[1])
        start = 0
        while start < x.shape[0]:
            count = self._next_count(x.shape[0] - start)
            piece = x[start : start + count]
            if piece.shape[0] == count:
                torch.mm(piece, self.columns, out=out[start : start + count])
            else:
                padded = x.new_zeros(count, x.shape[1])
                padded[: piece.shape[0]] = piece
                out[start:] = torch.mm(padded, self.columns)[: piece.shape[0]]
            start += count
        return out

    def _next_count(self, left: int) -> int:
        """The smallest safe count that holds all that is left when it wastes at most a quarter, else the largest full one."""
        enough = next((count for count in self.counts if count >= left), None)
        full = next((count for count in reversed(self.counts) if count <= left), None)
        if enough is not None and (full is None or (enough - left) * 4 <= enough):
            return enough
        return full or self.counts[-1]


@functools.cache
def safe_counts(width: int, columns: int, threads: int) -> tuple[int, ...]:
    """Row counts proven safe for `[T, width] x [width, columns]` in float32 at `threads` threads; empty: use the ordered product.

    The last proof runs the call itself, cut and padded, at awkward lengths and offsets, for slices lie on other addresses than
    whole tensors do.
    """
    if threads != torch.get_num_threads():
        return ()
    generator = torch.Generator().manual_seed(columns)
    weight = torch.randn(columns, width, generator=generator)
    counts = row_counts(lambda x: torch.mm(x, weight.t()), width)
    rows = torch.randn(LARGEST + 77, width, generator=generator)
    linear = Linear(weight, counts)
    whole = linear(rows)
    awkward = ((0, 1), (5, 3), (1, 77), (3, 130), (7, 301), (50, 1025), (76, 2049))
    proven = all(torch.equal(linear(rows[start : start + length]), whole[start : start + length]) for start, length in awkward)
    return counts if proven else ()


@dataclass(frozen=True, slots=True)
class TileProduct:
    """The two batched products of one attention tile, with what was proven about them.

    `tall` rows per item are always used; `short` rows (for single tokens) only when they give the same bits, else it equals `tall`.
    `batches[n]` is the number of items to run when n are needed. `library` is false when only the ordered product is safe.
    """

    tall: int
    short: int
    batches: tuple[int, ...]
    library: bool

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """`[B, M, K] @ [B, K, N] -> [B, M, N]` with M and B among the proven sizes."""
        return torch.bmm(a, b) if self.library else ordered(a, b)


@functools.cache
def tile_product(*, tall: int, short: int, depth: int, tile: int, largest: int, threads: int) -> TileProduct:
    """Probe Q·Kᵀ (`[B, M, depth] x [B, depth, tile]`) and P·V (`[B, M, tile] x [B, tile, depth]`) up to `largest` items."""
    generator = torch.Generator().manual_seed(depth)
    q, p = (torch.randn(largest, tall, width, generator=generator) for width in (depth, tile))
    k, v = (torch.randn(largest, tile, depth, generator=generator) for _ in range(2))
    pairs = ((q, k.transpose(1, 2)), (p, v))
    every = tuple(range(largest + 1))
    if threads != torch.get_num_threads() or not all(_rows_keep_bits(a, b, tall) for a, b in pairs):
        return TileProduct(tall, short, every, library=False)
    same_short = all(_short_agrees(a, b, short) for a, b in pairs)
    heights = (tall, short) if same_short else (tall,)
    safe = [n for n in _BATCHES if n <= largest if all(_batch_agrees(a[:, :rows], b, n) for a, b in pairs for rows in heights)]
    batches = tuple(min((n for n in safe if n >= wanted), default=largest) for wanted in every)
    return TileProduct(tall, short if same_short else tall, batches, library=True)


def _rows_keep_bits(a: Tensor, b: Tensor, rows: int) -> bool:
    whole = torch.bmm(a, b)
    return all(torch.equal(torch.bmm(a.roll(s, 1), b), whole.roll(s, 1)) for s in (1, 7, rows // 2)) and torch.equal(
        torch.bmm(a.roll(1, 0), b.roll(1, 0)), whole.roll(1, 0)
    )


def _short_agrees(a: Tensor, b: Tensor, short: int) -> bool:
    whole = torch.bmm(a, b)
    starts = range(0, a.shape[1] - short + 1, max(1, short // 2))
    return all(torch.equal(torch.bmm(a[:, s : s + short].clone(), b), whole[:, s : s + short]) for s in starts)


def _batch_agrees(a: Tensor, b: Tensor, batch: int) -> bool:
    whole = torch.bmm(a.contiguous(), b)
    return all(
        torch.equal(torch.bmm(a[s : s + batch].clone(), b[s : s + batch].clone()), whole[s : s + batch])
        for s in (0, a.shape[0] - batch)
    )
