"""The kernels of numba: close to the formulas and the reference, the same bits in every cut and at every number of threads."""

from __future__ import annotations

import functools
import itertools
import math
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
import torch
from torch import Tensor

from kernels import choice, jitted, native, numba_set, reference
from kernels.layers import Precision
from kernels.numba_set import Numba
from kernels.plan import Geometry, Span
from tests.kernels.test_attention import LENGTH, Case
from tests.kernels.test_native import BF16_TOLERANCE, TOLERANCE, difference, rows, through_layer

ROOT = Path(__file__).resolve().parents[2]
GEOMETRIES = [
    Geometry(heads=6, kv_heads=2, head_dim=20, block_size=16, window=70),
    Geometry(heads=2, kv_heads=2, head_dim=24, block_size=8),
]


@pytest.fixture(params=get_args(Precision))
def precision(request: pytest.FixtureRequest) -> Precision:
    return request.param


def numba(geometry: Geometry, precision: Precision, threads: int = 2) -> Numba:
    found = Numba(geometry, precision, library=False)
    found.threads = threads
    return found


class NumbaCase(Case):
    """The sequence with poisoned pools in the layout of this set."""

    def __init__(self, geometry: Geometry, kernels: Numba) -> None:
        super().__init__(geometry)
        self.kernels = kernels
        self.pools = [pool.fill_(math.nan) for pool in kernels.pools(len(self.pools[0]))]

    def run(self, start: int, end: int, gone: int = 0) -> Tensor:
        for place in range(start, end):
            block, offset = self.blocks[place // self.geometry.block_size], place % self.geometry.block_size
            for pool, source in zip(self.pools, (self.k, self.v), strict=True):
                row = pool[block, :, :, offset] if pool is self.pools[0] else pool[block, :, offset]
                row.copy_(source[place])
        return self.kernels.plan([Span(0, start, end - start, self.blocks[gone:], gone)])(self.q[start:end], *self.pools)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_attention_equals_the_formula_in_every_cut_at_every_number_of_threads(
    geometry: Geometry, precision: Precision, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba_set, "_WORTH", 1)
    whole = NumbaCase(geometry, numba(geometry, precision))
    expected = whole.run(0, LENGTH)
    assert difference(expected, whole.exact()) < (BF16_TOLERANCE if precision == "bf16" else TOLERANCE)["attention"]
    for threads, cuts in ((1, (130,)), (2, (1, 2, 3, 77)), (3, (63, 64, 65, 199)), (4, tuple(range(1, LENGTH, 5)))):
        case = NumbaCase(geometry, numba(geometry, precision, threads))
        pieces = [case.run(start, end) for start, end in itertools.pairwise((0, *cuts, LENGTH))]
        assert torch.equal(torch.cat(pieces), expected)


def test_blocks_that_the_window_has_left_may_hold_anything(precision: Precision) -> None:
    geometry = GEOMETRIES[0]
    expected, case = NumbaCase(geometry, numba(geometry, precision)).run(0, LENGTH), NumbaCase(geometry, numba(geometry, precision))
    case.run(0, 170)
    gone = (170 - 70 + 1) // geometry.block_size
    for pool in case.pools:
        pool[case.blocks[:gone]] = math.nan
    assert torch.equal(case.run(170, LENGTH, gone), expected[170:])


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_a_layer_agrees_with_the_reference_and_keeps_its_bits_in_any_company(
    geometry: Geometry, precision: Precision, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = numba(geometry, precision)
    assert choice.disagreement(kernels, geometry, precision) < choice.TOLERANCE[precision] / 3
    monkeypatch.setattr(numba_set, "_WORTH", 1)
    for extras in (False, True):
        whole = through_layer(kernels, geometry, 150, extras=extras)
        for threads, count in ((1, 1), (2, 20), (3, 97), (4, 150)):
            found = through_layer(numba(geometry, precision, threads), geometry, count, extras=extras)
            assert torch.equal(found, whole[:count])


def test_operations_equal_their_formulas_and_keep_a_row_in_any_company(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba_set, "_WORTH", 1)
    kernels, x, weight = numba(GEOMETRIES[0], "fp32"), rows(61, 114), rows(1, 114)[0]
    ids = torch.arange(61)
    for found, name in (
        (functools.partial(kernels.rms_norm, weight=weight, eps=1e-5), "rms_norm"),
        (kernels.silu_mul, "silu_mul"),
        (lambda x: kernels.log_probabilities(x, ids[: len(x)]), "log_probabilities"),
    ):
        exact = {
            "rms_norm": lambda x: reference.rms_norm(x, weight.double(), 1e-5),
            "silu_mul": lambda x: torch.nn.functional.silu(x[:, :57]) * x[:, 57:],
            "log_probabilities": lambda x: x.log_softmax(-1).gather(1, ids[: len(x), None])[:, 0],
        }[name](x.double())
        assert difference(found(x).double(), exact) < TOLERANCE[name]
        assert torch.equal(torch.cat([found(x[:1]), found(x[:7])[1:]]), found(x)[:7])


def test_what_is_not_a_number_stays_visible() -> None:
    kernels, x = numba(GEOMETRIES[0], "fp32"), torch.zeros(3, 40)
    x[0, 3], x[1, 39], x[2, 0] = math.nan, math.inf, math.nan
    assert not kernels.log_probabilities(x, torch.tensor([1, 1, 1])).isfinite().any()
    assert kernels.silu_mul(x)[0].isnan().any()


def test_with_the_kernels_of_numba_neither_compiled_nor_reference_attention_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(native.Library, "call")
    for name in ("paged_attention", "rms_norm", "silu_mul", "rotary", "write_kv", "normalisers"):
        monkeypatch.delattr(reference, name)
    attend, calls = jitted.attend, []
    monkeypatch.setattr(jitted, "attend", lambda *inputs: (calls.append(1), attend(*inputs)))
    kernels = numba(GEOMETRIES[0], "fp32")
    assert NumbaCase(GEOMETRIES[0], kernels).run(0, LENGTH).isfinite().all()
    assert calls
    assert kernels.name.startswith(f"{numba_set.NUMBA_SET},fp32,numba=")


def test_a_second_process_finds_what_the_first_compiled() -> None:
    """Where it may write, so that only the first start pays for compiling."""
    numba(GEOMETRIES[0], "fp32").rms_norm(rows(2, 8), rows(1, 8)[0], 1e-5)
    if not jitted._CACHED:
        pytest.skip("no folder can be written here")
    code = (
        "import torch; from kernels import jitted, numba_set; from kernels.plan import Geometry\n"
        "numba_set.Numba(Geometry(2, 2, 8, 8)).rms_norm(torch.ones(2, 8), torch.ones(8), 1e-5)\n"
        "print(sum(jitted.rms_norm.stats.cache_hits.values()))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "1"
