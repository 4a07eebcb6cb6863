"""Region scan: four log-probabilities for every site, the definition checked base by base on a model that is known."""

from __future__ import annotations

import random

import pytest

from engine.errors import InvalidRequest
from engine.protocols import AMBIGUOUS, CUT_LEFT, CUT_RIGHT, NO_REFERENCE_BASE, UNKNOWN, Protocol, RegionPlan, SiteScore, Variant
from engine.request import PRIVATE, REFERENCE
from engine.scan import combine_region, plan_region
from engine.windows import combine, plan_variant, reverse_complement
from tests.engine.exact_model import MarkovChain
from tests.engine.test_windows import TOKENIZER, fetch_from

CONTIG = "".join(random.Random(9).choices("ACGT", k=700))
CHAIN = MarkovChain(4)
FAR = MarkovChain(100_000)  # looks back to the first token, so every base of context changes the answer


def plan(start: int, end: int, *, window: int = 64, strand: str = "forward", contig: str = CONTIG) -> RegionPlan:
    return plan_region(Protocol("region-scan", window, strand), len(contig), start, end, fetch_from(contig), TOKENIZER)


def scan(found: RegionPlan, chain: MarkovChain = CHAIN) -> tuple[SiteScore, ...]:
    return combine_region(found, [chain.score(request) for request in found.requests])


def log_p(base: str, context: str, chain: MarkovChain) -> float:
    tokens = (*TOKENIZER.before, *TOKENIZER.encode(context).ids)
    return chain.after(tokens)[TOKENIZER.encode(base).ids[0]]


def test_every_base_in_the_place_of_every_base() -> None:
    sites = scan(plan(150, 260), FAR)
    assert [site.position for site in sites] == list(range(151, 261))
    for site in sites:
        at = site.position - 1
        context = CONTIG[(at // 64 - 1) * 64 : at]
        expected = [log_p(base, context, FAR) for base in "ACGT"]
        assert site.logprobs == tuple(expected)
        assert site.deltas == tuple(value - expected["ACGT".index(CONTIG[at])] for value in expected)
        assert (site.context, site.flags, site.reference) == (64 + at % 64, (), CONTIG[at])


def test_the_other_strand_is_read_from_its_own_side_and_told_in_bases_of_this_one() -> None:
    for site in scan(plan(150, 260, strand="reverse"), FAR):
        at = site.position - 1
        context = reverse_complement(CONTIG[at + 1 : (at // 64 + 2) * 64])
        assert site.logprobs == tuple(log_p(reverse_complement(base), context, FAR) for base in "ACGT")
        assert 64 <= len(context) == site.context < 128


def test_both_strands_are_their_mean() -> None:
    forward, reverse, both = (scan(plan(150, 200, strand=strand), FAR) for strand in ("forward", "reverse", "average"))
    for one, other, mean in zip(forward, reverse, both, strict=True):
        assert mean.logprobs == pytest.approx([(a + b) / 2 for a, b in zip(one.logprobs, other.logprobs, strict=True)], abs=1e-12)
        assert mean.deltas == pytest.approx([(a + b) / 2 for a, b in zip(one.deltas, other.deltas, strict=True)], abs=1e-12)
        assert mean.context == min(one.context, other.context)


def test_delta_is_that_of_right_end_where_both_read_the_whole_memory_of_the_model() -> None:
    """The chain looks four bases back; the scan and a right-end window of 24 both hold them."""
    for site in scan(plan(200, 230)):
        alt = "ACGT"["ACGT".index(site.reference) - 1]
        variant = Variant(len(CONTIG), site.position, site.reference, alt)
        single = plan_variant(Protocol("right-end", 24), variant, fetch_from(CONTIG), TOKENIZER)
        assert site.deltas["ACGT".index(alt)] == combine(single, [CHAIN.answer(request) for request in single.requests]).delta


def test_two_tokens_a_site() -> None:
    contig = "".join(random.Random(10).choices("ACGT", k=6000))
    found = plan(1024, 3024, window=512, contig=contig)
    assert len(found.requests) == 4
    assert sum(len(request.tokens) for request in found.requests) / 2000 <= 2.05  # bos and the last token of each counted too
    assert found.tokens_per_site <= 2.05
    assert plan(1024, 3024, window=512, strand="average", contig=contig).tokens_per_site <= 2 * 2.6


@pytest.mark.parametrize(("start", "end"), [(0, 1), (63, 65), (64, 128), (100, 700), (699, 700), (0, 700)])
@pytest.mark.parametrize("strand", ["forward", "reverse", "average"])
def test_every_site_comes_once_and_short_contexts_are_flagged(start: int, end: int, strand: str) -> None:
    sites = scan(plan(start, end, strand=strand))
    assert [site.position for site in sites] == list(range(start + 1, end + 1))
    for site in sites:
        at = site.position - 1
        short = set() if strand == "reverse" or at >= 64 else {CUT_LEFT}
        short |= {CUT_RIGHT} if strand != "forward" and len(CONTIG) - 1 - at < 64 else set()
        assert site.flags == tuple(sorted(short))


def test_a_site_has_the_same_numbers_in_every_region() -> None:
    alone = scan(plan(300, 301), FAR)[0]
    assert scan(plan(256, 320), FAR)[300 - 256] == scan(plan(290, 500), FAR)[10] == alone


def test_a_site_without_a_reference_base_has_no_delta() -> None:
    contig = CONTIG[:200] + "N" + CONTIG[201:210] + "R" + CONTIG[211:]
    sites = {site.position: site for site in scan(plan(195, 260, contig=contig))}
    assert (sites[201].deltas, sites[201].flags, len(sites[201].logprobs)) == ((), (NO_REFERENCE_BASE,), 4)
    assert sites[201].reference == "N"
    assert sites[200].flags == ()
    assert sites[202].flags == (AMBIGUOUS,)
    assert (sites[211].reference, sites[211].flags) == ("R", (AMBIGUOUS, NO_REFERENCE_BASE))
    assert sites[212].flags == (AMBIGUOUS, UNKNOWN)


def test_lower_case_is_read_as_upper_case() -> None:
    assert plan(100, 200, contig=CONTIG.lower()) == plan(100, 200)


@pytest.mark.parametrize(("start", "end"), [(-1, 5), (5, 5), (6, 5), (699, 701), (900, 901)])
def test_a_region_outside_the_contig_is_refused(start: int, end: int) -> None:
    with pytest.raises(InvalidRequest, match="outside the contig of 700 bases"):
        plan(start, end)


def test_other_protocols_and_results_are_refused() -> None:
    fetch = fetch_from(CONTIG)
    with pytest.raises(InvalidRequest, match="region-scan, not centred"):
        plan_region(Protocol(), len(CONTIG), 0, 9, fetch, TOKENIZER)
    with pytest.raises(InvalidRequest, match="0 results"):
        combine_region(plan(0, 9), [])


def test_a_scan_shares_what_the_caller_says() -> None:
    protocol, fetch = Protocol("region-scan", 64), fetch_from(CONTIG)
    assert plan(0, 9).requests[0].sharing == REFERENCE
    assert plan_region(protocol, len(CONTIG), 0, 9, fetch, TOKENIZER, sharing=PRIVATE).requests[0].sharing == PRIVATE
