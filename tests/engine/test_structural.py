"""Deletions, duplications and inversions from POS and END: the windows are those of the sequence they make."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import OutsideContig, ReferenceMismatch, UnsupportedAllele
from engine.protocols import CUT_LEFT, CUT_RIGHT, Protocol, Variant, VariantPlan
from engine.request import Score
from engine.structural import LONGEST, breakpoints
from engine.windows import combine, plan_variant, reverse_complement
from tests.engine.exact_model import MarkovChain
from tests.engine.test_windows import TOKENIZER, fetch_from, text

CONTIG = "".join(random.Random(13).choices("ACGT", k=2000))
SHORT = Protocol("centred", 40)
KINDS = ("DEL", "DUP", "INV")
CHAIN = MarkovChain(4)


def plan(kind: str, position: int, end: int | None, protocol: Protocol = SHORT, contig: str = CONTIG) -> VariantPlan:
    variant = Variant(len(contig), position, contig[position - 1], f"<{kind}>", end)
    return plan_variant(protocol, variant, fetch_from(contig), TOKENIZER)


def mutated(kind: str, position: int, end: int) -> str:
    """The whole contig after the event."""
    event = CONTIG[position:end]
    changed = {"DEL": "", "DUP": event + event, "INV": reverse_complement(event)}[kind.split(":")[0]]
    return CONTIG[:position] + changed + CONTIG[end:]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strand", ["forward", "reverse", "average"])
def test_a_short_event_is_scored_as_its_alleles_written_out(kind: str, strand: str) -> None:
    base, event = CONTIG[499], CONTIG[500:515]
    ref, alt = {"DEL": (base + event, base), "DUP": (base, base + event), "INV": (base + event, base + reverse_complement(event))}[
        kind
    ]
    protocol = Protocol("centred", 40, strand)
    written = plan_variant(protocol, Variant(len(CONTIG), 500, ref, alt), fetch_from(CONTIG), TOKENIZER)
    found = plan(kind, 500, 515, protocol)
    assert (found.requests, found.flags, found.scored_as) == (written.requests, written.flags, "whole")


@settings(deadline=None)
@given(st.sampled_from(KINDS), st.integers(1, 1900), st.integers(20, 700), st.integers(8, 41))
def test_windows_of_a_long_event_stand_in_the_contig_before_and_after_it(
    kind: str, position: int, length: int, window: int
) -> None:
    """Every reference window is in the contig, every junction window only comes about by the event, across the new joint."""
    end = min(position + length, len(CONTIG) - 1)
    if 1 + end - position <= window // 2:
        return
    found = plan(kind, position, end, Protocol("centred", window))
    windows = [text(request) for request in found.requests]
    assert found.scored_as == "breakpoints"
    assert len(windows) == {"DEL": 3, "DUP": 3, "INV": 4}[kind]
    assert len({len(bases) for bases in windows}) == 1
    before = min(window // 2, position)
    after = min(window - window // 2, len(CONTIG) - end, end - position)
    assert windows[0] == CONTIG[position - before : position + after]
    assert windows[1] == CONTIG[end - before : end + after]
    joints = {"DEL": [position], "DUP": [end], "INV": [position, end]}[kind]
    after_event = mutated(kind, position, end)
    assert windows[2:] == [after_event[joint - before : joint + after] for joint in joints]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strand", ["forward", "reverse", "average"])
def test_delta_is_the_mean_of_the_junctions_less_the_mean_of_the_breakpoints(kind: str, strand: str) -> None:
    found = plan(kind, 500, 900, Protocol("centred", 40, strand))
    sums = [math.fsum(CHAIN.score(Score(request.scored)).logprobs) for request in found.requests]
    strands = 2 if strand == "average" else 1
    size = len(sums) // strands
    refs = [value for first in range(0, len(sums), size) for value in sums[first : first + 2]]
    alts = [value for first in range(0, len(sums), size) for value in sums[first + 2 : first + size]]
    score = combine(found, [CHAIN.answer(request) for request in found.requests])
    assert score.ll_ref == pytest.approx(sum(refs) / len(refs), abs=1e-9)
    assert score.ll_alt == pytest.approx(sum(alts) / len(alts), abs=1e-9)
    assert score.delta == pytest.approx(score.ll_alt - score.ll_ref, abs=1e-9)
    assert (score.scored_as, score.tokens) == ("breakpoints", 40)


def test_a_junction_branches_off_the_breakpoint_it_shares_its_beginning_with() -> None:
    for kind, trunk in (("DEL", 0), ("DUP", 1)):
        requests = plan(kind, 500, 900).requests
        assert requests[2].tokens == requests[trunk].tokens
        assert requests[2].branch is not None and requests[2].branch.at >= 21


def test_an_event_and_its_kind_may_be_said_in_any_of_the_usual_ways() -> None:
    assert plan("del", 500, 900) == plan("DEL:ME:ALU", 500, 900) == plan("DEL", 500, 900)
    assert plan("DUP:TANDEM", 500, 900) == plan("DUP", 500, 900)
    unknown = Variant(len(CONTIG), 500, "N", "<DEL>", 900)
    assert plan_variant(SHORT, unknown, fetch_from(CONTIG), TOKENIZER) == plan("DEL", 500, 900)


@pytest.mark.parametrize("kind", KINDS)
def test_an_inverted_or_doubled_event_never_takes_bases_from_outside_itself(kind: str) -> None:
    """Where the event is hardly longer than half a window, what is turned round or doubled ends with it."""
    found = breakpoints(kind, 500, 520, 41, 2000, TOKENIZER)
    assert {stretch.end - stretch.start for window in found.junctions for stretch in window} == {20}


@pytest.mark.parametrize(
    ("position", "end", "flags"),
    [(5, 300, (CUT_LEFT,)), (1700, 1995, (CUT_RIGHT,)), (20, 1980, ()), (19, 1981, (CUT_LEFT, CUT_RIGHT))],
)
def test_windows_that_the_contig_cuts_are_flagged(position: int, end: int, flags: tuple[str, ...]) -> None:
    assert plan("INV", position, end).flags == flags


@pytest.mark.parametrize(
    ("alt", "end", "words"),
    [
        ("<INS>", 900, "without its sequence"),
        ("<CNV>", 900, "number of copies"),
        ("<CN0>", 900, "not an event"),
        ("<*>", 900, "not seen"),
        ("<NON_REF>", 900, "not seen"),
        ("*", 900, "deletion before it"),
        ("N[chr1:5[", None, "breakend"),
        ("G.", None, "breakend"),
        ("<DEL>", None, "no END"),
        ("<DEL>", 500, "not behind its position"),
        ("<DEL>", 499, "not behind its position"),
        ("<DEL>", 2000, "reaches the end of the contig"),
    ],
)
def test_what_cannot_be_resolved_is_refused_with_its_reason(alt: str, end: int | None, words: str) -> None:
    with pytest.raises(UnsupportedAllele, match=words):
        plan_variant(SHORT, Variant(len(CONTIG), 500, CONTIG[499], alt, end), fetch_from(CONTIG), TOKENIZER)


def test_an_event_of_100_kb_is_scored_and_a_longer_one_refused() -> None:
    contig = "ACGT" * 30_000
    assert plan("INV", 1000, 1000 + LONGEST, contig=contig).scored_as == "breakpoints"
    with pytest.raises(UnsupportedAllele, match="more than 100000"):
        plan("INV", 1000, 1001 + LONGEST, contig=contig)


def test_what_the_reference_does_not_hold_is_refused() -> None:
    wrong = reverse_complement(CONTIG[499:501])
    with pytest.raises(ReferenceMismatch):
        plan_variant(SHORT, Variant(len(CONTIG), 500, wrong, "<DEL>", 900), fetch_from(CONTIG), TOKENIZER)


@pytest.mark.parametrize(("position", "end"), [(500, 2001), (0, 900), (2001, 2002)])
def test_what_lies_outside_the_contig_is_refused(position: int, end: int) -> None:
    with pytest.raises(OutsideContig):
        plan_variant(SHORT, Variant(len(CONTIG), position, "N", "<DEL>", end), fetch_from(CONTIG), TOKENIZER)


@pytest.mark.parametrize("protocol", [Protocol("right-end", 40), Protocol("grid-centred", 40, grid=8)])
def test_other_protocols_send_events_to_centred(protocol: Protocol) -> None:
    with pytest.raises(UnsupportedAllele, match="score it centred"):
        plan("DEL", 500, 900, protocol)
