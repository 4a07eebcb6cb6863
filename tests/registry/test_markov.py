"""The Markov baseline: counts of the whole reference, smoothed order by order, and a Δ that is a difference of whole scores."""

import itertools
import math
import random

import numpy as np
import pytest

from registry import markov

BASES = "".join(random.Random(5).choices("ACGT", weights=[4, 1, 2, 3], k=3000))


def chain(bases: str = BASES, order: int = 2) -> markov.Tables:
    counting = markov.Counting(order)
    counting.feed(bases.encode())
    return markov.fitted(counting.counts)


def fetch(start: int, end: int) -> str:
    return BASES[start:end]


def whole(found: markov.Tables, bases: str) -> float:
    """The definition, read off the tables base by base."""
    total = 0.0
    for place, base in enumerate(bases):
        context = bases[max(place - len(found) + 1, 0) : place]
        total += found[len(context)][int("0" + "".join(str("ACGT".index(b)) for b in context), 4), "ACGT".index(base)]
    return total


@pytest.mark.parametrize("order", [0, 1, 3, 5, 8])
def test_probabilities_of_every_context_sum_to_one(order: int) -> None:
    for table in chain(order=order):
        assert np.exp(table).sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("order", [0, 1, 2, 4])
@pytest.mark.parametrize(("ref_length", "alt"), [(1, "A"), (1, "GT"), (3, "C"), (2, "TTTT")])
def test_delta_is_the_difference_of_two_whole_scores(order: int, ref_length: int, alt: str) -> None:
    found, at = chain(order=order), 1500
    ref = BASES[at : at + ref_length]
    changed = BASES[:at] + alt + BASES[at + ref_length :]
    expected = whole(found, changed) - whole(found, BASES)
    assert markov.delta(found, fetch, at + 1, ref, alt) == pytest.approx(expected, abs=1e-9)


def test_the_reference_against_itself_is_exactly_nothing() -> None:
    assert markov.delta(chain(), fetch, 700, BASES[699:702], BASES[699:702]) == 0.0


def test_swapping_alleles_flips_the_sign() -> None:
    there = markov.delta(chain(), fetch, 700, BASES[699], "G")
    swapped = BASES[:699] + "G" + BASES[700:]
    assert markov.delta(chain(), lambda s, e: swapped[s:e], 700, "G", BASES[699]) == -there


def test_counts_do_not_depend_on_the_pieces_and_never_cross_contigs() -> None:
    whole_count, pieces = markov.Counting(3), markov.Counting(3)
    whole_count.feed(BASES.encode())
    for at in range(0, len(BASES), 7):
        pieces.feed(BASES[at : at + 7].lower().encode())
    assert (whole_count.counts == pieces.counts).all()
    assert whole_count.counts.sum() == len(BASES) - 3
    apart = markov.Counting(3)
    for half in (BASES[:1500], BASES[1500:]):
        apart.feed(half.encode())
        apart.end()
    assert apart.counts.sum() == len(BASES) - 6


def test_runs_with_an_unknown_base_are_not_counted_and_it_scores_nothing() -> None:
    counting = markov.Counting(1)
    counting.feed(b"ACNGT")
    assert counting.counts.sum() == 2
    found = chain(order=1)
    assert markov.delta(found, lambda s, e: "ANCG"[s:e], 3, "C", "T") == pytest.approx(
        found[0][0, 3] + found[1][3, 2] - found[0][0, 1] - found[1][1, 2]
    )


def test_contexts_that_were_never_seen_have_the_probability_of_the_shorter_ones() -> None:
    found = chain("A" * 50 + "C", order=1)
    assert found[1][2] == pytest.approx(found[0][0])
    assert math.exp(found[0][0, 0]) == pytest.approx((50 + 2.5 - 0) / (50 + 10), abs=0.02)


def test_the_ends_of_a_contig_have_fewer_neighbours() -> None:
    for position, alt in itertools.product((1, len(BASES)), "ACGT"):
        assert math.isfinite(markov.delta(chain(order=5), fetch, position, BASES[position - 1], alt))
