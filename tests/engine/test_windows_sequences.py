"""Sequences longer than the model reads at once: every base counted once, in a context of one to two windows."""

from __future__ import annotations

import math
import random

import pytest

from engine.errors import ContextTooLong, InvalidRequest
from engine.request import PRIVATE, ScoreResult, Sharing
from engine.windows import combine_sequence, plan_sequence
from tests.engine.exact_model import MarkovChain
from tests.engine.test_windows import TOKENIZER

CHAIN = MarkovChain(3)


@pytest.mark.parametrize("length", [41, 60, 61, 79, 80, 81, 400])
def test_a_long_sequence_scores_as_if_it_were_read_whole(length: int) -> None:
    """With a model that looks three bases back, windows lose nothing."""
    sequence = "".join(random.Random(length).choices("ACGT", k=length))
    cut = plan_sequence(sequence, TOKENIZER, context=40, window=20)
    whole = plan_sequence(sequence, TOKENIZER, context=length)
    scores = [combine_sequence(plan, [CHAIN.score(request) for request in plan.requests]) for plan in (cut, whole)]
    assert len(cut.requests) > len(whole.requests) == 1
    assert max(len(request.tokens) for request in cut.requests) == 41
    assert (scores[0].total, scores[0].bases, scores[0].window) == (scores[1].total, length, 20)
    assert scores[1].window is None


def test_every_base_after_the_first_window_has_at_least_a_window_before_it() -> None:
    plan = plan_sequence("A" * 95, TOKENIZER, context=40, window=20)
    assert plan.passed == (0, 20, 20, 20)
    assert [len(request.tokens) - 1 for request in plan.requests] == [40, 40, 40, 35]


def test_a_sequence_that_fits_is_scored_whole_even_with_a_window() -> None:
    assert plan_sequence("ACGT" * 10, TOKENIZER, context=40, window=20) == plan_sequence("ACGT" * 10, TOKENIZER, context=40)


def test_without_a_window_or_with_too_long_a_one_it_is_refused() -> None:
    with pytest.raises(ContextTooLong):
        plan_sequence("A" * 41, TOKENIZER, context=40)
    with pytest.raises(InvalidRequest, match="between 1 and 20"):
        plan_sequence("A" * 41, TOKENIZER, context=40, window=21)


def test_a_sequence_is_private_unless_the_caller_says_otherwise() -> None:
    mine = Sharing("laboratory", "salt")
    assert plan_sequence("ACGT", TOKENIZER, context=40).requests[0].sharing == PRIVATE
    found = [plan_sequence("A" * length, TOKENIZER, context=40, window=20, sharing=mine) for length in (4, 90)]
    assert {request.sharing for plan in found for request in plan.requests} == {mine}


def test_results_of_another_plan_are_refused() -> None:
    plan = plan_sequence("A" * 41, TOKENIZER, context=40, window=20)
    with pytest.raises(InvalidRequest):
        combine_sequence(plan, [ScoreResult((math.log(0.5),))])
