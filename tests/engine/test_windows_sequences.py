"""Sequences longer than the model reads at once: every base counted once, in a context of one to two windows."""

from __future__ import annotations

import math
import random

import pytest

from engine.errors import ContextTooLong, InvalidRequest
from engine.protocols import AMBIGUOUS, TRIMMED, UNKNOWN, UNSCORED, SequencePlan, SequenceScore
from engine.request import PRIVATE, ScoreResult, Sharing
from engine.windows import combine_sequence, plan_sequence
from tests.engine.alphabets import BARE, KINDS, KMERS, TAGGED
from tests.engine.exact_model import MarkovChain
from tests.engine.test_windows import TOKENIZER
from tests.engine.windows_by_hand import Desk

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


WORDS = "".join(random.Random(21).choices("ACGT", k=120))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [118, 119, 120])
def test_sum_and_means_are_those_of_the_tokens_that_hold_the_bases(desk: Desk, kind: str, length: int) -> None:
    """Bases that fill no k-mer are left out at the beginning and said; padding never enters a score."""
    tokenizer, sequence = KINDS[kind], WORDS[:length]
    over = length % 3 if tokenizer.width == 3 else 0
    score = read(desk, plan_sequence(sequence, tokenizer, context=512))
    values = desk.whole(tokenizer, sequence[over:])
    assert (score.total, score.tokens, score.bases) == (math.fsum(values), len(values), length - over)
    assert (score.mean, score.per_token) == (score.total / (length - over), score.total / len(values))
    assert (score.trimmed, score.flags) == (over, (TRIMMED,) if over else ())


@pytest.mark.parametrize("kind", [*KINDS, "bare", "tagged"])
def test_long_inputs_are_cut_between_tokens_and_each_token_counts_once(desk: Desk, kind: str) -> None:
    """Every token after the first window stands behind one to two windows of tokens."""
    tokenizer = {**KINDS, "bare": BARE["k-mer"], "tagged": TAGGED}[kind]
    ids, before = tokenizer.encode(WORDS).ids, tokenizer.before
    score = read(desk, plan_sequence(WORDS, tokenizer, context=20, window=8))
    expected = []
    for place, token in enumerate(ids):
        context = (*before, *ids[max(0, place // 8 - 1) * 8 : place])
        expected += [desk.distribution(context)[token]] if context else []
    assert score.total == pytest.approx(math.fsum(expected), abs=1e-4)
    assert (score.tokens, score.window) == (len(expected), 8)
    assert score.bases == 120 - (0 if before else 3)


def test_what_a_tokenizer_cannot_read_is_told_with_the_score(desk: Desk) -> None:
    found = plan_sequence("A" + WORDS[:5] + "N" + WORDS[6:12], KMERS, context=40)
    assert (found.trimmed, found.unknown) == (1, (4, 5, 6))
    assert found.flags == (AMBIGUOUS, TRIMMED, UNKNOWN)
    assert plan_sequence(WORDS[:6], BARE["k-mer"], context=40).flags == (UNSCORED,)


def test_a_context_holds_what_stands_before_a_sequence_too() -> None:
    """A score of n ids takes n - 1 positions."""
    assert plan_sequence(WORDS[:27], TAGGED, context=10).window is None
    with pytest.raises(ContextTooLong, match="needs 10 positions and the model has 9"):
        plan_sequence(WORDS[:27], TAGGED, context=9)
    with pytest.raises(InvalidRequest, match="between 1 and 4 tokens"):
        plan_sequence(WORDS[:27], TAGGED, context=9, window=5)


@pytest.mark.parametrize(("sequence", "kind"), [("AC", "k-mer"), ("AC", "hybrid"), ("ACG", "bare")])
def test_a_sequence_of_which_no_token_is_scored_is_refused(sequence: str, kind: str) -> None:
    with pytest.raises(InvalidRequest, match="scores none"):
        plan_sequence(sequence, {**KINDS, "bare": BARE["k-mer"]}[kind], context=40)


def read(desk: Desk, plan: SequencePlan) -> SequenceScore:
    found = desk.together(plan.requests)
    return combine_sequence(plan, [found[request] for request in plan.requests])  # type: ignore[misc]


def test_results_of_another_plan_are_refused() -> None:
    plan = plan_sequence("A" * 41, TOKENIZER, context=40, window=20)
    with pytest.raises(InvalidRequest):
        combine_sequence(plan, [ScoreResult((math.log(0.5),))])
