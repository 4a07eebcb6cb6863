"""Folders in the layout of published DNA models give the numbers of `transformers`, on every kernel set: logits, scores, tokens."""

from __future__ import annotations

import dataclasses
import functools
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.config import Kernels, Precision
from engine.model import Model
from engine.request import Generate, GenerateResult, Score, ScoreResult
from engine.runner import Runner
from kernels.plan import Span
from tests.engine import published
from tests.engine.conftest import CONFIG, model
from tests.engine.driving import LIMITS, Arrival, drive

TOLERANCE = 1e-4  # of a logit, float32
BF16 = 0.05  # of a logit, root mean square over the standard deviation: four layers with weights and activations of eight bits
PROMPT, LENGTH = 30, 200
SETS: tuple[Kernels, ...] = ("reference", "numba", "native")


@dataclass(frozen=True)
class Expected:
    """What `transformers` says of a folder: logits of a text and of a greedy continuation."""

    folder: Path
    tokens: tuple[int, ...]
    logits: Tensor  # [len(tokens), V]
    greedy: tuple[int, ...]
    margin: float  # smallest distance between the two best logits in the continuation


@pytest.fixture(scope="session", params=published.ALL)
def expected(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Expected:
    transformers = pytest.importorskip("transformers", reason="transformers is a development dependency")
    one = published.ALL[request.param]
    folder = one.write(tmp_path_factory.mktemp("published"))
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    tokens = tuple(random.Random(one.seed).choices(range(one.shape.vocabulary), k=210))
    with torch.inference_mode():
        text = theirs(torch.tensor([tokens])).logits[0]
        greedy, best = continued(theirs, tokens[:PROMPT])
    return Expected(folder, tokens, text, greedy, float((best[:, 0] - best[:, 1]).min()))


def continued(theirs: Any, prompt: tuple[int, ...]) -> tuple[tuple[int, ...], Tensor]:
    """The greedy continuation, over their cache, and the two best logits of each step."""
    step, steps = theirs(torch.tensor([prompt])), []
    for _ in range(LENGTH):
        steps.append(step.logits[0, -1].topk(2))
        step = theirs(steps[-1].indices[None, :1], cache=step.past_key_values)
    return tuple(int(best.indices[0]) for best in steps), torch.stack([best.values for best in steps])


@functools.cache
def runner_of(folder: Path, kernels: Kernels, precision: Precision) -> Runner:
    return Runner(model(folder, kernels, precision), CONFIG)


def driven(expected: Expected, kernels: Kernels) -> tuple[Tensor, tuple[int, ...]]:
    """Scores of the text and the greedy continuation, in one batch with others, in chunks of 48."""
    runner = runner_of(expected.folder, kernels, "fp32")
    c = runner.model.config
    requests = [
        Generate(expected.tokens[:PROMPT], limit=LENGTH),
        Score(expected.tokens),
        Score(expected.tokens[50:130]),
        Generate(expected.tokens[7:60], limit=5),
    ]
    config = dataclasses.replace(CONFIG, chunk=48, token_budget=112)
    limits = dataclasses.replace(LIMITS, vocabulary=c.vocabulary, context=c.context, window=c.window)
    outcomes = drive(config, runner.run, [Arrival(place, request, step=place) for place, request in enumerate(requests)], limits)
    generated, scored = outcomes[0].result, outcomes[1].result
    assert isinstance(generated, GenerateResult)
    assert isinstance(scored, ScoreResult)
    return torch.tensor(scored.logprobs), generated.tokens


def logits(ours: Model, tokens: tuple[int, ...]) -> Tensor:
    """All logits of a text in one pass: `[T, V]`."""
    count, size, heads = len(tokens), CONFIG.block_size, ours.config.kv_heads
    places = torch.arange(count)
    slots = (places[:, None] // size * heads + torch.arange(heads)) * size + places[:, None] % size
    blocks = tuple(range(-(-count // size)))
    with torch.inference_mode():
        step = ours.inputs(torch.tensor(tokens), places, slots.reshape(-1), ours.plan([Span(0, 0, count, blocks)]))
        hidden = ours.embed(step)
        for layer in range(ours.layers):
            hidden = ours.layer(layer, hidden, step, *ours.kernels.pools(len(blocks)))
        return ours.head(hidden)


def test_the_checkpoints_can_show_a_difference(expected: Expected) -> None:
    """Logits that vary, and no step at which an error within the tolerance could turn the choice."""
    assert expected.logits.std() >= 1.0
    assert expected.margin > 2 * TOLERANCE
    assert len(set(expected.greedy)) >= 4


@pytest.mark.parametrize("kernels", SETS)
def test_logits_are_those_of_transformers(expected: Expected, kernels: Kernels) -> None:
    found = logits(runner_of(expected.folder, kernels, "fp32").model, expected.tokens)
    assert (found - expected.logits).abs().max() < TOLERANCE


@pytest.mark.parametrize("kernels", SETS)
def test_scores_and_two_hundred_greedy_tokens_are_those_of_transformers(expected: Expected, kernels: Kernels) -> None:
    scores, generated = driven(expected, kernels)
    assert generated == expected.greedy
    theirs = expected.logits.log_softmax(-1)[:-1].gather(1, torch.tensor(expected.tokens[1:])[:, None])[:, 0]
    assert (scores - theirs).abs().max() < TOLERANCE


@pytest.mark.parametrize("kernels", SETS)
def test_logits_in_bf16_stay_near_those_of_transformers_in_float32(expected: Expected, kernels: Kernels) -> None:
    difference = logits(runner_of(expected.folder, kernels, "bf16").model, expected.tokens) - expected.logits
    assert 0.0 < difference.square().mean().sqrt() / expected.logits.std() < BF16
