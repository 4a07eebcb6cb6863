"""Negative controls: with a computation that the bit contract forbids, what has been preempted has other bits. Were one of these to
pass unseen, the tests of exact resume would prove nothing. (STAT that writes into a block of a pass: `test_freezing_bits`.)
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from benchmarks.preempting import Point, Way
from engine.runner import Runner
from kernels import matmul
from tests.engine.conftest import model
from tests.engine.driving import alone, bits
from tests.engine.test_bits import _library_attention
from tests.engine.test_resume import BASE, LOWER, told

Forbid = Callable[[pytest.MonkeyPatch, Runner], None]
KEPT = 127.0  # steps of an int8 scale


def library_attention(patch: pytest.MonkeyPatch, runner: Runner) -> None:
    patch.setattr(runner.model.kernels, "plan", lambda spans: functools.partial(_library_attention, spans=spans))


def unpadded_rows(patch: pytest.MonkeyPatch, _runner: Runner) -> None:
    """What libraries do: the inner loop, and with it the order of the additions, is chosen by the number of rows."""

    def product(self: matmul.Linear, x: Tensor) -> Tensor:
        if x.shape[0] < 8:
            return x @ self.columns
        half = x.shape[1] // 2
        return x[:, :half] @ self.columns[:half] + x[:, half:] @ self.columns[half:]

    patch.setattr(matmul.Linear, "__call__", product)


def scales_per_block(patch: pytest.MonkeyPatch, runner: Runner) -> None:
    """A block is quantized anew whenever a token comes into it."""

    def quantize(pool: Tensor, slots: Tensor) -> None:
        blocks = (slots // (pool.shape[1] * pool.shape[2])).unique()
        content = pool[blocks]
        scale = content.abs().nan_to_num(0.0).amax((2, 3), keepdim=True) / KEPT
        pool[blocks] = torch.round(content / scale) * scale

    _quantized(patch, runner, quantize)


def scales_per_token(patch: pytest.MonkeyPatch, runner: Runner) -> None:
    """What the contract allows: written once, for a head and a token."""

    def quantize(pool: Tensor, slots: Tensor) -> None:
        rows = pool.view(-1, pool.shape[-1])
        scale = rows[slots].abs().amax(1, keepdim=True) / KEPT
        rows[slots] = torch.round(rows[slots] / scale) * scale

    _quantized(patch, runner, quantize)


def _quantized(patch: pytest.MonkeyPatch, runner: Runner, quantize: Callable[[Tensor, Tensor], None]) -> None:
    def after(project: Callable[..., Tensor], hidden: Tensor, places: object, keys: Tensor, values: Tensor) -> Tensor:
        queries = project(hidden, places, keys, values)
        for pool in (keys, values):
            quantize(pool, places.slots)
        return queries

    for layer in runner.model._layers:
        patch.setattr(layer, "project", functools.partial(after, layer.project))


def _wrong(folder: Path, forbid: Forbid, patch: pytest.MonkeyPatch) -> set[int]:
    """Places of the requests whose bits depend on where they were preempted."""
    runner = Runner(model(folder), BASE)
    forbid(patch, runner)
    expected = [bits(alone(BASE, runner.run, request)) for request in LOWER]
    lives = [told(runner, None, Point(Way.RECOMPUTED, step)) for step in (3, 6)]
    return {place for life in lives for place in range(len(LOWER)) if bits(life.outcomes[place]) != expected[place]}


@pytest.mark.parametrize("forbid", [library_attention, unpadded_rows, scales_per_block])
def test_control_what_the_contract_forbids_is_seen(checkpoint: Path, forbid: Forbid, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _wrong(checkpoint, forbid, monkeypatch)


def test_scales_of_single_tokens_keep_the_contract(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the control of the control: it is the scales that broke it, not the quantizing."""
    assert not _wrong(checkpoint, scales_per_token, monkeypatch)
