"""The compiled kernels: close to the formulas over odd sizes; the same bits in every cut, batch, thread count, instruction set."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
import torch
from torch import Tensor

from kernels import choice, native, reference
from kernels.compiler import Level
from kernels.errors import KernelsUnavailable
from kernels.layers import LayerWeights, Places
from kernels.native import Native
from kernels.plain import Plain
from kernels.plan import Geometry, Span
from tests.kernels.test_attention import GEOMETRIES, LENGTH, Case

FLAGS = {"avx2": {"avx2", "fma"}, "avx512": {"avx512f", "avx512dq", "avx512bw", "avx512vl"}}
TOLERANCE = {  # largest difference to double precision (layer: to the reference), relative to the largest value
    "exp": 2.0**-22,
    "rms_norm": 4e-7,
    "silu_mul": 4e-7,
    "linear": 1e-6,
    "log_probabilities": 4e-7,
    "attention": 2e-6,
    "layer": 1e-5,  # scores here reach hundreds, and softmax makes a relative error of them an absolute one
}
WIDTHS = [1, 8, 15, 16, 17, 80, 113]
WIDE = [*GEOMETRIES, Geometry(heads=4, kv_heads=2, head_dim=64, block_size=32, window=130)]


def native_set(level: Level, geometry: Geometry = GEOMETRIES[0], threads: int = 2) -> Native:
    info = Path("/proc/cpuinfo")
    if not (info.exists() and set(info.read_text().split()) >= FLAGS[level]):
        pytest.skip(f"this processor has no {level}")
    try:
        return Native(geometry, level, threads)
    except KernelsUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(params=get_args(Level))
def level(request: pytest.FixtureRequest) -> Level:
    return request.param


def difference(found: Tensor, exact: Tensor) -> float:
    return float((found - exact).abs().max() / exact.abs().max())


def rows(count: int, width: int) -> Tensor:
    return torch.randn(count, width, generator=torch.Generator().manual_seed(width)) * 2


def operations(kernels: Native, width: int) -> dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]]:
    """Each operation on rows of `width`, as computed here and as the formula in double precision."""
    weight, matrix = rows(1, width)[0], rows(37, width)
    packed = native.packed(matrix)
    first = (weight.abs() * 100).long()[:1] % width

    def silu(x: Tensor) -> Tensor:
        gate, up = x.double().chunk(2, -1)
        return gate * torch.sigmoid(gate) * up

    return {
        "rms_norm": (
            lambda x: kernels.rms_norm(x, weight, 1e-5),
            lambda x: x * torch.rsqrt(x.double().pow(2).mean(-1, keepdim=True) + 1e-5) * weight,
        ),
        "silu_mul": (lambda x: kernels.silu_mul(torch.cat((x, x), -1)), lambda x: silu(torch.cat((x, x), -1))),
        "linear": (lambda x: kernels.linear(x, packed, 37), lambda x: x.double() @ matrix.double().t()),
        "log_probabilities": (
            lambda x: kernels.log_probabilities(x, first.expand(len(x)).contiguous()),
            lambda x: x.double().log_softmax(-1)[:, first[0]],
        ),
    }


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["rms_norm", "silu_mul", "linear", "log_probabilities"])
def test_an_operation_equals_its_formula(level: Level, width: int, name: str) -> None:
    found, exact = operations(native_set(level), width)[name]
    x = rows(61, width)
    assert (found(x) - exact(x)).abs().max() <= TOLERANCE[name] * exact(x).abs().max()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["rms_norm", "silu_mul", "linear", "log_probabilities"])
def test_an_operation_gives_a_row_the_same_bits_in_any_company(level: Level, width: int, name: str) -> None:
    x = rows(200, width)
    whole = operations(native_set(level), width)[name][0](x)
    for threads, (start, end) in itertools.product((1, 3), ((0, 1), (5, 18), (199, 200), (1, 150))):
        one = operations(native_set(level, threads=threads), width)[name][0]
        assert torch.equal(one(x[start:end]), whole[start:end])


def test_the_exponential_is_exact_to_two_units_in_the_last_place_and_the_same_in_every_lane(level: Level) -> None:
    kernels = native_set(level)
    x = torch.linspace(-87, 88, 200_001)
    whole = kernels.exp(x)
    assert (whole.double() / x.double().exp() - 1).abs().max() < TOLERANCE["exp"]
    assert all(torch.equal(kernels.exp(x[n : 2 * n].clone()), whole[n : 2 * n]) for n in range(1, 70))
    assert kernels.exp(torch.tensor([-math.inf, -1e30, 0.0])).tolist() == [0.0, 0.0, 1.0]
    assert kernels.exp(torch.tensor([math.nan])).isnan().all()


def test_log_probabilities_of_logits_that_are_not_finite_are_not_finite(level: Level) -> None:
    logits = torch.zeros(2, 19)
    logits[0, 3], logits[1, 18] = math.nan, math.inf
    assert not native_set(level).log_probabilities(logits, torch.tensor([0, 0])).isfinite().any()


class NativeCase(Case):
    """The same sequence and poisoned pool; keys lie transposed in their block."""

    def __init__(self, geometry: Geometry, kernels: Native) -> None:
        super().__init__(geometry)
        self.kernels = kernels
        self.pools[0] = self.pools[0].transpose(2, 3).contiguous()

    def write(self, start: int, end: int) -> None:
        size = self.geometry.block_size
        for place in range(start, end):
            block, offset = self.blocks[place // size], place % size
            self.pools[0][block, :, :, offset], self.pools[1][block, :, offset] = self.k[place], self.v[place]

    def run(self, start: int, end: int, gone: int = 0) -> Tensor:
        self.write(start, end)
        span = Span(0, start, end - start, self.blocks[gone:], gone)
        return self.kernels.plan([span])(self.q[start:end], *self.pools)


@pytest.mark.parametrize("geometry", WIDE)
def test_attention_equals_the_formula(level: Level, geometry: Geometry) -> None:
    case = NativeCase(geometry, native_set(level, geometry))
    assert difference(case.run(0, LENGTH), case.exact()) < TOLERANCE["attention"]


@pytest.mark.parametrize("geometry", WIDE)
@pytest.mark.parametrize("cuts", [(64, 128), (1, 2, 3, 77), (63, 64, 65, 199), (130,), tuple(range(1, LENGTH))])
def test_every_cut_and_thread_count_gives_the_same_bits(level: Level, geometry: Geometry, cuts: tuple[int, ...]) -> None:
    whole = NativeCase(geometry, native_set(level, geometry)).run(0, LENGTH)
    case = NativeCase(geometry, native_set(level, geometry, threads=1 + len(cuts) % 3))
    pieces = [case.run(start, end) for start, end in itertools.pairwise((0, *cuts, LENGTH))]
    assert torch.equal(torch.cat(pieces), whole)


@pytest.mark.parametrize("geometry", [g for g in WIDE if g.window])
def test_blocks_that_the_window_has_left_may_hold_anything(level: Level, geometry: Geometry) -> None:
    whole, case = (NativeCase(geometry, native_set(level, geometry)) for _ in range(2))
    expected = whole.run(0, LENGTH)
    case.write(0, 170)
    gone = (170 - (geometry.window or 0) + 1) // geometry.block_size
    assert gone > 0
    for pool in case.pools:
        pool[case.blocks[:gone]] = math.nan
    assert torch.equal(case.run(170, LENGTH, gone), expected[170:])


@pytest.mark.parametrize("geometry", WIDE)
def test_spans_of_one_step_do_not_touch_each_other(level: Level, geometry: Geometry) -> None:
    case = NativeCase(geometry, native_set(level, geometry))
    whole = case.run(0, LENGTH)
    parts = [(150, 151), (0, 97), (64, 150), (199, 200), (3, 5)]
    starts = [0, *itertools.accumulate(end - start for start, end in parts)]
    spans = [Span(row, start, end - start, case.blocks) for row, (start, end) in zip(starts, parts, strict=False)]
    found = case.kernels.plan(spans)(torch.cat([case.q[start:end] for start, end in parts]), *case.pools)
    assert torch.equal(found, torch.cat([whole[start:end] for start, end in parts]))


def layer_weights(geometry: Geometry, hidden: int, inner: int) -> LayerWeights:
    def normal(out: int, width: int) -> Tensor:
        return rows(out, width) / width**0.5

    attended = geometry.heads * geometry.head_dim
    both = attended + 2 * geometry.kv_heads * geometry.head_dim
    norms = rows(2, hidden).abs()
    matrices = {"qkv": normal(both, hidden), "output": normal(hidden, attended)}
    mlp = {"gate_up": normal(2 * inner, hidden), "down": normal(hidden, inner)}
    return LayerWeights(input_norm=norms[0].clone(), mlp_norm=norms[1].clone(), eps=1e-5, **matrices, **mlp)


def through_layer(kernels: Native | Plain, geometry: Geometry, count: int) -> Tensor:
    """`count` rows through one layer of this set, with a pool of its own."""
    hidden, layer = rows(150, 90)[:count].clone(), kernels.layer(layer_weights(geometry, 90, 70))
    blocks = tuple(reversed(range(-(-count // geometry.block_size))))
    places = torch.arange(count)
    block = torch.tensor(blocks)[places // geometry.block_size]
    slots = (block[:, None] * geometry.kv_heads + torch.arange(geometry.kv_heads)) * geometry.block_size
    slots += places[:, None] % geometry.block_size
    cos, sin = reference.rotary_tables(count, geometry.head_dim, 1e4)
    shape = (len(blocks), geometry.kv_heads, geometry.block_size, geometry.head_dim)
    keys, values = torch.full(shape, math.nan), torch.full(shape, math.nan)
    queries = layer.project(hidden, Places(cos, sin, slots.reshape(-1)), keys, values)
    layer.finish(hidden, kernels.plan([Span(0, 0, count, blocks)])(queries, keys, values))
    return hidden


@pytest.mark.parametrize("geometry", WIDE)
@pytest.mark.parametrize("count", [1, 2, 47, 150])
def test_a_layer_equals_that_of_the_reference(level: Level, geometry: Geometry, count: int) -> None:
    found = through_layer(native_set(level, geometry), geometry, count)
    assert difference(found, through_layer(Plain(geometry), geometry, count)) < TOLERANCE["layer"]


@pytest.mark.parametrize("geometry", WIDE)
def test_row_blocks_and_threads_change_no_bit_of_a_layer(level: Level, geometry: Geometry) -> None:
    whole = through_layer(native_set(level, geometry), geometry, 150)
    for threads, count in itertools.product((1, 4), (1, 20, 97, 150)):
        assert torch.equal(through_layer(native_set(level, geometry, threads), geometry, count), whole[:count])


@pytest.mark.parametrize("geometry", WIDE)
def test_both_instruction_sets_give_the_same_bits(geometry: Geometry) -> None:
    narrow, wide = (through_layer(native_set(level, geometry), geometry, 150) for level in get_args(Level))
    assert torch.equal(narrow, wide)


def test_memory_that_a_kernel_cannot_read_is_refused(level: Level) -> None:
    kernels = native_set(level)
    with pytest.raises(ValueError, match="contiguous"):
        kernels.silu_mul(rows(4, 20).t())
    with pytest.raises(ValueError, match="float64"):
        kernels.silu_mul(rows(4, 20).double())


def test_the_proof_at_start_sees_a_kernel_that_computes_something_else(level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = native_set(level)
    assert choice.disagreement(kernels, GEOMETRIES[0]) < choice.TOLERANCE
    monkeypatch.setattr(kernels, "silu_mul", lambda x: reference.silu_mul(x) * 1.001)
    assert choice.disagreement(kernels, GEOMETRIES[0]) > choice.TOLERANCE
    monkeypatch.setattr(kernels, "silu_mul", lambda x: x[:, :45] * math.nan)
    assert not choice.disagreement(kernels, GEOMETRIES[0]) <= choice.TOLERANCE
