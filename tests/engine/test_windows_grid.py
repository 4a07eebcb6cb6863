"""Grid-centred: windows start at multiples of G, and neighbours read the same reference window."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import UnsupportedAllele
from engine.protocols import CUT_LEFT, CUT_RIGHT, Protocol, Variant, VariantPlan
from engine.request import Score
from engine.windows import combine, plan_variant
from tests.engine.exact_model import MarkovChain
from tests.engine.test_windows import TOKENIZER, fetch_from, text

CONTIG = "".join(random.Random(7).choices("ACGT", k=600))
GRID = Protocol("grid-centred", 64, grid=16)


def plan(position: int, ref: str, alt: str, protocol: Protocol = GRID, contig: str = CONTIG) -> VariantPlan:
    return plan_variant(protocol, Variant(len(contig), position, ref, alt), fetch_from(contig), TOKENIZER)


def snv(position: int, protocol: Protocol = GRID) -> VariantPlan:
    ref = CONTIG[position - 1]
    return plan(position, ref, "ACGT"["ACGT".index(ref) - 1], protocol)


def start(found: VariantPlan, position: int) -> int:
    assert found.offset is not None
    return position - 1 - found.offset


@pytest.mark.parametrize("grid", [1, 5, 16, 31, 32])
def test_a_window_starts_at_the_multiple_that_brings_the_variant_nearest_to_the_middle(grid: int) -> None:
    protocol = Protocol("grid-centred", 64, grid=grid)
    for position in range(100, 200):
        found = start(snv(position, protocol), position)
        ideal = start(snv(position, Protocol("centred", 64)), position)
        assert found % grid == 0
        assert abs(found - ideal) == min(abs(multiple - ideal) for multiple in range(0, 600, grid))
        assert text(snv(position, protocol).requests[0]) == CONTIG[found : found + 64]


def test_neighbours_share_their_reference_window() -> None:
    """100 sites in a row read 7 or 8 windows instead of 100."""
    trunks = {request.tokens for position in range(200, 300) for request in snv(position).requests}
    assert 7 <= len(trunks) <= 8
    assert len({request.tokens for position in range(200, 300) for request in snv(position, Protocol(window=64)).requests}) == 100


def test_a_deletion_and_a_substitution_nearby_share_it_too() -> None:
    deletion = plan(201, CONTIG[200:203], CONTIG[200])
    assert deletion.requests[0] == snv(202).requests[0]


@settings(deadline=None)
@given(st.data())
def test_every_allele_that_is_let_in_lies_inside_its_window(data: st.DataObject) -> None:
    window = data.draw(st.integers(2, 40))
    protocol = Protocol("grid-centred", window, grid=data.draw(st.integers(1, window // 2)))
    position = data.draw(st.integers(100, 300))
    ref = CONTIG[position - 1 : position - 1 + data.draw(st.integers(1, window // 2))]
    alt = data.draw(st.text("ACGT", min_size=1, max_size=window // 2))
    found = plan(position, ref, alt, protocol)
    assert found.offset is not None and found.offset >= 0
    assert text(found.requests[0])[found.offset :].startswith(ref)
    assert text(found.requests[1])[found.offset :].startswith(alt)
    assert len(found.requests[1].scored) == window + 1


def test_an_allele_of_more_than_half_a_window_is_refused() -> None:
    with pytest.raises(UnsupportedAllele, match="more than half"):
        plan(300, CONTIG[299], CONTIG[299] + "A" * 32)


@pytest.mark.parametrize(("position", "flags"), [(3, (CUT_LEFT,)), (598, (CUT_RIGHT,)), (300, ())])
def test_a_window_that_the_contig_cuts_is_flagged(position: int, flags: tuple[str, ...]) -> None:
    found = snv(position)
    assert found.flags == flags
    assert start(found, position) % 16 == 0
    assert len({len(request.scored) for request in found.requests}) == 1


@pytest.mark.parametrize("strand", ["forward", "reverse", "average"])
def test_grid_and_offset_stand_in_plan_and_score(strand: str) -> None:
    protocol = Protocol("grid-centred", 64, strand, grid=16)
    found = snv(211, protocol)
    score = combine(found, [MarkovChain().answer(request) for request in found.requests])
    assert (found.grid, score.grid) == (16, 16)
    assert score.offset == found.offset == 210 - start(snv(211), 211)


def test_the_score_is_the_difference_of_the_two_windows() -> None:
    found, chain = snv(250), MarkovChain()
    ref, alt = (sum(chain.score(Score(request.scored)).logprobs) for request in found.requests)
    assert combine(found, [chain.answer(request) for request in found.requests]).delta == pytest.approx(alt - ref, abs=1e-9)
