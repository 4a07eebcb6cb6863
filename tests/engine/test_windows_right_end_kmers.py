"""Right-end for k-mers: an allele is as probable as all k-mers that begin with it, after whole k-mers that end before it."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from engine.errors import UnequalAlleles, UnsupportedAllele, UnsupportedTokenizer
from engine.protocols import AMBIGUOUS, CUT_LEFT, CUT_RIGHT, ROUNDED, TRIMMED, UNKNOWN, Protocol, Strand
from engine.request import NextToken
from tests.engine.alphabets import BARE, KINDS, KMERS, PAIRS, WORDS
from tests.engine.windows_by_hand import Desk, plan, read

CONTIG = "".join(random.Random(15).choices("ACGT", k=200))
OTHER = str.maketrans("ACGT", "CGTA")  # different everywhere, and not the complement
KMER_KINDS = ["k-mer", "hybrid"]


def log_p(desk: Desk, kind: str, allele: str, context: str) -> float:
    """The definition: the whole distribution after the context, summed word by word."""
    tokenizer = KINDS[kind]
    every = desk.distribution((*tokenizer.before, *tokenizer.encode(context).ids))
    return math.log(math.fsum(math.exp(every[number]) for word, number in WORDS.items() if word.startswith(allele)))


@pytest.mark.parametrize("strand", ["forward", "reverse"])
@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("kind", KMER_KINDS)
@pytest.mark.parametrize("at", [100, 101, 102])
def test_delta_is_the_log_ratio_of_the_words_that_begin_with_the_alleles(
    desk: Desk, at: int, kind: str, length: int, strand: Strand
) -> None:
    """The allele stands in the last of the eight words of a window of 24: 21 bases are before it, in any phase of the contig."""
    ref = CONTIG[at : at + length]
    found = plan(KINDS[kind], Protocol("right-end", 24, strand), CONTIG, (at + 1, ref, ref.translate(OTHER)))
    reverse = strand == "reverse"
    context = read(CONTIG[at + length : at + length + 21], reverse=True) if reverse else CONTIG[at - 21 : at]
    expected = [log_p(desk, kind, read(allele, reverse=reverse), context) for allele in (ref, ref.translate(OTHER))]
    score = desk.scored(found)
    assert [score.ll_ref, score.ll_alt] == pytest.approx(expected, abs=2e-6)
    assert score.delta == score.ll_alt - score.ll_ref
    assert (score.scored_as, score.phases, score.tokens, score.bases) == ("marginalised", (0,), 1, length)
    assert (score.window, score.flags) == (21 + length, ())


@pytest.mark.parametrize("kind", KMER_KINDS)
def test_both_strands_are_their_mean(desk: Desk, kind: str) -> None:
    forward, reverse, both = (
        desk.scored(plan(KINDS[kind], Protocol("right-end", 24, strand), CONTIG, (101, CONTIG[100], CONTIG[100].translate(OTHER))))
        for strand in ("forward", "reverse", "average")
    )
    assert both.delta == pytest.approx((forward.delta + reverse.delta) / 2, abs=1e-12)
    assert both.phases == (0, 0)


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("kind", KMER_KINDS)
def test_all_alleles_of_one_length_are_at_most_certain_together(desk: Desk, kind: str, length: int) -> None:
    """Each log is rounded once to float32: a 2^-23 of its size at most, so that much may be above 1, and not more."""
    ref = CONTIG[90 : 90 + length]
    alts = ["".join(bases) for bases in itertools.product("ACGT", repeat=length) if "".join(bases)[0] != ref[0]]
    alts = [alt for alt in alts if alt[-1] != ref[-1] or length == 1]
    plans = [plan(KINDS[kind], Protocol("right-end", 24), CONTIG, (91, ref, alt)) for alt in alts]
    scores = [desk.scored(found) for found in plans]
    assert len({score.ll_ref for score in scores}) == 1
    logs = [scores[0].ll_ref, *(score.ll_alt for score in scores)]
    total = math.fsum(map(math.exp, logs))
    assert 0 < total <= 1 + max(map(abs, logs)) * 2**-23


@pytest.mark.parametrize("kind", KMER_KINDS)
def test_the_four_bases_have_the_share_of_all_words(desk: Desk, kind: str) -> None:
    """What is missing to 1 is what the model gives to ids that are no words."""
    context = CONTIG[79:100]
    ref = CONTIG[100]
    alts = [base for base in "ACGT" if base != ref]
    scores = [desk.scored(plan(KINDS[kind], Protocol("right-end", 24), CONTIG, (101, ref, alt))) for alt in alts]
    total = math.fsum(map(math.exp, [scores[0].ll_ref, *(score.ll_alt for score in scores)]))
    assert total == pytest.approx(math.exp(log_p(desk, kind, "", context)), abs=1e-6)


@pytest.mark.parametrize(("before", "after"), [(3, 0), (0, 4), (2, 5)])
def test_bases_that_both_alleles_share_do_not_count(before: int, after: int) -> None:
    ref = CONTIG[120:122]
    left, right = CONTIG[120 - before : 120], CONTIG[122 : 122 + after]
    padded = (121 - before, left + ref + right, left + ref.translate(OTHER) + right)
    protocol = Protocol("right-end", 24)
    assert plan(KMERS, protocol, CONTIG, padded) == plan(KMERS, protocol, CONTIG, (121, ref, ref.translate(OTHER)))


def test_one_distribution_is_asked_for_both_alleles() -> None:
    ref = CONTIG[100:102]
    (request,) = plan(KMERS, Protocol("right-end", 24), CONTIG, (101, ref, ref.translate(OTHER))).requests
    assert isinstance(request, NextToken)
    assert request.wanted == tuple(tuple(WORDS[bases + base] for base in "ACGT") for bases in (ref, ref.translate(OTHER)))


@pytest.mark.parametrize(
    ("position", "strand", "context", "flags"),
    [
        (5, "forward", 3, (TRIMMED, CUT_LEFT)),
        (4, "forward", 3, (CUT_LEFT,)),
        (1, "forward", 0, (CUT_LEFT,)),
        (22, "forward", 21, ()),
        (21, "forward", 18, (TRIMMED, CUT_LEFT)),
        (196, "reverse", 3, (TRIMMED, CUT_RIGHT)),
        (179, "reverse", 21, ()),
        (200, "reverse", 0, (CUT_RIGHT,)),
        (5, "reverse", 21, ()),
    ],
)
def test_a_context_that_the_contig_cuts_is_whole_words(position: int, strand: Strand, context: int, flags: tuple[str, ...]) -> None:
    ref = CONTIG[position - 1]
    found = plan(KMERS, Protocol("right-end", 24, strand), CONTIG, (position, ref, ref.translate(OTHER)))
    assert (found.window, set(found.flags)) == (context + 1, set(flags))


def test_a_rounded_window_and_an_n_in_the_context_are_said() -> None:
    contig = CONTIG[:90] + "N" + CONTIG[91:]
    found = plan(KMERS, Protocol("right-end", 26), contig, (101, contig[100], contig[100].translate(OTHER)))
    assert (found.window, found.flags, found.unknown) == (22, (AMBIGUOUS, UNKNOWN, ROUNDED), 3)


def test_what_a_sum_over_words_cannot_answer_is_sent_to_centred() -> None:
    protocol = Protocol("right-end", 24)
    with pytest.raises(UnsupportedAllele, match="4 bases, more than the 3 of a token; score this one centred"):
        plan(KMERS, protocol, CONTIG, (100, CONTIG[99:103], CONTIG[99:103].translate(OTHER)))
    with pytest.raises(UnequalAlleles, match="centred"):
        plan(KMERS, protocol, CONTIG, (100, CONTIG[99], CONTIG[99] + "A"))
    with pytest.raises(UnsupportedAllele, match="are both"):
        plan(KMERS, protocol, CONTIG, (100, CONTIG[99], CONTIG[99]))
    with pytest.raises(UnsupportedTokenizer, match=r"BPE.*score variants centred"):
        plan(PAIRS, protocol, CONTIG, (100, CONTIG[99], CONTIG[99].translate(OTHER)))


def test_the_first_bases_of_a_contig_have_no_probability_where_nothing_stands_before() -> None:
    variant = (2, CONTIG[1], CONTIG[1].translate(OTHER))
    assert plan(KMERS, Protocol("right-end", 24), CONTIG, variant).trimmed == 1
    with pytest.raises(UnsupportedAllele, match="nothing stands before the allele"):
        plan(BARE["k-mer"], Protocol("right-end", 24), CONTIG, variant)
