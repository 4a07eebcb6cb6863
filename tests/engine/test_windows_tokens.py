"""Centred windows for every kind of tokenizer, against whole windows written out by hand and scored alone."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import pytest

from engine.errors import InvalidRequest, UnsupportedAllele
from engine.protocols import AMBIGUOUS, CUT_LEFT, CUT_RIGHT, EQUAL, ROUNDED, TRIMMED, UNKNOWN, UNSCORED, Protocol, Strand
from engine.request import Score
from tests.engine.alphabets import BARE, CHARACTER, KINDS, KMERS, PAIRS, TAGGED
from tests.engine.windows_by_hand import Desk, mutated, plan, read

CONTIG = "".join(random.Random(4).choices("ACGT", k=240))
HOLES = CONTIG[:95] + "N" + CONTIG[96:104] + "R" + CONTIG[105:]
WIDE = Protocol(window=24)


@dataclass(frozen=True)
class Case:
    """A change of `length` bases to `alt`, and where its windows begin and end: for tokens of one base, and of three."""

    position: int
    length: int
    alt: str
    single: tuple[int, int]
    triple: tuple[int, int]
    flags: tuple[str, ...] = ()  # beside those for what is trimmed
    contig: str = CONTIG

    @property
    def variant(self) -> tuple[int, str, str]:
        return self.position, self.contig[self.position - 1 : self.position - 1 + self.length], self.alt


CASES = {
    "one base": Case(100, 1, "T", (88, 112), (88, 112)),
    "another allele of it": Case(100, 1, "G", (88, 112), (88, 112)),
    "three bases": Case(100, 3, "GTA", (89, 113), (89, 113)),
    "insertion": Case(100, 1, CONTIG[99] + "GAT", (89, 113), (89, 113)),
    "deletion": Case(100, 5, CONTIG[99], (90, 114), (90, 114)),
    "contig begins": Case(4, 1, "T", (0, 16), (0, 15), (CUT_LEFT,)),
    "first base": Case(1, 1, "T", (0, 13), (0, 12), (CUT_LEFT,)),
    "contig ends": Case(238, 1, "C", (226, 240), (228, 240), (CUT_RIGHT,)),
    "deletion at its end": Case(236, 3, CONTIG[235], (225, 238), (226, 238), (CUT_RIGHT,)),
    "N and R": Case(100, 1, "T", (88, 112), (88, 112), (AMBIGUOUS, UNKNOWN), HOLES),
}
STRANDS: tuple[Strand, ...] = ("forward", "reverse", "average")


@pytest.mark.parametrize("strand", STRANDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_the_score_is_that_of_the_two_windows_written_out(desk: Desk, name: str, kind: str, strand: Strand) -> None:
    case, tokenizer = CASES[name], KINDS[kind]
    start, end = case.triple if tokenizer.width == 3 else case.single
    windows = [contig[start:end] for contig in (case.contig, mutated(case.contig, *case.variant))]
    strands = {"forward": (False,), "reverse": (True,), "average": (False, True)}[strand]
    refs, alts = ([desk.whole(tokenizer, read(window, reverse=one)) for one in strands] for window in windows)
    score = desk.scored(plan(tokenizer, Protocol("centred", 24, strand), case.contig, case.variant))
    ref, alt = ([value for part in side for value in part] for side in (refs, alts))
    assert score.delta == math.fsum([*alt, *(-value for value in ref)]) / len(strands)
    assert (score.ll_ref, score.ll_alt) == (math.fsum(ref) / len(strands), math.fsum(alt) / len(strands))
    assert (score.tokens, score.alt_tokens) == (len(refs[0]), len(alts[0]))
    assert (score.ref_per_token, score.alt_per_token) == (math.fsum(ref) / len(ref), math.fsum(alt) / len(alt))
    assert score.window == score.bases == len(windows[0]) == len(windows[1])
    assert score.delta_per_base == score.delta / (end - start)
    assert (score.offset, len(score.phases)) == (case.position - 1 - start, len(strands))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_what_was_cut_or_lost_is_said(name: str, kind: str) -> None:
    case, tokenizer = CASES[name], KINDS[kind]
    found = plan(tokenizer, WIDE, case.contig, case.variant)
    lost = case.single[1] - case.single[0] - (case.triple[1] - case.triple[0]) if tokenizer.width == 3 else 0
    assert found.trimmed == lost
    assert set(found.flags) == {*case.flags, *([TRIMMED] if lost else [])}


@pytest.mark.parametrize(("kind", "unknown"), [("character", 1), ("k-mer", 6), ("hybrid", 6), ("byte pairs", 2)])
def test_bases_inside_tokens_for_unknown_are_counted(kind: str, unknown: int) -> None:
    """N has a character of its own; a k-mer with any such base is unknown as a whole."""
    case = CASES["N and R"]
    assert plan(KINDS[kind], WIDE, case.contig, case.variant).unknown == unknown


@pytest.mark.parametrize("position", range(60, 66))
def test_the_place_of_the_variant_inside_its_token_is_told_for_each_strand(position: int) -> None:
    """A window of 24 puts a single base behind 11 others: the second of its k-mer, and before 12: the first of it in reverse."""
    alt = "ACGT"["ACGT".index(CONTIG[position - 1]) - 1]
    found = plan(KMERS, Protocol("centred", 24, "average"), CONTIG, (position, CONTIG[position - 1], alt))
    assert found.phases == (11 % 3, 12 % 3)
    grid = plan(KMERS, Protocol("grid-centred", 24, "average", grid=5), CONTIG, (position, CONTIG[position - 1], alt))
    assert grid.offset is not None
    assert grid.phases == (grid.offset % 3, (23 - grid.offset) % 3)


def test_every_phase_is_read_on_a_grid_that_is_no_multiple_of_the_token() -> None:
    phases = {plan(KMERS, Protocol("grid-centred", 24, grid=5), CONTIG, (at, CONTIG[at - 1], "A")).phases for at in range(60, 75)}
    assert phases == {(0,), (1,), (2,)}


def test_a_branch_begins_at_the_first_changed_token() -> None:
    """`before`, and the k-mers of eleven bases."""
    _, alternate = plan(KMERS, WIDE, CONTIG, CASES["one base"].variant).requests
    assert isinstance(alternate, Score) and alternate.branch is not None
    assert alternate.branch.at == 1 + 11 // 3


def test_byte_pairs_may_change_before_the_variant_and_differ_in_number(desk: Desk) -> None:
    """A G that becomes a T takes away the end of a pair that began a base before it."""
    found = plan(PAIRS, WIDE, CONTIG, (38, "G", "T"))
    _, alternate = found.requests
    assert isinstance(alternate, Score) and alternate.branch is not None
    starts = PAIRS.encode(CONTIG[37 - 11 : 37 + 13]).starts
    assert (found.offset, starts[alternate.branch.at - 1]) == (11, 10)
    score = desk.scored(found)
    assert (score.tokens, score.alt_tokens, score.bases) == (18, 17, 24)


@pytest.mark.parametrize("kind", KINDS)
def test_alleles_of_one_site_share_their_trunk(kind: str) -> None:
    first, second = (plan(KINDS[kind], WIDE, CONTIG, CASES[name].variant) for name in ("one base", "another allele of it"))
    assert first.requests[0] == second.requests[0]
    assert {request.tokens for request in (*first.requests, *second.requests) if isinstance(request, Score)} == {
        first.requests[0].tokens  # type: ignore[union-attr]
    }


@pytest.mark.parametrize("kind", KINDS)
def test_ref_for_ref_is_exactly_nothing_and_says_that_nothing_differs(desk: Desk, kind: str) -> None:
    found = plan(KINDS[kind], Protocol(window=24, strand="average"), CONTIG, (100, CONTIG[99], CONTIG[99]))
    assert (desk.scored(found).delta, found.flags) == (0.0, (EQUAL,))


def test_a_change_that_the_windows_do_not_show_is_said() -> None:
    """A base lost from a run longer than the window, at the end of the contig, or inside a k-mer with an N."""
    assert EQUAL in plan(CHARACTER, WIDE, "A" * 90, (40, "AA", "A")).flags
    assert EQUAL in plan(CHARACTER, WIDE, CONTIG, (240, CONTIG[239], CONTIG[239] + "ACG")).flags
    hidden = CONTIG[:98] + "N" + CONTIG[99:]
    assert EQUAL in plan(KMERS, WIDE, hidden, (100, hidden[99], "T")).flags
    assert EQUAL not in plan(CHARACTER, WIDE, hidden, (100, hidden[99], "T")).flags


@pytest.mark.parametrize("kind", ["k-mer", "hybrid"])
@pytest.mark.parametrize(("window", "read_"), [(24, 24), (25, 24), (26, 24), (27, 27)])
def test_a_window_is_rounded_down_to_whole_tokens_and_says_so(kind: str, window: int, read_: int) -> None:
    found = plan(KINDS[kind], Protocol(window=window), CONTIG, CASES["one base"].variant)
    assert (found.window, found.flags) == (read_, (ROUNDED,) if window != read_ else ())


def test_a_window_shorter_than_a_token_and_a_contig_without_one_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="holds no token of 3"):
        plan(KMERS, Protocol(window=2), CONTIG, CASES["one base"].variant)
    for contig, variant in (("AC", (1, "A", "T")), ("ACGTA", (2, "CGT", "AAA"))):
        with pytest.raises(UnsupportedAllele, match="no whole tokens of 3"):
            plan(KMERS, WIDE, contig, variant)


@pytest.mark.parametrize("length", range(3, 24))
@pytest.mark.parametrize("end", ["left", "right"])
def test_the_change_stays_inside_however_short_the_contig_is(length: int, end: str) -> None:
    contig = CONTIG[:length]
    position = 1 if end == "left" else length
    alt = "ACGT"["ACGT".index(contig[position - 1]) - 1]
    found = plan(KMERS, WIDE, contig, (position, contig[position - 1], alt))
    there = min(length, 13 if end == "left" else 12)
    assert (found.window, found.trimmed, EQUAL in found.flags) == (there // 3 * 3, there % 3, False)


@pytest.mark.parametrize("kind", BARE)
def test_without_anything_before_a_sequence_the_first_token_is_not_scored(desk: Desk, kind: str) -> None:
    """The context of all others, but a base in it has no probability."""
    tokenizer, case = BARE[kind], CASES["one base"]
    windows = [contig[88:112] for contig in (CONTIG, mutated(CONTIG, *case.variant))]
    ref, alt = (desk.whole(tokenizer, window) for window in windows)
    score = desk.scored(plan(tokenizer, WIDE, CONTIG, case.variant))
    assert score.delta == math.fsum([*alt, *(-value for value in ref)])
    assert score.tokens == len(tokenizer.encode(windows[0]).ids) - 1
    assert (score.bases, score.window, score.flags) == (24 - tokenizer.encode(windows[0]).starts[1], 24, (UNSCORED,))


def test_without_anything_before_a_change_of_the_first_token_has_no_trunk(desk: Desk) -> None:
    case = CASES["first base"]
    found = plan(BARE["k-mer"], WIDE, CONTIG, case.variant)
    assert [request.branch for request in found.requests if isinstance(request, Score)] == [None, None]
    ref, alt = (desk.whole(BARE["k-mer"], contig[:12]) for contig in (CONTIG, mutated(CONTIG, *case.variant)))
    assert desk.scored(found).delta == math.fsum([*alt, *(-value for value in ref)])


def test_without_anything_before_sums_over_unequal_stretches_and_over_nothing_are_refused() -> None:
    with pytest.raises(UnsupportedAllele, match="first tokens of the windows hold 1 and 2 bases"):
        plan(BARE["byte pairs"], WIDE, "CA" + "G" * 60, (2, "A", "T"))
    with pytest.raises(UnsupportedAllele, match="a single token"):
        plan(BARE["k-mer"], WIDE, "ACG", (2, "C", "T"))


def test_two_ids_before_a_sequence_are_no_bases(desk: Desk) -> None:
    score = desk.scored(plan(TAGGED, WIDE, CONTIG, CASES["one base"].variant))
    assert score.ll_ref == math.fsum(desk.whole(TAGGED, CONTIG[88:112]))
    assert (score.tokens, score.bases) == (8, 24)
