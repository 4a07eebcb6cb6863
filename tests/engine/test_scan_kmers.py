"""Region scan with k-mers: every site begins a word in one of k passes, against the whole distribution after its context."""

from __future__ import annotations

import math
import random

import pytest

from engine.errors import InvalidRequest, UnsupportedTokenizer
from engine.protocols import (
    AMBIGUOUS,
    CUT_LEFT,
    CUT_RIGHT,
    NO_REFERENCE_BASE,
    ROUNDED,
    UNKNOWN,
    UNSCORED,
    Protocol,
    RegionPlan,
    SiteScore,
    Strand,
)
from engine.scan import combine_region, plan_region
from engine.tokenizers.interface import Tokenizer
from engine.windows import combine
from tests.engine.alphabets import BARE, KINDS, KMERS, PAIRS, TAGGED, WORDS
from tests.engine.windows_by_hand import Desk, plan, read

CONTIG = "".join(random.Random(16).choices("ACGT", k=160))


def region(
    start: int, end: int, tokenizer: Tokenizer = KMERS, *, window: int = 24, strand: Strand = "forward", contig: str = CONTIG
) -> RegionPlan:
    protocol = Protocol("region-scan", window, strand)
    return plan_region(protocol, len(contig), start, end, lambda first, last: contig[first:last], tokenizer)


def scan(desk: Desk, found: RegionPlan) -> tuple[SiteScore, ...]:
    results = desk.together(found.requests)
    return combine_region(found, [results[request] for request in found.requests])  # type: ignore[misc]


def log_p(desk: Desk, tokenizer: Tokenizer, base: str, context: str) -> float:
    every = desk.distribution((*tokenizer.before, *tokenizer.encode(context).ids))
    return math.log(math.fsum(math.exp(every[number]) for word, number in WORDS.items() if word.startswith(base)))


