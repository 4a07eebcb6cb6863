"""Deletions, duplications and inversions for every kind of tokenizer, against windows cut out of the changed contig by hand."""

from __future__ import annotations

import math
import random

import pytest

from engine.errors import UnsupportedAllele
from engine.protocols import CUT_LEFT, CUT_RIGHT, TRIMMED, Protocol, Strand
from engine.request import Score
from tests.engine.alphabets import BARE, KINDS, KMERS
from tests.engine.windows_by_hand import Desk, mutated, plan, read

CONTIG = "".join(random.Random(14).choices("ACGT", k=400))


def changed(kind: str, position: int, end: int) -> str:
    """The contig after the event."""
    event = CONTIG[position:end]
    return CONTIG[:position] + {"DEL": "", "DUP": 2 * event, "INV": read(event, reverse=True)}[kind] + CONTIG[end:]


@pytest.mark.parametrize("tokens", KINDS)
@pytest.mark.parametrize(
    ("kind", "end", "start"), [("DEL", 106, 91), ("DUP", 104, 90), ("INV", 105, 90)], ids=["DEL", "DUP", "INV"]
)
def test_a_short_event_is_scored_in_windows_of_its_alleles(desk: Desk, tokens: str, kind: str, end: int, start: int) -> None:
    """Of 24 bases, with the longer allele and the base before it at their middle."""
    score = desk.scored(plan(KINDS[tokens], Protocol(window=24), CONTIG, (100, CONTIG[99], f"<{kind}>"), end))
    ref, alt = (desk.whole(KINDS[tokens], contig[start : start + 24]) for contig in (CONTIG, changed(kind, 100, end)))
    assert score.delta == math.fsum([*alt, *(-value for value in ref)])
    assert (score.scored_as, score.window, score.offset) == ("whole", 24, 99 - start)


@pytest.mark.parametrize("strand", ["forward", "reverse", "average"])
@pytest.mark.parametrize("tokens", KINDS)
@pytest.mark.parametrize(("kind", "joints"), [("DEL", [100]), ("DUP", [200]), ("INV", [100, 200])], ids=["DEL", "DUP", "INV"])
def test_a_long_event_is_scored_across_what_it_joins(desk: Desk, tokens: str, kind: str, joints: list[int], strand: Strand) -> None:
    """Twelve bases on either side of each joint, as of the two places where the reference breaks."""
    found = plan(KINDS[tokens], Protocol("centred", 24, strand), CONTIG, (100, CONTIG[99], f"<{kind}>"), 200)
    strands = {"forward": (False,), "reverse": (True,), "average": (False, True)}[strand]
    after = changed(kind, 100, 200)
    refs, alts = (
        [math.fsum(desk.whole(KINDS[tokens], read(contig[at - 12 : at + 12], reverse=one))) for at in places for one in strands]
        for contig, places in ((CONTIG, [100, 200]), (after, joints))
    )
    score = desk.scored(found)
    assert score.ll_ref == pytest.approx(sum(refs) / len(refs), abs=1e-9)
    assert score.ll_alt == pytest.approx(sum(alts) / len(alts), abs=1e-9)
    assert score.delta == pytest.approx(score.ll_alt - score.ll_ref, abs=1e-9)
    assert (score.scored_as, score.window, score.bases, len(score.phases)) == ("breakpoints", 24, 24, len(strands))


@pytest.mark.parametrize(
    ("position", "end", "first", "last", "flags"),
    [
        (5, 100, 0, 15, (CUT_LEFT, TRIMMED)),  # five before and twelve behind: two behind are left out
        (6, 100, 0, 18, (CUT_LEFT,)),
        (300, 396, 289, 304, (CUT_RIGHT, TRIMMED)),  # twelve before and four behind: one before is left out
        (100, 200, 88, 112, ()),
    ],
)
def test_what_the_contig_leaves_beside_a_breakpoint_is_cut_to_whole_tokens(
    position: int, end: int, first: int, last: int, flags: tuple[str, ...]
) -> None:
    found = plan(KMERS, Protocol(window=24), CONTIG, (position, CONTIG[position - 1], "<DEL>"), end)
    assert isinstance(found.requests[0], Score)
    assert KMERS.decode(found.requests[0].tokens) == CONTIG[first:last]
    assert (found.window, found.flags) == (last - first, tuple(sorted(flags)))


def test_an_event_beside_which_no_token_fits_is_refused() -> None:
    with pytest.raises(UnsupportedAllele, match="no whole tokens of 3"):
        plan(KMERS, Protocol(window=6), "ACGTACGT", (1, "A", "<DEL>"), 7)


def test_without_anything_before_byte_pairs_begin_unequally_and_are_refused() -> None:
    with pytest.raises(UnsupportedAllele, match="first tokens of the windows hold"):
        plan(BARE["byte pairs"], Protocol(window=24), CONTIG, (100, CONTIG[99], "<INV>"), 200)


def test_the_joint_has_a_place_inside_its_token() -> None:
    """Twelve bases before it on either strand, whole tokens of three; ten bases in a window of 21."""
    for window, phases in ((24, (0, 0)), (21, (10 % 3, 11 % 3))):
        protocol = Protocol("centred", window, "average")
        assert plan(KMERS, protocol, CONTIG, (100, CONTIG[99], "<DEL>"), 200).phases == phases


def test_by_hand_and_by_end_are_the_same_deletion() -> None:
    assert changed("DEL", 100, 106) == mutated(CONTIG, 100, CONTIG[99:106], CONTIG[99])
