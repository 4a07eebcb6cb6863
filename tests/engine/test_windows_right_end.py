"""Right-end: the probability of the allele after its left context, on a model whose every probability is known."""

from __future__ import annotations

import math
import random

import pytest

from engine.errors import ReferenceMismatch, UnequalAlleles, UnsupportedAllele
from engine.protocols import AMBIGUOUS, CUT_LEFT, CUT_RIGHT, Protocol, Variant, VariantPlan, VariantScore
from engine.request import REFERENCE, NextToken, Score
from engine.windows import combine, plan_variant, reverse_complement
from tests.engine.exact_model import MarkovChain
from tests.engine.test_windows import TOKENIZER, fetch_from

CONTIG = "".join(random.Random(8).choices("ACGT", k=300))
CHAIN = MarkovChain(4)
SHORT = Protocol("right-end", 24)


def plan(position: int, ref: str, alt: str, protocol: Protocol = SHORT, contig: str = CONTIG) -> VariantPlan:
    return plan_variant(protocol, Variant(len(contig), position, ref, alt), fetch_from(contig), TOKENIZER)


def score(found: VariantPlan) -> VariantScore:
    return combine(found, [CHAIN.answer(request) for request in found.requests])


def other(bases: str) -> str:
    """Different everywhere, and not the complement."""
    return bases.translate(str.maketrans("ACGT", "CGTA"))


def log_p(allele: str, context: str) -> float:
    """The definition, base by base."""
    tokens, total = (*TOKENIZER.before, *TOKENIZER.encode(context).ids), []
    for token in TOKENIZER.encode(allele).ids:
        total.append(CHAIN.after(tokens)[token])
        tokens = (*tokens, token)
    return math.fsum(total)


@pytest.mark.parametrize("length", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("strand", ["forward", "reverse"])
def test_delta_is_the_log_ratio_of_the_alleles_after_the_context(length: int, strand: str) -> None:
    at = 100
    ref = CONTIG[at : at + length]
    found = score(plan(at + 1, ref, other(ref), Protocol("right-end", 24, strand)))
    if strand == "forward":
        read = [ref, other(ref), CONTIG[at - (24 - length) : at]]
    else:
        read = [reverse_complement(bases) for bases in (ref, other(ref), CONTIG[at + length : at + 24])]
    assert found.ll_ref == pytest.approx(log_p(read[0], read[2]), abs=1e-12)
    assert found.ll_alt == pytest.approx(log_p(read[1], read[2]), abs=1e-12)
    assert found.delta == pytest.approx(log_p(read[1], read[2]) - log_p(read[0], read[2]), abs=1e-12)
    assert found.tokens == length


def test_both_strands_are_their_mean() -> None:
    forward, reverse, both = (
        score(plan(100, CONTIG[99], other(CONTIG[99]), Protocol("right-end", 24, strand)))
        for strand in ("forward", "reverse", "average")
    )
    assert both.delta == pytest.approx((forward.delta + reverse.delta) / 2, abs=1e-12)
    assert both.ll_ref == pytest.approx((forward.ll_ref + reverse.ll_ref) / 2, abs=1e-12)


def test_a_single_base_asks_one_distribution_for_both_alleles() -> None:
    (request,) = plan(100, CONTIG[99], other(CONTIG[99])).requests
    wanted = TOKENIZER.encode(CONTIG[99] + other(CONTIG[99])).ids
    assert request == NextToken((*TOKENIZER.before, *TOKENIZER.encode(CONTIG[99 - 23 : 99]).ids), wanted, REFERENCE)


def test_longer_alleles_are_chained_on_one_trunk() -> None:
    ref = CONTIG[99:102]
    found = plan(100, ref, other(ref))
    trunk, branch = found.requests
    assert isinstance(trunk, Score) and isinstance(branch, Score)
    assert (found.scored_as, branch.tokens, len(trunk.tokens)) == ("chained", trunk.tokens, 25)
    assert branch.branch is not None and branch.branch.at == 22


@pytest.mark.parametrize(("before", "after"), [(3, 0), (0, 4), (2, 5)])
def test_bases_that_both_alleles_share_do_not_count(before: int, after: int) -> None:
    """However a record is padded, it is the same change."""
    ref = CONTIG[120:122]
    left, right = CONTIG[120 - before : 120], CONTIG[122 : 122 + after]
    assert plan(121 - before, left + ref + right, left + other(ref) + right) == plan(121, ref, other(ref))


@pytest.mark.parametrize(("ref", "alt"), [(0, 1), (1, 0)])
def test_unequal_lengths_are_sent_to_centred_with_a_code(ref: int, alt: int) -> None:
    """A sum over more tokens is smaller for no better reason."""
    with pytest.raises(UnequalAlleles, match="score this one centred") as refused:
        plan(100, CONTIG[99 : 100 + ref], CONTIG[99] + "A" * alt)
    assert refused.value.code == "unequal_alleles"


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(UnsupportedAllele, match="are both"):
        plan(100, CONTIG[99], CONTIG[99])
    with pytest.raises(UnsupportedAllele, match="N stands for any base"):
        plan(100, CONTIG[99], "N")
    with pytest.raises(ReferenceMismatch):
        plan(100, other(CONTIG[99]), CONTIG[99])


@pytest.mark.parametrize(
    ("position", "strand", "flags"),
    [
        (5, "forward", (CUT_LEFT,)),
        (5, "reverse", ()),
        (296, "reverse", (CUT_RIGHT,)),
        (296, "forward", ()),
        (24, "forward", ()),
        (23, "forward", (CUT_LEFT,)),
        (277, "reverse", ()),
        (278, "reverse", (CUT_RIGHT,)),
    ],
)
def test_only_the_side_that_is_read_can_be_cut(position: int, strand: str, flags: tuple[str, ...]) -> None:
    ref = CONTIG[position - 1]
    assert plan(position, ref, other(ref), Protocol("right-end", 24, strand)).flags == flags


def test_the_first_base_of_a_contig_is_read_after_nothing() -> None:
    (request,) = plan(1, CONTIG[0], other(CONTIG[0])).requests
    assert isinstance(request, NextToken)
    assert request.context == TOKENIZER.before


def test_only_ambiguous_bases_that_are_read_are_flagged() -> None:
    contig = CONTIG[:90] + "N" + CONTIG[91:]
    flags = [plan(position, contig[position - 1], other(contig[position - 1]), contig=contig).flags for position in (89, 93)]
    assert flags == [(), (AMBIGUOUS,)]
