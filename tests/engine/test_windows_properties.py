"""What holds for any change, contig, window and kind of tokens; the model is a stand-in that depends on every earlier token."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.errors import UnsupportedAllele
from engine.protocols import EQUAL, Protocol, Strand, Variant, VariantPlan
from engine.request import PRIVATE, Score
from engine.tokenizers.interface import Tokenizer
from engine.windows import combine, plan_variant
from tests.engine.alphabets import BARE, KINDS, TAGGED
from tests.engine.test_windows import fetch_from, model, scored
from tests.engine.test_windows_company import variants
from tests.engine.windows_by_hand import Desk, mutated, plan, read

ALL = {**KINDS, **{f"bare {kind}": tokenizer for kind, tokenizer in BARE.items()}, "tagged": TAGGED}
BASES = st.sampled_from("ACGT")
Change = tuple[int, str, str]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Tokenizer, Protocol, str, Change]:
    """A change anywhere on a contig, ends included, that the protocol takes."""
    tokenizer = ALL[draw(st.sampled_from(sorted(ALL)))]
    contig = draw(st.text(BASES, min_size=12, max_size=90))
    length = draw(st.integers(1, 6))
    position = draw(st.integers(1, len(contig) - length + 1))
    alt = draw(st.text(BASES, min_size=1, max_size=6))
    strand: Strand = draw(st.sampled_from(["forward", "reverse", "average"]))
    window = draw(st.integers(12, 40))
    grid = draw(st.none() | st.integers(1, 6))
    protocol = Protocol("grid-centred" if grid else "centred", window, strand, grid)
    return tokenizer, protocol, contig, (position, contig[position - 1 : position - 1 + length], alt)


def planned(case: tuple[Tokenizer, Protocol, str, Change]) -> VariantPlan:
    try:
        return plan(*case)
    except UnsupportedAllele as refusal:
        said = str(refusal)
    assert any(words in said for words in ("no whole tokens", "first tokens of the windows", "a single token"))
    assume(False)
    raise AssertionError


@settings(deadline=None, max_examples=300)
@given(cases())
def test_windows_are_whole_tokens_of_equally_many_bases_around_the_change(case: tuple[Tokenizer, Protocol, str, Change]) -> None:
    tokenizer, protocol, contig, (position, ref, alt) = case
    found = planned(case)
    assert found.offset is not None
    assert found.window % (tokenizer.width or 1) == 0 < found.window <= protocol.window
    start = position - 1 - found.offset
    windows = [text[start : start + found.window] for text in (contig, mutated(contig, position, ref, alt))]
    assert {len(window) for window in windows} == {found.window}
    for place, request in enumerate(found.requests):
        reverse = protocol.strand == "reverse" or place >= 2
        assert isinstance(request, Score)
        encoded = tokenizer.encode(read(windows[place % 2], reverse=reverse))
        assert request.scored == (*tokenizer.before, *encoded.ids)
        assert (encoded.trimmed, encoded.padded) == (0, 0)


@settings(deadline=None, max_examples=300)
@given(cases())
def test_delta_is_the_exact_difference_of_independent_scores(case: tuple[Tokenizer, Protocol, str, Change]) -> None:
    found = planned(case)
    skip, strands = max(0, len(case[0].before) - 1), found.strands
    sides = [[model(Score(one.scored, PRIVATE)).logprobs[skip:] for one in found.requests[side::2]] for side in (0, 1)]  # type: ignore[union-attr]
    ref, alt = ([value for part in side for value in part] for side in sides)
    score = scored(found)
    assert (score.ll_ref, score.ll_alt) == (math.fsum(ref) / strands, math.fsum(alt) / strands)
    assert score.delta == math.fsum([*alt, *(-value for value in ref)]) / strands
    assert (score.tokens, score.alt_tokens) == (len(sides[0][0]), len(sides[1][0]))


@settings(deadline=None, max_examples=200)
@given(cases())
def test_ref_for_ref_is_exactly_zero(case: tuple[Tokenizer, Protocol, str, Change]) -> None:
    tokenizer, protocol, contig, (position, ref, _) = case
    found = planned((tokenizer, protocol, contig, (position, ref, ref)))
    assert (scored(found).delta, EQUAL in found.flags) == (0.0, True)


@settings(deadline=None, max_examples=300)
@given(cases())
def test_swapping_the_alleles_flips_the_sign_bit_for_bit(case: tuple[Tokenizer, Protocol, str, Change]) -> None:
    tokenizer, protocol, contig, (position, ref, alt) = case
    there = planned(case)
    back = planned((tokenizer, protocol, mutated(contig, position, ref, alt), (position, alt, ref)))
    one, other = scored(there), scored(back)
    assert (one.delta, one.ll_ref, one.ll_alt) == (-other.delta, other.ll_alt, other.ll_ref)
    assert (one.tokens, one.ref_per_token) == (other.alt_tokens, other.alt_per_token)
    assert (there.flags, there.trimmed, there.offset) == (back.flags, back.trimmed, back.offset)


@pytest.mark.parametrize("kind", ["k-mer", "byte pairs"])
def test_five_hundred_variants_have_the_same_bits_alone_and_shuffled_into_other_orders(desk: Desk, kind: str) -> None:
    contig = "".join(random.Random(18).choices("ACGT", k=40_000))
    order = [variant for variant in variants(contig) if variant.end is None] + _neighbours(contig)
    protocol, fetch = Protocol("grid-centred", 48, grid=12), fetch_from(contig)
    plans = [plan_variant(protocol, variant, fetch, KINDS[kind]) for variant in order[:500]]
    results = desk.together(request for one in random.Random(19).sample(plans, 500) for request in one.requests)
    again = desk.together(request for one in random.Random(20).sample(plans, 500) for request in one.requests)
    assert len(plans) == 500
    for one in plans:
        assert combine(one, [results[r] for r in one.requests]) == combine(one, [again[r] for r in one.requests])  # type: ignore[misc]
    for one in plans[::25]:
        alone = {request: desk.together([replace(_whole(request), sharing=PRIVATE)]) for request in one.requests}
        expected = combine(one, [next(iter(alone[request].values())) for request in one.requests])  # type: ignore[misc]
        assert combine(one, [results[request] for request in one.requests]) == expected  # type: ignore[misc]


def _whole(request: object) -> Score:
    assert isinstance(request, Score)
    return Score(request.scored)


def _neighbours(contig: str) -> list[Variant]:
    """Single bases in a row."""
    places = range(30_000, 30_200)
    return [Variant(len(contig), at + 1, contig[at], "ACGT"["ACGT".index(contig[at]) - 1]) for at in places]
