"""One record at a time: what is refused, what is parked, and in which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from foundation.file_reasons import FileReason
from orders.intake import FastaReference, Limits, Outcome, State
from tests.intake.judging import judge, sites, vcf

REFUSED = [
    ("3 1 A C", FileReason.VCF_UNKNOWN_CONTIG),
    ("1 0 A C", FileReason.VCF_POSITION),
    ("1 -5 A C", FileReason.VCF_POSITION),
    ("1 1.5 A C", FileReason.VCF_POSITION),
    ("1 99999999999999999999 A C", FileReason.VCF_POSITION),
    ("1 ٣ A C", FileReason.VCF_POSITION),
    ("1 61 A C", FileReason.VCF_PAST_END),
    ("1 59 GAT G", FileReason.VCF_PAST_END),
    ("1 61 . C", FileReason.VCF_PAST_END),
    ("1 1 G C", FileReason.VCF_REF_MISMATCH),
    ("1 45 G C", FileReason.VCF_REF_MISMATCH),
    ("1 1 . C", FileReason.VCF_REF_MISSING),
    ("1 1 R C", FileReason.VCF_REF_IUPAC),
    ("1 1 A1 C", FileReason.VCF_REF_ALPHABET),
    ("1 1 <DEL> C", FileReason.VCF_REF_ALPHABET),
    ("1 1 A R", FileReason.VCF_ALT_IUPAC),
    ("1 1 A C?", FileReason.VCF_ALT_ALPHABET),
    ("1 1 A é", FileReason.VCF_ALT_ALPHABET),
    ("1 1 A A", FileReason.VCF_ALT_EQUALS_REF),
]

PARKED = [
    ("1 1 A .", FileReason.VCF_ALT_MISSING),
    ("1 1 A *", FileReason.VCF_ALT_STAR),
    ("1 1 A <*>", FileReason.VCF_ALT_UNSPECIFIED),
    ("1 1 A <NON_REF>", FileReason.VCF_ALT_UNSPECIFIED),
    ("1 1 A <DEL>", FileReason.VCF_ALT_DELETION),
    ("1 1 A <DEL:ME:ALU>", FileReason.VCF_ALT_DELETION),
    ("1 1 A <DUP:TANDEM>", FileReason.VCF_ALT_DUPLICATION),
    ("1 1 A <INV>", FileReason.VCF_ALT_INVERSION),
    ("1 1 A <INS>", FileReason.VCF_ALT_INSERTION),
    ("1 1 A <CN0>", FileReason.VCF_ALT_COPY_NUMBER),
    ("1 1 A <SOMETHING>", FileReason.VCF_ALT_SYMBOLIC),
    ("1 1 A A[2:3[", FileReason.VCF_ALT_BREAKEND),
    ("1 1 A ]2:3]A", FileReason.VCF_ALT_BREAKEND),
    ("1 1 A .A", FileReason.VCF_ALT_BREAKEND),
    ("1 1 A N", FileReason.VCF_ALT_UNKNOWN_BASE),
    ("1 45 N C", FileReason.VCF_REF_UNKNOWN_BASE),
]


@pytest.mark.parametrize(("allele", "code"), REFUSED, ids=[allele for allele, _ in REFUSED])
def test_a_wrong_record_is_refused_with_its_line(one_site, allele, code):
    judged = one_site(allele)
    assert (judged.only.outcome, judged.only.code, judged.only.line) == (Outcome.REFUSED, code, 3)


@pytest.mark.parametrize(("allele", "code"), PARKED, ids=[allele for allele, _ in PARKED])
def test_a_sound_allele_that_cannot_be_scored_is_parked(one_site, allele, code):
    judged = one_site(allele)
    assert (judged.only.outcome, judged.only.code) == (Outcome.PARKED, code)


def test_a_wrong_ref_says_what_the_reference_has(one_site):
    assert one_site("1 3 T C").only.reason == "REF is T, but the reference has G at 1:3."


def test_a_file_without_anything_to_score_is_refused_with_the_first_reason(one_site):
    judged = one_site("1 3 T C")
    assert judged.refused_for is FileReason.FILE_NOTHING_TO_SCORE
    assert "the reference has G" in judged.summary.refusal.reason


def test_one_wrong_record_leaves_the_others_alone(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", sites("1 1 A C", "1 2 G T", "1 3 G T"), reference=small)
    assert [verdict.outcome for verdict in judged.verdicts] == ["accepted", "refused", "accepted"]
    assert judged.summary.state is State.ACCEPTED_WITH_EXCEPTIONS


def test_every_alt_has_a_verdict_of_its_own(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", sites("1 1 A C,<DEL>,R,,*"), reference=small)
    assert [verdict.alt_index for verdict in judged.verdicts] == [1, 2, 3, 4, 5]
    assert [str(verdict.outcome) for verdict in judged.verdicts] == ["accepted", "parked", "refused", "refused", "parked"]
    assert judged.summary.items == 5
    assert judged.summary.records == 1


def test_a_wrong_record_is_refused_once_per_alt(one_site, tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", sites("1 1 G C,T", "1 2 C T"), reference=small)
    assert judged.codes == [FileReason.VCF_REF_MISMATCH, FileReason.VCF_REF_MISMATCH, None]


def test_long_alleles_are_parked(tmp_path: Path, small: FastaReference):
    limits = Limits(max_allele=4)
    judged = judge(tmp_path / "a.vcf", sites("1 1 ACGTA A", "1 1 A ACCCC", "1 1 ACGT A"), reference=small, limits=limits)
    assert judged.codes == [FileReason.VCF_REF_TOO_LONG, FileReason.VCF_ALT_TOO_LONG, None]


def test_a_filter_other_than_pass_is_kept_and_said(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", vcf("1 1 rs5 A C . q10;s50 ."), reference=small)
    assert judged.only.flags == (FileReason.VCF_FILTER,)
    assert (judged.only.filter, judged.only.name) == ("q10;s50", "rs5")


def test_lower_case_is_read_and_said(one_site):
    judged = one_site("1 1 a c")
    assert (judged.only.ref, judged.only.alt, judged.only.flags) == ("A", "C", (FileReason.VCF_LOWER_CASE,))


def test_a_repeated_variant_is_said_even_in_another_spelling(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", sites("1 20 TA T", "1 25 AA A"), reference=small)
    assert judged.verdicts[1].flags == (FileReason.VCF_DUPLICATE,)
    assert "line 3" in judged.verdicts[1].reason


def test_a_short_record_is_refused(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", vcf("1 1 . A C . . .", "1 2 . C"), reference=small)
    assert judged.verdicts[1].code is FileReason.VCF_COLUMNS


def test_blanks_for_tabs_are_named_as_the_fault(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", vcf() + "1 1 . A C . . .\n", reference=small)
    assert judged.only.code is FileReason.VCF_SPACES_FOR_TABS


def test_a_control_character_anywhere_refuses_the_record(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", vcf("1 1 . A C . . .", "1 2 . C T . . X=\0"), reference=small)
    assert judged.verdicts[1].code is FileReason.VCF_CONTROL_CHARACTER
    assert "NUL" in judged.verdicts[1].reason


def test_bytes_that_are_no_utf8_are_said_and_harm_nobody(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", vcf("1 1 . A C . . N=Müller").encode("latin-1"), reference=small)
    assert judged.only.outcome is Outcome.ACCEPTED
    assert FileReason.FILE_NOT_UTF8 in judged.notes


def test_no_verdict_holds_what_a_database_refuses(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", vcf("1\0 1\0 \0 A\0 \0C . \0 ."), reference=small)
    verdict = judged.only
    texts = (verdict.submitted_contig, verdict.ref, verdict.alt, verdict.filter, verdict.name, verdict.reason)
    assert all(text and "\0" not in text for text in texts)


def test_unsorted_records_are_read_in_the_order_of_the_file(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", sites("1 9 A C", "2 1 T C", "1 1 A C"), reference=small)
    assert [verdict.line for verdict in judged.verdicts] == [3, 4, 5]
    assert FileReason.VCF_UNSORTED in judged.notes


def test_an_ambiguous_reference_base_is_read_as_the_first_of_its_bases(tmp_path: Path):
    path = tmp_path / "ambiguous.fa"
    path.write_text(">1\nACGRTT\n")
    judged = judge(tmp_path / "a.vcf", sites("1 4 A C"), reference=FastaReference(path))
    assert judged.only.outcome is Outcome.ACCEPTED
