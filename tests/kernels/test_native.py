"""The compiled kernels: close to the formulas over odd sizes; the same bits in every cut, batch, thread count, instruction set."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import get_args

import pytest
import torch
from torch import Tensor

from kernels import compiler, frequencies, native, reference
from kernels.compiler import Level
from kernels.errors import KernelsUnavailable
from kernels.layers import Layer, LayerWeights, Places, Precision
from kernels.native import Native
from kernels.plain import Plain
from kernels.plan import Geometry, Span
from tests.kernels.test_attention import GEOMETRIES, LENGTH, Case

ROOT = Path(__file__).resolve().parents[2]
Kind = tuple[Level, Precision]
KINDS: list[Kind] = [
    ("avx2", "fp32"),
    ("avx2", "bf16"),
    ("avx512", "fp32"),
    ("avx512", "bf16"),
    ("avx512_bf16", "bf16"),
    ("avx512_amx", "bf16"),
]
FLAGS = {"avx2": {"avx2", "fma"}, "avx512": {"avx512f", "avx512dq", "avx512bw", "avx512vl"}}
FLAGS["avx512_bf16"] = FLAGS["avx512"] | {"avx512_bf16"}
FLAGS["avx512_amx"] = FLAGS["avx512_bf16"] | {"amx_tile", "amx_bf16"}
TOLERANCE = {  # largest difference to double precision (layer: to the reference), relative to the largest value
    "exp": 2.0**-22,
    "rms_norm": 4e-7,
    "silu_mul": 4e-7,
    "linear": 1e-6,
    "log_probabilities": 4e-7,
    "attention": 2e-6,
    "layer": 1e-5,  # scores here reach hundreds, and softmax makes a relative error of them an absolute one
}
BF16_TOLERANCE = TOLERANCE | {"attention": 4e-3, "layer": 4e-3}  # half a unit in the last place of bf16 is 2^-9 of a number
WIDTHS = [1, 8, 15, 16, 17, 80, 113]
WIDE = [*GEOMETRIES, Geometry(heads=4, kv_heads=2, head_dim=64, block_size=32, window=130)]


def native_set(kind: Kind, geometry: Geometry = GEOMETRIES[0], threads: int = 2) -> Native:
    info, (level, precision) = Path("/proc/cpuinfo"), kind
    if not (info.exists() and set(info.read_text().split()) >= FLAGS[level]):
        pytest.skip(f"this processor has no {level}")
    try:
        return Native(geometry, level, threads, precision)
    except KernelsUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(params=KINDS, ids="-".join)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


def tolerance(kind: Kind, name: str) -> float:
    return (BF16_TOLERANCE if kind[1] == "bf16" else TOLERANCE)[name]


def held(x: Tensor, precision: Precision) -> Tensor:
    """What a kernel of this precision sees of `x`."""
    return x.bfloat16().float() if precision == "bf16" else x


def difference(found: Tensor, exact: Tensor) -> float:
    return float((found - exact).abs().max() / exact.abs().max())


def rows(count: int, width: int) -> Tensor:
    return torch.randn(count, width, generator=torch.Generator().manual_seed(width)) * 2


def operations(kernels: Native, width: int) -> dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]]:
    """Each operation on rows of `width`, as computed here and as the formula in double precision."""
    weight, matrix = rows(1, width)[0], rows(37, width)
    packed, precision = native.packed(matrix, kernels.precision), kernels.precision
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
        "linear": (
            lambda x: kernels.linear(x, packed, 37),
            lambda x: held(x, precision).double() @ held(matrix, precision).double().t(),
        ),
        "log_probabilities": (
            lambda x: kernels.log_probabilities(x, first.expand(len(x)).contiguous()),
            lambda x: x.double().log_softmax(-1)[:, first[0]],
        ),
    }


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["rms_norm", "silu_mul", "linear", "log_probabilities"])
def test_an_operation_equals_its_formula(kind: Kind, width: int, name: str) -> None:
    found, exact = operations(native_set(kind), width)[name]
    x = rows(61, width)
    assert (found(x) - exact(x)).abs().max() <= tolerance(kind, name) * exact(x).abs().max()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["rms_norm", "silu_mul", "linear", "log_probabilities"])
def test_an_operation_gives_a_row_the_same_bits_in_any_company(kind: Kind, width: int, name: str) -> None:
    x = rows(200, width)
    whole = operations(native_set(kind), width)[name][0](x)
    for threads, (start, end) in itertools.product((1, 3), ((0, 1), (5, 18), (199, 200), (1, 150))):
        one = operations(native_set(kind, threads=threads), width)[name][0]
        assert torch.equal(one(x[start:end]), whole[start:end])


def test_the_exponential_is_exact_to_two_units_in_the_last_place_and_the_same_in_every_lane(kind: Kind) -> None:
    kernels = native_set(kind)
    x = torch.linspace(-87, 88, 200_001)
    whole = kernels.exp(x)
    assert (whole.double() / x.double().exp() - 1).abs().max() < TOLERANCE["exp"]
    assert all(torch.equal(kernels.exp(x[n : 2 * n].clone()), whole[n : 2 * n]) for n in range(1, 70))
    assert kernels.exp(torch.tensor([-math.inf, -1e30, 0.0])).tolist() == [0.0, 0.0, 1.0]
    assert kernels.exp(torch.tensor([math.nan])).isnan().all()


def test_log_probabilities_of_logits_that_are_not_finite_are_not_finite(kind: Kind) -> None:
    logits = torch.zeros(2, 19)
    logits[0, 3], logits[1, 18] = math.nan, math.inf
    assert not native_set(kind).log_probabilities(logits, torch.tensor([0, 0])).isfinite().any()


class NativeCase(Case):
    """The same sequence and poisoned pools, laid out as the compiled kernels want them."""

    def __init__(self, geometry: Geometry, kernels: Native) -> None:
        super().__init__(geometry)
        self.kernels = kernels
        self.pools = [pool.fill_(math.nan) for pool in kernels.pools(len(self.pools[0]))]

    def write(self, start: int, end: int) -> None:
        size, depth, (keys, values) = self.geometry.block_size, self.geometry.head_dim, self.pools
        numbers = keys.shape[-1]
        for place in range(start, end):
            block, offset = self.blocks[place // size], place % size
            keys[block, :, :, offset] = self.k[place].view(len(self.k[place]), -1, numbers).to(keys.dtype)
            values[block, :, offset // numbers, :depth, offset % numbers] = self.v[place].to(values.dtype)

    def run(self, start: int, end: int, gone: int = 0) -> Tensor:
        self.write(start, end)
        span = Span(0, start, end - start, self.blocks[gone:], gone)
        return self.kernels.plan([span])(self.q[start:end], *self.pools)


@pytest.mark.parametrize("geometry", WIDE)
def test_attention_equals_the_formula(kind: Kind, geometry: Geometry) -> None:
    case = NativeCase(geometry, native_set(kind, geometry))
    assert difference(case.run(0, LENGTH), case.exact()) < tolerance(kind, "attention")


@pytest.mark.parametrize("geometry", WIDE)
@pytest.mark.parametrize("cuts", [(64, 128), (1, 2, 3, 77), (63, 64, 65, 199), (130,), tuple(range(1, LENGTH))])
def test_every_cut_and_thread_count_gives_the_same_bits(kind: Kind, geometry: Geometry, cuts: tuple[int, ...]) -> None:
    whole = NativeCase(geometry, native_set(kind, geometry)).run(0, LENGTH)
    case = NativeCase(geometry, native_set(kind, geometry, threads=1 + len(cuts) % 3))
    pieces = [case.run(start, end) for start, end in itertools.pairwise((0, *cuts, LENGTH))]
    assert torch.equal(torch.cat(pieces), whole)


@pytest.mark.parametrize("geometry", [g for g in WIDE if g.window])
def test_blocks_that_the_window_has_left_may_hold_anything(kind: Kind, geometry: Geometry) -> None:
    whole, case = (NativeCase(geometry, native_set(kind, geometry)) for _ in range(2))
    expected = whole.run(0, LENGTH)
    case.write(0, 170)
    gone = (170 - (geometry.window or 0) + 1) // geometry.block_size
    assert gone > 0
    for pool in case.pools:
        pool[case.blocks[:gone]] = math.nan
    assert torch.equal(case.run(170, LENGTH, gone), expected[170:])


@pytest.mark.parametrize("geometry", WIDE)
def test_spans_of_one_step_do_not_touch_each_other(kind: Kind, geometry: Geometry) -> None:
    case = NativeCase(geometry, native_set(kind, geometry))
    whole = case.run(0, LENGTH)
    parts = [(150, 151), (0, 97), (64, 150), (199, 200), (3, 5)]
    starts = [0, *itertools.accumulate(end - start for start, end in parts)]
    spans = [Span(row, start, end - start, case.blocks) for row, (start, end) in zip(starts, parts, strict=False)]
    found = case.kernels.plan(spans)(torch.cat([case.q[start:end] for start, end in parts]), *case.pools)
    assert torch.equal(found, torch.cat([whole[start:end] for start, end in parts]))


def layer_weights(geometry: Geometry, hidden: int, inner: int, *, extras: bool = False) -> LayerWeights:
    """With norms of heads and with biases, or with neither."""

    def normal(out: int, width: int) -> Tensor:
        return rows(out, width) / width**0.5

    attended = geometry.heads * geometry.head_dim
    both = attended + 2 * geometry.kv_heads * geometry.head_dim
    norms = rows(2, hidden).abs()
    matrices = {"qkv": normal(both, hidden), "output": normal(hidden, attended)}
    mlp = {"gate_up": normal(2 * inner, hidden), "down": normal(hidden, inner)}
    heads = dict(zip(("query_norm", "key_norm"), rows(2, geometry.head_dim).abs().clone(), strict=True)) if extras else {}
    heads |= {"qkv_bias": rows(3, both)[2].clone(), "output_bias": rows(3, hidden)[2].clone()} if extras else {}
    return LayerWeights(input_norm=norms[0].clone(), mlp_norm=norms[1].clone(), eps=1e-5, **matrices, **mlp, **heads)


def through_layer(
    kernels: Native | Plain, geometry: Geometry, count: int, layer: Layer | None = None, *, extras: bool = False
) -> Tensor:
    """`count` rows through one layer of this set, with a pool of its own."""
    layer = layer or kernels.layer(layer_weights(geometry, 90, 70, extras=extras))
    hidden = rows(150, 90)[:count].clone()
    blocks = tuple(reversed(range(-(-count // geometry.block_size))))
    places = torch.arange(count)
    block = torch.tensor(blocks)[places // geometry.block_size]
    slots = (block[:, None] * geometry.kv_heads + torch.arange(geometry.kv_heads)) * geometry.block_size
    slots += places[:, None] % geometry.block_size
    cos, sin = reference.rotary_tables(count, frequencies.Plain(1e4).of(geometry.head_dim))
    keys, values = (pool.fill_(math.nan) for pool in kernels.pools(len(blocks)))
    queries = layer.project(hidden, Places(cos, sin, slots.reshape(-1)), keys, values)
    layer.finish(hidden, kernels.plan([Span(0, 0, count, blocks)])(queries, keys, values))
    return hidden


@functools.cache
def reference_layer(geometry: Geometry, precision: Precision, count: int, extras: bool) -> Tensor:
    return through_layer(Plain(geometry, precision, library=False), geometry, count, extras=extras)


@pytest.mark.parametrize("geometry", WIDE)
@pytest.mark.parametrize(("count", "extras"), [(1, False), (2, True), (47, False), (150, False), (150, True)])
def test_a_layer_equals_that_of_the_reference(kind: Kind, geometry: Geometry, count: int, extras: bool) -> None:
    found = through_layer(native_set(kind, geometry), geometry, count, extras=extras)
    assert difference(found, reference_layer(geometry, kind[1], count, extras)) < tolerance(kind, "layer")


@pytest.mark.parametrize("extras", [False, True])
@pytest.mark.parametrize("geometry", WIDE)
def test_row_blocks_and_threads_change_no_bit_of_a_layer(kind: Kind, geometry: Geometry, extras: bool) -> None:
    whole = through_layer(native_set(kind, geometry), geometry, 150, extras=extras)
    for threads, count in itertools.product((1, 3, 4), (1, 20, 97, 150)):
        found = through_layer(native_set(kind, geometry, threads), geometry, count, extras=extras)
        assert torch.equal(found, whole[:count])


@pytest.mark.parametrize("which", ["query_norm", "key_norm", "qkv_bias", "output_bias"])
def test_each_norm_of_the_heads_and_each_bias_counts(kind: Kind, which: str) -> None:
    """Queries and keys have scales of their own: doubling that of one, or a bias, changes the layer as it does in the reference."""
    geometry, layers = GEOMETRIES[0], []
    weights = layer_weights(geometry, 90, 70, extras=True)
    twice = dataclasses.replace(weights, **{which: 2 * getattr(weights, which)})
    for kernels in (native_set(kind, geometry), Plain(geometry, kind[1], library=False)):
        layers.append(through_layer(kernels, geometry, 150, kernels.layer(twice)))
    assert difference(*layers) < tolerance(kind, "layer")
    assert difference(layers[1], reference_layer(geometry, kind[1], 150, extras=True)) > tolerance(kind, "layer")


@pytest.mark.parametrize("precision", get_args(Precision))
@pytest.mark.parametrize("geometry", WIDE)
def test_avx2_and_avx512_give_the_same_bits(geometry: Geometry, precision: Precision) -> None:
    sets = [native_set((level, precision), geometry) for level in ("avx2", "avx512")]
    narrow, wide = (through_layer(kernels, geometry, 150, extras=True) for kernels in sets)
    assert torch.equal(narrow, wide)


def test_calls_from_several_threads_at_once_change_no_bit(kind: Kind) -> None:
    """One call has the workers, the others go on by themselves."""
    geometry = WIDE[-1]
    kernels = native_set(kind, geometry)
    layer = kernels.layer(layer_weights(geometry, 90, 70))
    alone = through_layer(kernels, geometry, 150, layer)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: through_layer(kernels, geometry, 150, layer), range(12)))
    assert all(torch.equal(one, alone) for one in found)


FORKING = """
import os, torch
from kernels import native
from kernels.plan import Geometry
torch.set_num_threads(1)
kernels = native.Native(Geometry(2, 2, 16, 16), "avx2", 4)
x, matrix = torch.randn(300, 200), native.packed(torch.randn(150, 200))
whole = kernels.linear(x, matrix, 150)
child = os.fork()
if child == 0:
    os._exit(0 if torch.equal(kernels.linear(x, matrix, 150), whole) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), torch.equal(kernels.linear(x, matrix, 150), whole))
