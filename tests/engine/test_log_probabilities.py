"""Log-probabilities are float32 whatever the weights are: in bf16 each would lose about a thousandth, and a sum would add it up."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest
import torch

from engine.config import Kernels, Precision
from engine.request import NextToken
from engine.runner import Runner
from tests.engine.conftest import CONFIG, model
from tests.engine.driving import Arrival, drive

CERTAIN = 2e-6  # how far the probabilities of all tokens may be from 1 together: a few units of float32


def next_tokens(folder: Path, kernels: Kernels, precision: Precision) -> list[tuple[float, ...]]:
    """Log-probabilities of the whole vocabulary after forty different beginnings."""
    prompts = [NextToken(tuple((step * place + step) % 11 for place in range(1 + step))) for step in range(1, 41)]
    runner = Runner(model(folder, kernels, precision), CONFIG)
    outcomes = drive(dataclasses.replace(CONFIG, blocks=160), runner.run, [Arrival(*pair) for pair in enumerate(prompts)])
    return [tuple(outcomes[place].result.logprobs) for place in range(len(prompts))]


def uncertainty(logprobs: tuple[float, ...]) -> float:
    return abs(math.fsum(map(math.exp, logprobs)) - 1.0)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("kernels", ["native", "numba", "reference"])
def test_a_log_probability_loses_nothing_to_the_precision_of_the_weights(
    checkpoint: Path, kernels: Kernels, precision: Precision
) -> None:
    found = next_tokens(checkpoint, kernels, precision)
    assert max(map(uncertainty, found)) < CERTAIN
    rounded = [tuple(torch.tensor(one).bfloat16().tolist()) for one in found]  # the control: it would be seen
    assert min(map(uncertainty, rounded)) > CERTAIN
