"""One bad request fails alone; the others keep their bits."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from torch import Tensor

from engine.batch import Batch, RowOutput
from engine.config import Kernels
from engine.errors import NonFinite, RowFailed
from engine.model import StepInputs
from engine.request import Generate, Priority, Request, Score
from engine.runner import Runner
from tests.engine.conftest import CONFIG, model
from tests.engine.driving import Arrival, bits, drive

GOOD: list[Request] = [Score((1, 3, 4, 5) * 20), Generate((1, 3, 4), limit=4), Score((1, 6, 7)), Score((1, 3) * 40)]
BAD_TOKEN = 10


@pytest.fixture
def guilty(checkpoint: Path, kernels: Kernels) -> Runner:
    """A runner of its own, to be broken."""
    return Runner(model(checkpoint, kernels), CONFIG)


def _with_bad_one(runner: Runner, bad: Request) -> None:
    """Drive the good ones with and without the bad one; it must fail, they must not notice."""
    without = drive(CONFIG, runner.run, [Arrival(i, request) for i, request in enumerate(GOOD)])
    arrivals = [Arrival(99, bad, Priority.STAT), *(Arrival(i, request) for i, request in enumerate(GOOD))]
    outcomes = drive(CONFIG, runner.run, arrivals)
    assert outcomes[99].state == "failed"
    assert [bits(outcomes[i]) for i in range(len(GOOD))] == [bits(without[i]) for i in range(len(GOOD))]


@pytest.mark.parametrize("bad", [Score((1, 3, BAD_TOKEN, 4)), Generate((1, BAD_TOKEN), limit=5)])
def test_a_row_that_is_not_finite_fails_alone(guilty: Runner, bad: Request) -> None:
    guilty.model._embedding[BAD_TOKEN] = float("nan")
    _with_bad_one(guilty, bad)
    assert isinstance(drive(CONFIG, guilty.run, [Arrival(0, bad)])[0].error, NonFinite)


def test_a_row_that_raises_is_found_by_halving_and_fails_alone(guilty: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    embed = guilty.model.embed

    def raising(step: StepInputs) -> Tensor:
        if bool((step.ids == BAD_TOKEN).any()):
            raise RuntimeError("provoked")
        return embed(step)

    monkeypatch.setattr(guilty.model, "embed", raising)
    bad = Score((1, BAD_TOKEN, 3))
    _with_bad_one(guilty, bad)
    error = drive(CONFIG, guilty.run, [Arrival(0, bad)])[0].error
    assert isinstance(error, RowFailed)
    assert "RuntimeError: provoked" in str(error)


def test_freed_blocks_are_poisoned_where_asked(guilty: Runner) -> None:
    """In the middle of the work something is written; after it nothing finite is left."""
    written = []

    def watched(batch: Batch) -> list[RowOutput]:
        outputs = guilty.run(batch)
        written.append(int(guilty._keys[0].isfinite().sum()))
        return outputs

    drive(CONFIG, watched, [Arrival(0, Score((1, 3, 4) * 20))])
    assert written[0] > 0
    assert not any(bool(pool.isfinite().any()) for pool in (*guilty._keys, *guilty._values))


def test_without_poison_the_bits_are_the_same(checkpoint: Path, kernels: Kernels, runner: Runner) -> None:
    clean = dataclasses.replace(CONFIG, poison_free_blocks=False)
    other = Runner(model(checkpoint, kernels), clean)
    arrivals = [Arrival(i, request) for i, request in enumerate(GOOD)]
    plain, poisoned = drive(clean, other.run, arrivals), drive(CONFIG, runner.run, arrivals)
    assert [bits(plain[i]) for i in range(len(GOOD))] == [bits(poisoned[i]) for i in range(len(GOOD))]