def context_of(at: int, *, reverse: bool) -> str:
    """What is read before a site: from a window before its cell, in whole words."""
    bases = read(CONTIG[at + 1 : (at // 24 + 2) * 24], reverse=True) if reverse else CONTIG[max(0, at // 24 - 1) * 24 : at]
    return bases[len(bases) % 3 :]


@pytest.mark.parametrize("strand", ["forward", "reverse"])
@pytest.mark.parametrize("kind", ["k-mer", "hybrid"])
@pytest.mark.parametrize(("start", "end"), [(47, 74), (0, 7), (150, 160)], ids=["middle", "begins", "ends"])
def test_every_base_in_the_place_of_every_base(desk: Desk, start: int, end: int, kind: str, strand: Strand) -> None:
    sites = scan(desk, region(start, end, KINDS[kind], strand=strand))
    assert [site.position for site in sites] == list(range(start + 1, end + 1))
    for site in sites:
        at, reverse = site.position - 1, strand == "reverse"
        context = context_of(at, reverse=reverse)
        expected = [log_p(desk, KINDS[kind], read(base, reverse=reverse), context) for base in "ACGT"]
        assert site.logprobs == pytest.approx(expected, abs=2e-6)
        assert site.deltas == tuple(value - site.logprobs["ACGT".index(CONTIG[at])] for value in site.logprobs)
        assert (site.context, site.reference) == (len(context), CONTIG[at])
        assert math.fsum(map(math.exp, site.logprobs)) <= 1 + 1e-5
        cut = CUT_RIGHT if reverse else CUT_LEFT
        assert site.flags == ((cut,) if len(context) < 24 else ())


def test_both_strands_are_their_mean(desk: Desk) -> None:
    forward, reverse, both = (scan(desk, region(47, 74, strand=strand)) for strand in ("forward", "reverse", "average"))
    for one, other, mean in zip(forward, reverse, both, strict=True):
        assert mean.logprobs == pytest.approx([(a + b) / 2 for a, b in zip(one.logprobs, other.logprobs, strict=True)], abs=1e-12)
        assert mean.context == min(one.context, other.context)


@pytest.mark.parametrize("tokenizer", [KMERS, TAGGED], ids=["bos", "bos and tag"])
def test_a_site_has_the_bits_of_right_end_after_the_same_context(desk: Desk, tokenizer: Tokenizer) -> None:
    """One computes a distribution after all of a context, the other a row of a longer score, in other chunks and company."""
    for site in scan(desk, region(48, 72, tokenizer))[::5]:
        alt = "ACGT"["ACGT".index(site.reference) - 1]
        protocol = Protocol("right-end", site.context + 3)
        found = plan(tokenizer, protocol, CONTIG, (site.position, site.reference, alt))
        results = desk.together(found.requests)
        score = combine(found, [results[request] for request in found.requests])  # type: ignore[misc]
        assert (score.ll_alt, score.delta) == (site.logprobs["ACGT".index(alt)], site.deltas["ACGT".index(alt)])


def test_two_tokens_a_site_for_any_width() -> None:
    contig = "".join(random.Random(17).choices("ACGT", k=4000))
    for kind in ("character", "k-mer", "hybrid"):
        assert region(1020, 3060, KINDS[kind], window=510, contig=contig).tokens_per_site <= 2.05


def test_contexts_lie_between_one_and_two_windows() -> None:
    contig = "".join(random.Random(17).choices("ACGT", k=900))
    for one in region(200, 700, window=99, contig=contig).passes:
        assert one.context >= 99
        assert one.context + 3 * (one.sites - 1) < 198


@pytest.mark.parametrize("strand", ["forward", "reverse", "average"])
@pytest.mark.parametrize(("start", "end"), [(0, 1), (23, 25), (24, 48), (157, 160), (0, 160)])
def test_every_site_comes_once(desk: Desk, start: int, end: int, strand: Strand) -> None:
    sites = scan(desk, region(start, end, strand=strand))
    assert [site.position for site in sites] == list(range(start + 1, end + 1))
    assert all(len(site.logprobs) == 4 for site in sites)


def test_a_site_has_the_same_numbers_in_every_region(desk: Desk) -> None:
    alone = scan(desk, region(60, 61))[0]
    assert scan(desk, region(48, 72))[12] == scan(desk, region(55, 130))[5] == alone


def test_without_anything_before_a_contig_its_first_sites_have_no_probability(desk: Desk) -> None:
    """On the other strand its last ones; both are needed for a mean."""
    tokenizer = BARE["k-mer"]
    forward, reverse = (scan(desk, region(0, 160, tokenizer, strand=strand)) for strand in ("forward", "reverse"))
    assert [site.position for site in forward if not site.logprobs] == [1, 2, 3]
    assert [site.position for site in reverse if not site.logprobs] == [158, 159, 160]
    assert (forward[0].deltas, forward[0].flags) == ((), (UNSCORED,))
    assert forward[3].logprobs[0] == pytest.approx(log_p(desk, tokenizer, "A", CONTIG[:3]), abs=2e-6)
    assert not scan(desk, region(159, 160, tokenizer, strand="average"))[0].logprobs
    nothing = region(0, 2, tokenizer)
    assert (nothing.requests, combine_region(nothing, [])[1].flags) == ((), (UNSCORED,))


def test_holes_in_the_reference_are_flagged_from_where_they_are_read(desk: Desk) -> None:
    contig = CONTIG[:60] + "N" + CONTIG[61:]
    sites = {site.position: site for site in scan(desk, region(55, 75, contig=contig))}
    assert (sites[61].reference, sites[61].deltas, len(sites[61].logprobs)) == ("N", (), 4)
    assert NO_REFERENCE_BASE in sites[61].flags
    assert sites[60].flags == ()
    assert sites[62].flags == sites[75].flags == (AMBIGUOUS, UNKNOWN)


def test_a_window_is_rounded_down_to_whole_words_and_every_site_says_so(desk: Desk) -> None:
    found = region(48, 60, window=26)
    assert (found.window, found.width) == (24, 3)
    assert {site.flags for site in scan(desk, found)} == {(ROUNDED,)}
    with pytest.raises(InvalidRequest, match="holds no token"):
        region(48, 60, window=2)


def test_byte_pairs_are_refused() -> None:
    with pytest.raises(UnsupportedTokenizer, match="region-scan needs tokens of one width"):
        region(48, 60, PAIRS)
