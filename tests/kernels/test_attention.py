"""Paged attention: right, the same in every cut, blind to memory that was never written; and SDPA, which is not."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from kernels import reference
from kernels.matmul import TileProduct, tile_product
from kernels.plan import SHORT, SLAB, TALL, TILE, Geometry, Plan, Span

LENGTH = 200


def products(geometry: Geometry) -> list[TileProduct]:
    """The proven product, and the ordered one that stands in where nothing is proven."""
    group, depth = geometry.group, geometry.head_dim
    proven = tile_product(
        tall=TALL * group, short=SHORT * group, depth=depth, tile=TILE, largest=SLAB, threads=torch.get_num_threads()
    )
    return [proven, TileProduct(TALL * group, TALL * group, tuple(range(SLAB + 1)), library=False)]


class Case:
    """One sequence of LENGTH tokens, its pool filled with NaN but for what has been written."""

    def __init__(self, geometry: Geometry, seed: int = 0, dtype: torch.dtype = torch.float32) -> None:
        self.geometry, generator = geometry, torch.Generator().manual_seed(seed)
        self.q = torch.randn(LENGTH, geometry.heads, geometry.head_dim, generator=generator)
        self.k, self.v = (torch.randn(LENGTH, geometry.kv_heads, geometry.head_dim, generator=generator) for _ in range(2))
        count = -(-LENGTH // geometry.block_size)
        self.blocks = torch.randperm(count + 3, generator=generator)[:count].tolist()
        shape = (count + 3, geometry.kv_heads, geometry.block_size, geometry.head_dim)
        self.pools = [torch.full(shape, math.nan, dtype=dtype) for _ in "kv"]

    def attend(self, start: int, end: int, product: TileProduct, gone: int = 0) -> Tensor:
        """Write and attend; `blocks` begin with block number `gone`."""
        size, heads = self.geometry.block_size, self.geometry.kv_heads
        places = torch.arange(start, end)
        block = torch.tensor(self.blocks)[places // size - gone]
        slots = ((block[:, None] * heads + torch.arange(heads)) * size + (places % size)[:, None]).reshape(-1)
        for pool, values in zip(self.pools, (self.k, self.v), strict=True):
            reference.write_kv(pool, values[start:end], slots)
        span = Span(0, start, end - start, self.blocks, gone)
        plan = Plan([span], self.geometry, short=product.short // self.geometry.group, batches=product.batches)
        return reference.paged_attention(self.q[start:end], *self.pools, plan, self.geometry, product)

    def exact(self) -> Tensor:
        """The formula, in double precision."""
        group, window = self.geometry.group, self.geometry.window or LENGTH
        k, v = (t.double().repeat_interleave(group, dim=1) for t in (self.k, self.v))
        scores = torch.einsum("qhd,khd->hqk", self.q.double(), k) / math.sqrt(self.geometry.head_dim)
        place = torch.arange(LENGTH)
        void = (place[None, :] > place[:, None]) | (place[None, :] <= place[:, None] - window)
        return torch.einsum("hqk,khd->qhd", scores.masked_fill(void, -math.inf).softmax(-1), v)


GEOMETRIES = [
    Geometry(heads=4, kv_heads=2, head_dim=24, block_size=16),
    Geometry(heads=3, kv_heads=3, head_dim=32, block_size=64),
    Geometry(heads=6, kv_heads=1, head_dim=20, block_size=32, window=50),
    Geometry(heads=2, kv_heads=2, head_dim=16, block_size=8, window=1),
]


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("which", [0, 1], ids=["proven", "ordered"])
def test_attention_equals_the_formula(geometry: Geometry, which: int) -> None:
    case = Case(geometry)
    assert (case.attend(0, LENGTH, products(geometry)[which]) - case.exact()).abs().max() < 1e-5


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("which", [0, 1], ids=["proven", "ordered"])
@pytest.mark.parametrize("cuts", [(64, 128), (1, 2, 3, 77), (63, 64, 65, 199), (130,)])
def test_every_cut_gives_the_same_bits(geometry: Geometry, which: int, cuts: tuple[int, ...]) -> None:
    product = products(geometry)[which]
    whole = Case(geometry).attend(0, LENGTH, product)
    case, edges = Case(geometry), (0, *cuts, LENGTH)
    pieces = [case.attend(start, end, product) for start, end in itertools.pairwise(edges)]
    assert torch.equal(torch.cat(pieces), whole)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_in_bf16_attention_is_near_the_formula_and_the_same_in_every_cut(geometry: Geometry) -> None:
    product = products(geometry)[0]
    whole, case = Case(geometry, dtype=torch.bfloat16).attend(0, LENGTH, product), Case(geometry, dtype=torch.bfloat16)
    assert 1e-4 < (whole - case.exact()).abs().max() < 2e-2
    cuts = (0, 1, 2, 64, 77, 130, LENGTH)
    assert torch.equal(torch.cat([case.attend(start, end, product) for start, end in itertools.pairwise(cuts)]), whole)


@pytest.mark.parametrize("geometry", [g for g in GEOMETRIES if g.window])
@pytest.mark.parametrize("which", [0, 1], ids=["proven", "ordered"])
def test_blocks_that_the_window_has_left_may_hold_anything(geometry: Geometry, which: int) -> None:
    product = products(geometry)[which]
    whole, case = Case(geometry).attend(0, LENGTH, product), Case(geometry)
    case.attend(0, 150, product)
    gone = (150 - (geometry.window or 0) + 1) // geometry.block_size
    for pool in case.pools:
        pool[case.blocks[:gone]] = math.nan
    del case.blocks[:gone]
    assert torch.equal(case.attend(150, LENGTH, product, gone), whole[150:])


def test_a_wholly_masked_tile_changes_no_bit() -> None:
    """A slab computes each part up to the longest of its neighbours: the short part's extra tiles must be without effect."""
    geometry = GEOMETRIES[0]
    product, case = products(geometry)[0], Case(geometry)
    case.attend(0, LENGTH, product)
    spans = [Span(0, 0, 5, case.blocks), Span(5, 190, 5, case.blocks)]
    q = torch.cat((case.q[:5], case.q[190:195]))
    short = product.short // geometry.group
    together = Plan(spans, geometry, short=short, batches=product.batches)
    alone = Plan(spans[:1], geometry, short=short, batches=product.batches)
    assert len(together.slabs[0].tiles) > len(alone.slabs[0].tiles)
    both = reference.paged_attention(q, *case.pools, together, geometry, product)
    assert torch.equal(both[:5], reference.paged_attention(q[:5], *case.pools, alone, geometry, product))


def test_control_library_attention_depends_on_the_cut() -> None:
    """The negative control: the same rows through scaled_dot_product_attention, whole and in chunks."""
    case = Case(Geometry(heads=4, kv_heads=4, head_dim=64, block_size=16))
    q, k, v = (t.transpose(0, 1)[None] for t in (case.q, case.k, case.v))
    whole = scaled_dot_product_attention(q, k, v, is_causal=True)
    differing = 0
    for end in range(1, LENGTH, 9):
        allowed = torch.ones(1, end, dtype=torch.bool)
        row = scaled_dot_product_attention(q[:, :, end - 1 : end], k[:, :, :end], v[:, :, :end], attn_mask=allowed)
        differing += int((row != whole[:, :, end - 1 : end]).sum())
    if differing == 0:
        pytest.skip("the library attention of this machine happens to give the same bits")
    assert differing > 0
