"""The proof at start: kernels that compute something else than the reference are seen, whatever they do wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, get_args

import pytest
from torch import Tensor

from kernels import choice
from kernels.errors import KernelsUnavailable
from kernels.layers import Precision
from kernels.plain import Plain
from kernels.plan import Geometry
from tests.kernels.test_native import KINDS, WIDE, Kind, native_set

GEOMETRY = Geometry(heads=4, kv_heads=2, head_dim=24, block_size=16)


class Wrong:
    """The reference, but for one method of it or of what it makes, whose result passes through `change`."""

    def __init__(self, found: Any, name: str, change: Callable[[Tensor], Tensor]) -> None:
        self._found, self._name, self._change = found, name, change

    def __getattr__(self, attribute: str) -> Any:
        method = getattr(self._found, attribute)
        if attribute in ("layer", "head"):
            return lambda *inputs: Wrong(method(*inputs), self._name, self._change)
        if attribute != self._name:
            return method
        if attribute == "plan":
            return lambda spans: lambda *inputs: self._change(method(spans)(*inputs))
        if attribute == "finish":
            return lambda hidden, attended: (method(hidden, attended), hidden.copy_(self._change(hidden)))
        return lambda *inputs: self._change(method(*inputs))


def plain(precision: Precision) -> Plain:
    return Plain(GEOMETRY, precision, library=False)


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
@pytest.mark.parametrize("geometry", WIDE)
def test_compiled_kernels_agree(kind: Kind, geometry: Geometry) -> None:
    """With some of the rows: with others a single number in bf16 may have been rounded to its other neighbour."""
    found = (choice.disagreement(native_set(kind, geometry), geometry, kind[1], seed) for seed in range(3))
    assert any(difference < choice.TOLERANCE[kind[1]] / 3 for difference in found)


@pytest.mark.parametrize("precision", get_args(Precision))
@pytest.mark.parametrize("change", [lambda x: x, lambda x: x * 1.001, lambda x: x * math.nan], ids=["right", "off", "nan"])
@pytest.mark.parametrize("name", ["project", "plan", "finish", "norm", "logits", "log_probabilities"])
def test_a_stage_that_is_a_thousandth_off_or_not_a_number_is_seen(
    name: str, change: Callable[[Tensor], Tensor], precision: Precision, request: pytest.FixtureRequest
) -> None:
    found = choice.disagreement(Wrong(plain(precision), name, change), GEOMETRY, precision)
    assert (found <= choice.TOLERANCE[precision]) == ("right" in request.node.name)


def test_one_number_that_is_not_one_is_seen() -> None:
    def change(x: Tensor) -> Tensor:
        x.view(-1)[7] = math.nan
        return x

    assert not choice.disagreement(Wrong(plain("bf16"), "plan", change), GEOMETRY, "bf16") <= choice.TOLERANCE["bf16"]


def test_kernels_that_do_not_round_what_enters_a_product_are_seen() -> None:
    assert choice.disagreement(plain("fp32"), GEOMETRY, "bf16") > choice.TOLERANCE["bf16"]
    assert choice.disagreement(plain("bf16"), GEOMETRY, "fp32") > choice.TOLERANCE["fp32"]


@pytest.mark.parametrize(("bad", "taken"), [(0, True), (2, True), (3, False)])
def test_a_number_rounded_the_other_way_for_some_rows_is_no_fault(monkeypatch: pytest.MonkeyPatch, bad: int, taken: bool) -> None:
    """What is wrong is wrong for all rows that are tried."""
    monkeypatch.setattr(choice, "disagreement", lambda _found, _geometry, _precision, seed: 1.0 if seed < bad else 0.0)
    if taken:
        assert choice._agreeing(plain("bf16"), GEOMETRY, "bf16").name
    else:
        with pytest.raises(KernelsUnavailable, match=r"differ from the reference by 1\.0e\+00"):
            choice._agreeing(plain("bf16"), GEOMETRY, "bf16")
