"""Several tokens weighed as one: the sum of their probabilities, with the same bits in any company."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random

import pytest
import torch

from engine import choices
from engine.batch import Batch
from engine.errors import InvalidRequest
from engine.request import REFERENCE, Choice, NextToken, NextTokenResult, Request, Score, ScoreResult
from engine.runner import Runner
from kernels import reference
from tests.engine.conftest import CONFIG
from tests.engine.driving import LABORATORY, Arrival, alone, bits, drive, mixed_requests

GROUPS: tuple[Choice, ...] = ((3, 4, 5), 6, (7,), (0, 1, 2, 3, 8, 9, 10), (5, 4, 3))
WINDOW = tuple(random.Random(3).choices(range(11), k=90))
ASKED: list[Request] = [
    Score(WINDOW, REFERENCE, alternatives=GROUPS, alternatives_from=40),
    Score(WINDOW[:50], LABORATORY, alternatives=(tuple(range(11)), (2, 9)), alternatives_from=3),
    NextToken(WINDOW, GROUPS, REFERENCE),
    NextToken(WINDOW[:33], ((1, 2), (3, 4)), REFERENCE),
]


def log_p(logits: torch.Tensor, ids: tuple[int, ...]) -> list[float]:
    maximum, log_total = (part.numpy() for part in reference.normalisers(logits))
    return choices.log_p(logits, maximum, log_total, ids).tolist()


def answer(run: object, request: Request) -> tuple[float, ...]:
    result = alone(CONFIG, run, request).result  # type: ignore[arg-type]
    assert isinstance(result, ScoreResult | NextTokenResult)
    return tuple(result.alternatives if isinstance(result, ScoreResult) else result.logprobs)


def test_a_choice_has_the_sum_of_the_probabilities_of_its_ids() -> None:
    logits = torch.randn(7, 500, generator=torch.Generator().manual_seed(1)) * 6
    ids = tuple(random.Random(1).sample(range(500), 77))
    expected = torch.log_softmax(logits.to(torch.float64), -1)[:, list(ids)].logsumexp(-1)
    assert log_p(logits, ids) == pytest.approx(expected.tolist(), abs=2e-6)


def test_a_choice_that_is_all_but_impossible_still_has_a_probability() -> None:
    """exp(-200) is nothing beside 1 in float32, and the ratio of two such alleles is asked for."""
    logits = torch.tensor([[0.0, -200.0, -201.0, -300.0]])
    assert log_p(logits, (1, 2)) == pytest.approx([-200 + math.log(1 + math.exp(-1))], abs=1e-5)


def test_the_whole_vocabulary_is_certain(runner: Runner) -> None:
    (value,) = answer(runner.run, NextToken(WINDOW, (tuple(range(11)),)))
    assert abs(value) <= 2e-7


def test_one_id_alone_in_a_choice_has_the_bits_of_the_id(runner: Runner) -> None:
    both = answer(runner.run, NextToken(WINDOW, (4, (4,))))
    assert both[0] == both[1]


@pytest.mark.parametrize("request_", ASKED, ids=["scan", "laboratory", "next", "short"])
def test_choices_are_the_sums_of_what_their_ids_give(runner: Runner, request_: Score | NextToken) -> None:
    every = tuple(range(11))
    each = {"alternatives": every} if isinstance(request_, Score) else {"wanted": every}
    asked = request_.alternatives if isinstance(request_, Score) else request_.wanted
    singles = _rows(answer(runner.run, dataclasses.replace(request_, **each)), 11)
    rows = _rows(answer(runner.run, request_), len(asked))
    assert len(rows) == len(singles) > 0
    for row, single in zip(rows, singles, strict=True):
        ids = [choice if isinstance(choice, tuple) else (choice,) for choice in asked]
        sums = [math.log(math.fsum(math.exp(single[number]) for number in some)) for some in ids]
        assert row == pytest.approx(sums, abs=2e-6)


def _rows(values: tuple[float, ...], size: int) -> list[tuple[float, ...]]:
    return [values[start : start + size] for start in range(0, len(values), size)]


@pytest.mark.parametrize("seed", range(6))
def test_a_choice_has_the_same_bits_in_any_company_and_chunks(runner: Runner, seed: int) -> None:
    generator = random.Random(seed)
    mix = generator.sample(mixed_requests(), 12) + ASKED + ASKED[:1]
    generator.shuffle(mix)
    config = dataclasses.replace(CONFIG, chunk=generator.choice((16, 32, 64)), token_budget=generator.choice((64, 128, 256)))
    outcomes = drive(config, runner.run, [Arrival(i, one, step=generator.randrange(6)) for i, one in enumerate(mix)])
    for place, request in enumerate(mix):
        if request in ASKED:
            assert bits(outcomes[place]) == bits(alone(CONFIG, runner.run, request))


def test_more_choices_than_the_vocabulary_has_ids(runner: Runner) -> None:
    pairs = tuple(itertools.combinations(range(11), 2))
    values = answer(runner.run, NextToken(WINDOW, pairs))
    assert math.fsum(map(math.exp, values)) == pytest.approx(10.0, abs=1e-5)  # every id stands in ten pairs


@pytest.mark.parametrize(
    ("choice", "words"), [((), "at least one"), ((3, 4, 3), "differ"), ((3, 11), "between 0 and 10"), ((3, -1), "between 0 and 10")]
)
@pytest.mark.parametrize("kind", ["score", "next"])
def test_a_choice_that_is_none_is_refused(choice: tuple[int, ...], words: str, kind: str) -> None:
    request = Score(WINDOW, alternatives=(3, choice)) if kind == "score" else NextToken(WINDOW, (3, choice))

    def nothing(batch: Batch) -> list[object]:
        assert not batch.rows
        return []

    error = drive(CONFIG, nothing, [Arrival(0, request)])[0].error  # type: ignore[arg-type]
    assert isinstance(error, InvalidRequest)
    assert words in str(error)
