"""The reference is proven by contig lengths and the REF column; the file's name proves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from foundation.file_reasons import FileReason
from orders.intake import FastaReference, Limits, State, human_accessions
from orders.intake.contig_names import name_table, usual_names
from orders.intake.reference import Contig
from tests.intake.judging import ONE, TWO, judge, sites, vcf


def declared(*contigs: str, records: tuple[str, ...] = ("1 1 . A C . . .",)) -> str:
    return vcf(*records, header=("##fileformat=VCFv4.2", *(f"##contig=<{contig}>" for contig in contigs)))


def test_equal_contig_lengths_are_kept_as_proof(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", declared("ID=chr1,length=60", "assembly=x,length=44,ID=2"), reference=small)
    assert judged.summary.build.lengths_matched == ("1", "2")
    assert judged.summary.build.match_rate == 1.0
    assert FileReason.VCF_BUILD_UNPROVEN not in judged.notes


def test_a_contradicting_length_refuses_the_file_before_any_record(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", declared("ID=1,length=61"), reference=small)
    assert (judged.refused_for, judged.summary.refusal.line) == (FileReason.VCF_WRONG_REFERENCE, 2)
    assert not judged.verdicts


def test_lengths_of_two_builds_are_a_mixed_reference(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", declared("ID=1,length=60", "ID=2,length=45"), reference=small)
    assert judged.refused_for is FileReason.VCF_MIXED_REFERENCE


def test_without_lengths_the_proof_by_ref_is_said(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", sites("1 1 A C"), reference=small)
    assert FileReason.VCF_BUILD_UNPROVEN in judged.notes


def test_ref_that_rarely_agrees_refuses_the_file(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", sites("1 1 A G", "1 2 G A", "1 3 A C", "1 4 A C"), reference=small)
    assert judged.refused_for is FileReason.VCF_WRONG_REFERENCE
    assert "1 of 4" in judged.summary.refusal.reason


def test_ref_that_mostly_agrees_in_a_long_file_is_a_mixed_reference(tmp_path: Path, small: FastaReference):
    right = [f"1 {position} {ONE[position - 1]} {'C' if ONE[position - 1] != 'C' else 'T'}" for position in range(1, 21)]
    wrong = [f"2 {position} {'A' if TWO[position - 1] != 'A' else 'C'} <DEL>" for position in range(1, 6)]
    judged = judge(tmp_path / "a.vcf", sites(*right, *wrong), reference=small)
    assert judged.refused_for is FileReason.VCF_MIXED_REFERENCE


def test_a_long_file_of_the_wrong_build_is_not_read_to_its_end(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", sites(*["1 1 C T"] * 500), reference=small, limits=Limits(proof_sample=100))
    assert (judged.refused_for, judged.summary.records) == (FileReason.VCF_WRONG_REFERENCE, 100)


@pytest.mark.parametrize("contig", ["MT", "M", "chrM", "chrMT", "NC_012920.1"])
def test_the_mitochondrion_goes_by_five_names(tmp_path: Path, rcrs: FastaReference, contig):
    judged = judge(tmp_path / "a.vcf", sites(f"{contig} 73 A G"), reference=rcrs)
    assert (judged.only.contig, judged.only.submitted_contig, judged.summary.state) == ("MT", contig, State.ACCEPTED)


def test_the_chrm_of_hg19_is_another_sequence(tmp_path: Path, rcrs: FastaReference):
    text = vcf("chrM 73 . G A . . .", header=("##fileformat=VCFv4.2", "##contig=<ID=chrM,length=16571>"))
    assert judge(tmp_path / "a.vcf", text, reference=rcrs).refused_for is FileReason.VCF_WRONG_REFERENCE


def test_names_follow_the_sequence_not_the_habit():
    assert "MT" in usual_names("chrM", 16_569)
    assert "MT" not in usual_names("chrM", 16_571)
    assert usual_names("scaffold_7", 100) == ()


def test_accessions_tell_the_two_builds_apart():
    assert (human_accessions("GRCh37")["NC_000001.10"], human_accessions("GRCh38")["NC_000001.11"]) == ("1", "1")
    assert not set(human_accessions("GRCh37")) & set(human_accessions("GRCh38"))


def test_a_name_two_contigs_could_claim_resolves_to_neither():
    table = name_table([Contig("a", 1, ("both",)), Contig("b", 1, ("both", "bee"))])
    assert table == {"a": "a", "b": "b", "bee": "b"}
