"""Variant scoring: pure windows, equal lengths, exact differences."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.errors import (
    ContextTooLong,
    InvalidRequest,
    OutsideContig,
    ReferenceMismatch,
    UnknownSymbol,
    UnsupportedAllele,
)
from engine.protocols import AMBIGUOUS, CUT_LEFT, CUT_RIGHT, UNKNOWN, Protocol, Variant, VariantPlan, VariantScore
from engine.request import PRIVATE, REFERENCE, Score, ScoreResult, Sharing
from engine.tokenizers.vocab_json import from_symbols
from engine.windows import combine, combine_sequence, plan_sequence, plan_variant, reverse_complement
from tests.engine.checkpoints import SYMBOLS

TOKENIZER = from_symbols(SYMBOLS)
BASES = st.sampled_from("ACGT")
SHORT = Protocol(window=24)
STRANDS = st.sampled_from(["forward", "reverse", "average"])


def fetch_from(contig: str) -> Callable[[int, int], str]:
    def fetch(start: int, end: int) -> str:
        assert 0 <= start <= end <= len(contig)
        return contig[start:end]

    return fetch


def plan(contig: str, position: int, ref: str, alt: str, protocol: Protocol = SHORT) -> VariantPlan:
    return plan_variant(protocol, Variant(len(contig), position, ref, alt), fetch_from(contig), TOKENIZER)


def model(request: Score) -> ScoreResult:
    """Stands for a model: float32 numbers that depend on every earlier token."""
    digest, values = hashlib.sha256(), []
    for token in request.scored[1:]:
        digest.update(bytes([token]))
        values.append(struct.unpack("<f", struct.pack("<f", -int.from_bytes(digest.digest()[:4]) / 2**30))[0])
    return ScoreResult(tuple(values))


def scored(found: VariantPlan) -> VariantScore:
    return combine(found, [model(request) for request in found.requests])


def text(request: Score) -> str:
    assert request.tokens[:1] == TOKENIZER.before
    return TOKENIZER.decode(request.scored[1:])


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, int, str, str, Protocol]:
    """A contig, a variant anywhere on it (ends included) and a protocol."""
    contig = draw(st.text(BASES, min_size=12, max_size=90))
    ref_length = draw(st.integers(1, 6))
    position = draw(st.integers(1, len(contig) - ref_length + 1))
    alt = draw(st.text(BASES, min_size=1, max_size=6))
    return contig, position, contig[position - 1 : position - 1 + ref_length], alt, Protocol(window=24, strand=draw(STRANDS))


@settings(deadline=None)
@given(cases())
def test_windows_hold_the_alleles_and_have_equal_lengths(case: tuple[str, int, str, str, Protocol]) -> None:
    contig, position, ref, alt, protocol = case
    found = plan(*case)
    lengths = {len(request.scored) for request in found.requests}
    assert len(lengths) == 1
    assert lengths.pop() <= protocol.window + 1
    mutated = contig[: position - 1] + alt + contig[position - 1 + len(ref) :]
    forward = [text(request) for request in found.requests[:2]]
    ref_window, alt_window = forward if protocol.strand != "reverse" else map(reverse_complement, forward)
    assert ref_window in contig
    assert alt_window in mutated


@settings(deadline=None)
@given(cases())
def test_a_variant_that_changes_nothing_scores_zero(case: tuple[str, int, str, str, Protocol]) -> None:
    contig, position, ref, _, protocol = case
    found = plan(contig, position, ref, ref, protocol)
    assert found.requests[0] == found.requests[1]
    assert scored(found).delta == 0.0


@settings(deadline=None)
@given(cases())
def test_swapping_the_alleles_flips_the_sign(case: tuple[str, int, str, str, Protocol]) -> None:
    contig, position, ref, alt, protocol = case
    mutated = contig[: position - 1] + alt + contig[position - 1 + len(ref) :]
    there, back = scored(plan(*case)), scored(plan(mutated, position, alt, ref, protocol))
    assert (there.delta, there.ll_ref, there.ll_alt) == (-back.delta, back.ll_alt, back.ll_ref)
    assert there.flags == back.flags


@settings(deadline=None)
@given(cases())
def test_delta_is_the_exact_difference_of_two_independent_scores(case: tuple[str, int, str, str, Protocol]) -> None:
    assume(case[4].strand != "average")
    found = plan(*case)
    ref, alt = (model(request).logprobs for request in found.requests)
    score = scored(found)
    assert (score.ll_ref, score.ll_alt) == (math.fsum(ref), math.fsum(alt))
    assert score.delta == math.fsum([*alt, *(-value for value in ref)])
    assert score.delta == pytest.approx(score.ll_alt - score.ll_ref, abs=1e-12)


def test_both_strands_are_averaged_exactly() -> None:
    contig = "ACGTTGCAACGGTTACGATCGATCGGATCAAGT"
    forward, reverse, both = (
        scored(plan(contig, 15, "A", "C", Protocol("centred", 24, s))) for s in ("forward", "reverse", "average")
    )
    assert contig[14] == "A"
    assert both.ll_ref == pytest.approx((forward.ll_ref + reverse.ll_ref) / 2, abs=1e-12)
    assert both.delta == pytest.approx((forward.delta + reverse.delta) / 2, abs=1e-12)
    assert both.tokens == 24


@pytest.mark.parametrize(("ref", "alt"), [("A", "C"), ("A", "ACC"), ("AGG", "A"), ("AG", "TT")])
def test_the_variant_stands_at_the_middle(ref: str, alt: str) -> None:
    contig = "C" * 30 + "AGG" + "T" * 30
    found = plan(contig, 31, ref, alt)
    left = text(found.requests[0]).index("A")
    right = 24 - left - max(len(ref), len(alt))
    assert abs(left - right) <= 1
    assert found.flags == ()
    assert text(found.requests[1])[left:].startswith(alt)


def test_a_window_does_not_depend_on_case() -> None:
    contig = "ACGTTGCAACGGTTACGATCGATCGGATCAAGT"
    assert plan(contig, 15, "A", "C") == plan(contig.lower(), 15, "a", "c")


@pytest.mark.parametrize(("position", "flags"), [(2, (CUT_LEFT,)), (58, (CUT_RIGHT,)), (30, ())])
def test_a_window_that_the_contig_cuts_is_flagged(position: int, flags: tuple[str, ...]) -> None:
    assert plan("A" * 60, position, "A", "C").flags == flags


def test_ambiguous_and_unknown_bases_are_flagged() -> None:
    contig = "A" * 25 + "N" + "A" * 4 + "R" + "A" * 29
    assert plan(contig, 28, "A", "C").flags == (AMBIGUOUS, UNKNOWN)


@pytest.mark.parametrize("alt", ["", "<DEL>", "*", ".", "A" * 13, "N[chr1:5["])
def test_alleles_that_cannot_be_put_into_a_window_are_refused(alt: str) -> None:
    with pytest.raises(UnsupportedAllele):
        plan("A" * 60, 30, "A", alt)


def test_a_ref_that_the_reference_does_not_hold_is_refused() -> None:
    with pytest.raises(ReferenceMismatch):
        plan("A" * 60, 30, "C", "G")


@pytest.mark.parametrize(("position", "ref", "said"), [(0, "A", "POS is 0"), (61, "A", "POS is 61"), (60, "AA", "REF is 61")])
def test_a_place_that_the_contig_does_not_have_is_told_apart_from_a_wrong_ref(position: int, ref: str, said: str) -> None:
    with pytest.raises(OutsideContig, match=f"{said}, outside the contig of 60 bases"):
        plan("A" * 60, position, ref, "G")


def test_equal_windows_are_equal_requests() -> None:
    """Two alternates of one site share the reference window, so a caller computes it once."""
    contig = "ACGTTGCAACGGTTACGATCGATCGGATCAAGT"
    first, second = plan(contig, 15, "A", "C"), plan(contig, 15, "A", "G")
    assert len({*first.requests, *second.requests}) == 3


@settings(deadline=None)
@given(cases())
def test_an_alternate_branches_off_its_reference_window_at_the_first_changed_token(
    case: tuple[str, int, str, str, Protocol],
) -> None:
    requests = plan(*case).requests
    for ref, alt in zip(requests[0::2], requests[1::2], strict=True):
        assert (ref.branch, alt.tokens) == (None, ref.tokens)
        if alt.branch is not None:
            assert alt.branch.at >= 1
            assert alt.branch.tokens[0] != ref.tokens[alt.branch.at]
        assert len(alt.scored) == len(ref.tokens)


@pytest.mark.parametrize(("strand", "at"), [("forward", [11]), ("reverse", [12]), ("average", [11, 12])])
def test_on_the_reverse_strand_the_first_changed_token_is_found_there(strand: str, at: list[int]) -> None:
    """The eleventh and the thirteenth base change: read in reverse, the thirteenth of twenty-four is the twelfth."""
    contig = "A" * 10 + "CAGA" + "A" * 10
    found = plan(contig, 11, "CAGA", "TATA", Protocol(window=24, strand=strand)).requests[1::2]
    assert [request.branch.at for request in found if request.branch] == at


def test_alternates_of_one_site_hang_on_one_trunk() -> None:
    contig = "ACGTTGCAACGGTTACGATCGATCGGATCAAGT"
    found = [plan(contig, 15, "A", alt).requests[1] for alt in "CGT"]
    assert {request.tokens for request in found} == {plan(contig, 15, "A", "C").requests[0].tokens}
    assert len(set(found)) == 3


@pytest.mark.parametrize("sharing", [PRIVATE, REFERENCE, Sharing("laboratory", "salt")])
def test_every_request_of_a_plan_shares_what_the_caller_says(sharing: Sharing) -> None:
    contig = "ACGTTGCAACGGTTACGATCGATCGGATCAAGT"
    variant = Variant(len(contig), 15, "A", "C")
    found = plan_variant(SHORT, variant, fetch_from(contig), TOKENIZER, sharing=sharing)
    assert {request.sharing for request in found.requests} == {sharing}
    assert plan_variant(SHORT, variant, fetch_from(contig), TOKENIZER).requests[0].sharing == REFERENCE


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kind": "centered"}, "kind is one of"),
        ({"strand": "both"}, "strand is one of"),
        ({"window": 1}, "at least 2"),
        ({"window": "512"}, "at least 2"),
        ({"kind": "grid-centred"}, "needs a grid"),
        ({"grid": 8}, "no other protocol takes one"),
        ({"kind": "grid-centred", "window": 24, "grid": 13}, "between 1 and half"),
        ({"kind": "grid-centred", "grid": True}, "between 1 and half"),
    ],
)
def test_a_protocol_that_contradicts_itself_is_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        Protocol(**settings)


def test_variants_are_not_scored_by_region_scan() -> None:
    with pytest.raises(InvalidRequest, match="region-scan scores regions"):
        plan("A" * 60, 30, "A", "C", Protocol("region-scan", 24))


def test_results_of_another_plan_are_refused() -> None:
    with pytest.raises(InvalidRequest):
        combine(plan("A" * 60, 30, "A", "C"), [])


def test_a_plain_sequence_gives_sum_mean_and_unknown_places() -> None:
    found = plan_sequence("acgtXN", TOKENIZER, context=6)
    score = combine_sequence(found, [model(found.requests[0])])
    assert found.requests[0].tokens == (1, 3, 4, 5, 6, 7, 7)
    assert (score.bases, score.unknown, score.flags) == (6, (4,), (AMBIGUOUS, UNKNOWN))
    assert score.mean == score.total / 6


def test_a_sequence_longer_than_the_context_is_refused_with_words() -> None:
    with pytest.raises(ContextTooLong, match="score it in windows"):
        plan_sequence("A" * 7, TOKENIZER, context=6)


def test_an_empty_sequence_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        plan_sequence("", TOKENIZER, context=6)


def test_a_vocabulary_without_a_place_for_unknown_characters_refuses_them() -> None:
    with pytest.raises(UnknownSymbol, match="'N' at position 3"):
        from_symbols({"bos": 0, "A": 1, "C": 2}).encode("acn")
