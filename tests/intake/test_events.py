"""Symbolic deletions, duplications and inversions with an END are accepted where the test scores them, and told why where not."""

from pathlib import Path

import pytest

from foundation.file_reasons import FileReason
from orders.intake import FastaReference, Limits, Outcome
from tests.intake.judging import Judged, judge, sites

LIMITS = Limits(max_event=20)


def judged(tmp_path: Path, small: FastaReference, alt: str, info: str, *more: str, limits: Limits | None = LIMITS) -> Judged:
    rows = sites(f"1 10 C {alt}", *more).replace(f"\tC\t{alt}\t.\tPASS\t.", f"\tC\t{alt}\t.\tPASS\t{info}")
    return judge(tmp_path / "a.vcf", rows, reference=small, limits=limits)


@pytest.mark.parametrize(
    ("alt", "info", "end"),
    [
        ("<DEL>", "END=20", 20),
        ("<del>", "SVTYPE=DEL;END=11", 11),
        ("<DUP:TANDEM>", "SVLEN=12", 22),
        ("<INV>", "IMPRECISE;END=30;SVLEN=5", 30),
        ("<DEL:ME>", "SVLEN=-7", 17),
    ],
)
def test_an_event_whose_bases_the_reference_holds_is_accepted(
    tmp_path: Path, small: FastaReference, alt: str, info: str, end: int
) -> None:
    found = judged(tmp_path, small, alt, info).only
    assert (found.outcome, found.end, found.alt) == (Outcome.ACCEPTED, end, alt.upper())
    assert (found.norm_position, found.norm_ref, found.norm_alt) == (10, "C", alt.upper())  # it stays where the caller put it


@pytest.mark.parametrize(
    ("info", "outcome", "code", "words"),
    [
        (".", Outcome.PARKED, FileReason.VCF_END_MISSING, "<DEL> has neither END nor SVLEN"),
        ("END=x;SVLEN=.", Outcome.PARKED, FileReason.VCF_END_MISSING, "where it ends is not known"),
        ("END=10", Outcome.REFUSED, FileReason.VCF_END_NOT_BEHIND, "ends at 10, which is not behind"),
        ("END=61", Outcome.REFUSED, FileReason.VCF_END_PAST_CONTIG, "<DEL> ends at 61, 1 ends at 60."),
        ("END=31", Outcome.PARKED, FileReason.VCF_EVENT_TOO_LONG, "<DEL> spans 21 bases, at most 20 are scored."),
    ],
)
def test_one_that_cannot_be_scored_says_why(
    tmp_path: Path, small: FastaReference, info: str, outcome: Outcome, code: FileReason, words: str
) -> None:
    found, good = judged(tmp_path, small, "<DEL>", info, "1 1 A C").verdicts
    assert (found.outcome, found.code, found.end) == (outcome, code, 0)
    assert words in found.reason
    assert good.outcome is Outcome.ACCEPTED


def test_a_test_that_scores_no_events_parks_them_as_before(tmp_path: Path, small: FastaReference) -> None:
    found, _ = judged(tmp_path, small, "<DEL>", "END=20", "1 1 A C", limits=None).verdicts
    assert (found.outcome, found.code) == (Outcome.PARKED, FileReason.VCF_ALT_DELETION)


@pytest.mark.parametrize("alt", ["<INS>", "<CNV>", "C[2:4[", "<NON_REF>", "*"])
def test_what_end_does_not_describe_stays_parked(tmp_path: Path, small: FastaReference, alt: str) -> None:
    found, _ = judged(tmp_path, small, alt, "END=20", "1 1 A C").verdicts
    assert found.outcome is Outcome.PARKED


def test_the_same_event_twice_is_said_and_another_end_is_another_event(tmp_path: Path, small: FastaReference) -> None:
    rows = "".join(f"1\t10\t.\tC\t<DEL>\t.\tPASS\tEND={end}\n" for end in (20, 21, 20))
    verdicts = judge(tmp_path / "a.vcf", sites() + rows, reference=small, limits=LIMITS).verdicts
    assert [FileReason.VCF_DUPLICATE in verdict.flags for verdict in verdicts] == [False, False, True]
