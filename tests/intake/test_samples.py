"""Which sample a file is read for, and which alleles that sample carries."""

from __future__ import annotations

from pathlib import Path

import pytest

from foundation.file_reasons import FileReason
from orders.intake import FastaReference, Outcome, Zygosity
from tests.intake.judging import Judged, judge, sites, vcf

A, P, R, NC, X = Outcome.ACCEPTED, Outcome.PARKED, Outcome.REFUSED, Outcome.NOT_CARRIED, Outcome.NO_CALL
HET, HOM, HAPLOID, UNKNOWN = Zygosity.HETEROZYGOUS, Zygosity.HOMOZYGOUS, Zygosity.HAPLOID, Zygosity.UNKNOWN


@pytest.fixture
def genotyped(tmp_path: Path, small: FastaReference):
    def check(genotype: str, alt: str = "C") -> Judged:
        record = f"1 1 . A {alt} . . . GT:DP {genotype}:9"
        return judge(tmp_path / "a.vcf", vcf(record, samples=["S1"]), reference=small)

    return check


@pytest.mark.parametrize(
    ("genotype", "outcome", "zygosity", "phased"),
    [
        ("0/1", A, HET, False),
        ("1|0", A, HET, True),
        ("1/1", A, HOM, False),
        ("1", A, HAPLOID, False),
        ("0/0/1", A, HET, False),
        ("0/1|1", A, HET, False),
        ("|1|1", A, HOM, True),
        ("./1", A, UNKNOWN, False),
        ("0/0", NC, UNKNOWN, False),
        ("0", NC, UNKNOWN, False),
        ("0|0", NC, UNKNOWN, True),
        ("./.", X, UNKNOWN, False),
        (".", X, UNKNOWN, False),
        ("0/.", X, UNKNOWN, False),
    ],
)
def test_an_allele_counts_only_if_the_sample_carries_it(genotyped, genotype, outcome, zygosity, phased):
    verdict = genotyped(genotype).only
    assert (verdict.outcome, verdict.zygosity, verdict.phased, verdict.genotype) == (outcome, zygosity, phased, genotype)


def test_two_different_alleles_are_each_heterozygous(genotyped):
    first, second = genotyped("1/2", alt="C,T").verdicts
    assert (first.zygosity, second.zygosity) == (HET, HET)


def test_an_allele_beside_the_carried_one_is_not_carried(genotyped):
    first, second = genotyped("0/2", alt="C,T").verdicts
    assert (first.outcome, second.outcome) == (NC, A)


def test_a_symbolic_allele_nobody_carries_is_not_parked(genotyped):
    first, second = genotyped("0/1", alt="C,<NON_REF>").verdicts
    assert (first.outcome, second.outcome) == (A, NC)


def test_a_half_call_is_said(genotyped):
    assert genotyped("./1").only.flags == (FileReason.VCF_HALF_CALL_CARRIED,)
    assert genotyped("0/.").only.code is FileReason.VCF_HALF_CALL


@pytest.mark.parametrize("genotype", ["0/x", "1//0", "/", "0\\1", "99999999999999999999/0", "1/" * 300 + "1"])
def test_a_genotype_that_cannot_be_read_refuses_the_record(genotyped, genotype):
    assert genotyped(genotype).only.code is FileReason.VCF_GENOTYPE_SYNTAX


def test_a_genotype_that_names_an_allele_the_record_lacks_is_refused(genotyped):
    assert genotyped("0/2").only.code is FileReason.VCF_GENOTYPE_INDEX


def test_samples_without_genotypes_carry_nothing_for_sure(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", vcf("1 1 . A C . . . DP 9", samples=["S1"]), reference=small)
    assert (judged.only.outcome, judged.only.code) == (X, FileReason.VCF_GENOTYPE_MISSING)


def test_a_file_of_sites_is_taken_whole_and_said(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", sites("1 1 A C"), reference=small)
    assert (judged.only.outcome, judged.only.zygosity) == (A, UNKNOWN)
    assert FileReason.VCF_SITES_ONLY in judged.notes


def test_several_samples_need_a_choice(tmp_path: Path, small: FastaReference):
    text = vcf("1 1 . A C . . . GT 0/1 0/0", samples=["mother", "father"])
    judged = judge(tmp_path / "a.vcf", text, reference=small)
    assert judged.refused_for is FileReason.VCF_SAMPLE_CHOICE
    assert judged.summary.samples == ("mother", "father")
    assert not judged.verdicts


def test_the_chosen_column_is_the_one_read(tmp_path: Path, small: FastaReference):
    text = vcf("1 1 . A C . . . GT 0/1 0/0", samples=["mother", "father"])
    outcomes = [judge(tmp_path / "a.vcf", text, reference=small, sample=name).only.outcome for name in ("mother", "father")]
    assert outcomes == [A, NC]


def test_a_sample_that_is_not_in_the_file_is_refused_by_name(tmp_path: Path, small: FastaReference):
    text = vcf("1 1 . A C . . . GT 0/1", samples=["mother"])
    judged = judge(tmp_path / "a.vcf", text, reference=small, sample="daughter")
    assert judged.refused_for is FileReason.VCF_UNKNOWN_SAMPLE
    assert "mother" in judged.summary.refusal.reason


def test_a_sample_cannot_be_chosen_from_a_file_of_sites(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", sites("1 1 A C"), reference=small, sample="S1")
    assert judged.refused_for is FileReason.VCF_UNKNOWN_SAMPLE


def test_two_columns_of_one_name_are_refused(tmp_path: Path, small: FastaReference):
    text = vcf("1 1 . A C . . . GT 0/1 0/1", samples=["S1", "S1"])
    assert judge(tmp_path / "a.vcf", text, reference=small, sample="S1").refused_for is FileReason.VCF_DUPLICATE_SAMPLE
