"""Sums of log-probabilities are exact and rounded once: tokens that are all but certain count beside those that are not."""

from __future__ import annotations

import random
from array import array
from fractions import Fraction

import pytest

from engine.protocols import Protocol
from engine.request import Score, ScoreResult
from engine.windows import combine, combine_sequence, plan_sequence
from tests.engine.test_windows import TOKENIZER, plan

CONTIG = "".join(random.Random(6).choices("ACGT", k=900))


def logprobs(request: Score, seed: int) -> ScoreResult:
    """Float32 numbers as a model gives them: some near 0, where they lie close together, others far from it."""
    draw = random.Random(seed)
    values = [draw.choice((-draw.uniform(1, 2) * 2.0**-23, -draw.uniform(0, 9))) for _ in request.scored[1:]]
    return ScoreResult(array("f", values))


def exact(values: list[float]) -> float:
    return float(sum(map(Fraction, values)))


def one_by_one(values: list[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("alt", ["A", "C", "G", "T"])
def test_a_variant_has_exact_sums_and_an_exact_difference(seed: int, alt: str) -> None:
    ref = CONTIG[449]
    if ref == alt:
        alt = ref + "GT"
    found = plan(CONTIG, 450, ref, alt, Protocol("centred", 800))
    results = [logprobs(request, 10 * seed + place) for place, request in enumerate(found.requests)]
    refs, alts = (list(result.logprobs) for result in results)
    score = combine(found, results)
    assert (score.ll_ref, score.ll_alt) == (exact(refs), exact(alts))
    assert score.delta == exact([*alts, *(-value for value in refs)])
    assert (score.ref_per_token, score.alt_per_token) == (exact(refs) / len(refs), exact(alts) / len(alts))


@pytest.mark.parametrize("seed", range(5))
def test_a_sequence_has_an_exact_sum(seed: int) -> None:
    found = plan_sequence(CONTIG, TOKENIZER, context=2000)
    results = [logprobs(request, seed) for request in found.requests]
    assert combine_sequence(found, results).total == exact(list(results[0].logprobs))


def test_control_added_one_by_one_they_would_be_seen_to_drift() -> None:
    found = plan_sequence(CONTIG, TOKENIZER, context=2000)
    values = [list(logprobs(found.requests[0], seed).logprobs) for seed in range(5)]
    assert any(one_by_one(one) != exact(one) for one in values)
