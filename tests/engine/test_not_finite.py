"""Numbers that are not finite fail the request in which they arise, also where nothing is read from them, and reach nobody else."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from engine.config import Kernels
from engine.errors import NonFinite
from engine.request import REFERENCE, Embed, NextToken, Priority, Request, Score
from engine.runner import Runner
from tests.engine.conftest import CONFIG, model
from tests.engine.driving import Arrival, drive, scheduler

BAD_TOKEN = 10
NARROW = dataclasses.replace(CONFIG, chunk=16, token_budget=16)


@pytest.fixture
def guilty(checkpoint: Path, kernels: Kernels) -> Runner:
    """A runner in whose model one token has no finite state."""
    runner = Runner(model(checkpoint, kernels), CONFIG)
    runner.model._embedding[BAD_TOKEN] = float("nan")
    return runner


@pytest.mark.parametrize("bad", [Embed((1, BAD_TOKEN, 3)), Embed((1, BAD_TOKEN, 3), "last"), NextToken((1, BAD_TOKEN, 3))])
def test_whatever_is_asked_of_it_fails(guilty: Runner, bad: Request) -> None:
    outcomes = drive(CONFIG, guilty.run, [Arrival(0, Score((1, 3, 4))), Arrival(1, bad)])
    assert outcomes[0].state == "finished"
    assert isinstance(outcomes[1].error, NonFinite)


def test_a_passing_fault_in_a_prompt_is_not_left_to_who_comes_later(guilty: Runner) -> None:
    """The chunk from which nothing is read would be found by every later request with the same beginning."""
    policy, sound = scheduler(NARROW), guilty.model._embedding[1].clone()
    prompt = NextToken((BAD_TOKEN, *[1, 3, 4, 5] * 12), sharing=REFERENCE)
    states = []
    for handle in range(2):
        policy.add(handle, prompt, Priority.ROUTINE, 0.0)
        while policy.has_work:
            batch = policy.schedule(0.0)
            outcomes = policy.postprocess(batch, guilty.run(batch))
            guilty.model._embedding[BAD_TOKEN] = sound
            states += [(outcome.state, outcome.reused) for outcome in outcomes]
    assert states == [("failed", 0), ("finished", 0)]