"""


def test_a_child_of_fork_has_threads_of_its_own() -> None:
    native_set(("avx2", "fp32"))
    run = subprocess.run([sys.executable, "-c", FORKING], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    assert run.stdout.split() == ["0", "True"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind[1] == "bf16"], ids="-".join)
def test_bf16_rounds_to_nearest_even_and_keeps_what_is_not_a_number(kind: Kind) -> None:
    """A product with the identity shows how the left side was rounded."""
    ties = torch.tensor([1 + 2.0**-8, 1 + 3 * 2.0**-8, -(1 + 2.0**-8), 1 + 2.0**-8 + 2.0**-20, 3.3895e38, 1e-30, 0.0, -5.5])
    x = torch.cat((torch.cat((ties, ties))[None], rows(40, 16) * 1e5))
    eye = native.packed(torch.eye(16), "bf16")
    assert torch.equal(native_set(kind).linear(x, eye, 16), x.bfloat16().float())
    assert native_set(kind).linear(torch.full((1, 16), math.nan), eye, 16).isnan().all()


def test_the_name_says_precision_and_instructions(kind: Kind) -> None:
    name = native_set(kind).name
    assert name.startswith(f"{native.NATIVE_SET},{kind[1]},torch=")
    assert f",{kind[0]}," in name
    assert ("-mavx512bf16" in name) == (kind[0] in ("avx512_bf16", "avx512_amx"))
    assert ("-mamx-bf16" in name) == (kind[0] == "avx512_amx")
    assert all(flag in name for flag in compiler.flags(kind[0]))


@pytest.mark.parametrize("precision", get_args(Precision))
def test_the_best_instructions_of_the_processor_serve(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, precision: Precision
) -> None:
    monkeypatch.setattr(native, "_CPUINFO", tmp_path / "cpuinfo")
    assert native.levels("avx512", precision) == ("avx512",)
    better: dict[str, tuple[Level, ...]] = {
        "avx512_bf16": ("avx512_bf16",),
        "avx512_bf16 amx_tile amx_bf16": ("avx512_amx", "avx512_bf16"),
    }
    for flags, levels in better.items():
        (tmp_path / "cpuinfo").write_text(f"flags : avx2 avx512f {flags} sse")
        assert native.levels("avx512", precision) == ((*levels, "avx512") if precision == "bf16" else ("avx512",))
    assert native.levels("avx2", precision) == ("avx2",)
    assert native.levels("default", precision) == ()


def test_in_bf16_a_block_of_one_token_is_refused() -> None:
    with pytest.raises(KernelsUnavailable, match="two tokens a word"):
        Native(Geometry(2, 2, 16, 1), "avx2", 1, "bf16")


def test_memory_that_a_kernel_cannot_read_is_refused(kind: Kind) -> None:
    kernels = native_set(kind)
    with pytest.raises(ValueError, match="contiguous"):
        kernels.silu_mul(rows(4, 20).t())
    with pytest.raises(ValueError, match="float64"):
        kernels.silu_mul(rows(4, 20).double())
