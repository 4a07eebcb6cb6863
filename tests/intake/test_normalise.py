"""The normalised form: agrees with the textbook algorithm, keeps the submitted form, and never sees a symbolic allele."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from orders.intake import FastaReference
from orders.intake.normalise import Allele, left_aligned
from tests.intake.judging import judge, sites, vcf


def textbook(allele: Allele, reference: FastaReference) -> Allele:
    """Tan, Abecasis and Kang 2015, written out base by base."""
    contig, position, ref, alt = allele
    while ref[-1] == alt[-1] and (position > 1 or (len(ref) > 1 and len(alt) > 1)):
        ref, alt = ref[:-1], alt[:-1]
        if not ref or not alt:
            position -= 1
            base = reference.fetch(contig, position - 1, position)
            ref, alt = base + ref, base + alt
    while len(ref) > 1 and len(alt) > 1 and ref[0] == alt[0]:
        ref, alt, position = ref[1:], alt[1:], position + 1
    return Allele(contig, position, ref, alt)


def made_up(reference: FastaReference, count: int) -> list[Allele]:
    chance, alleles = random.Random(3), []
    while len(alleles) < count:
        position = chance.randrange(1, 16_500)
        ref = reference.fetch("MT", position - 1, position - 1 + chance.randrange(1, 8))
        alt = ref[: chance.randrange(1, len(ref) + 1)] + ref[chance.randrange(0, len(ref)) :]
        if alt != ref and "N" not in ref:
            alleles.append(Allele("MT", position, ref, alt))
    return alleles


def test_five_hundred_made_up_indels_agree_with_the_textbook(rcrs: FastaReference):
    alleles = made_up(rcrs, 500)
    assert left_aligned(alleles, rcrs) == [textbook(allele, rcrs) for allele in alleles]


def test_a_repeat_longer_than_the_first_window_is_followed_to_its_start(tmp_path: Path):
    path = tmp_path / "repeat.fa"
    path.write_text(">r\n" + "CG" * 5 + "A" * 9_000 + "T\n")
    assert left_aligned([Allele("r", 9_000, "AA", "A")], FastaReference(path)) == [Allele("r", 10, "GA", "G")]


def test_both_forms_are_kept(tmp_path: Path, small: FastaReference):
    verdict = judge(tmp_path / "a.vcf", sites("1 26 AA A"), reference=small).only
    assert (verdict.position, verdict.ref, verdict.alt) == (26, "AA", "A")
    assert (verdict.norm_position, verdict.norm_ref, verdict.norm_alt) == (20, "TA", "T")


def test_alleles_of_one_record_are_normalised_apart(tmp_path: Path, small: FastaReference):
    first, second = judge(tmp_path / "a.vcf", sites("1 20 TAA T,TA"), reference=small).verdicts
    assert (first.norm_ref, second.norm_ref) == ("TAA", "TA")


def test_a_symbolic_allele_beside_it_stays_where_it_was(tmp_path: Path, small: FastaReference):
    indel, symbolic = judge(tmp_path / "a.vcf", sites("1 26 AA A,<DEL>"), reference=small).verdicts
    assert (indel.norm_position, symbolic.position, symbolic.norm_position) == (20, 26, 0)


@pytest.mark.parametrize("rows", [1_999, 2_000, 2_001, 4_500])
def test_the_order_of_the_file_survives_every_batch_border(tmp_path: Path, small: FastaReference, rows):
    records = [("1 26 . AA A . . .", "1 1 . A C . . .", "1 1 . A <DEL> . . .")[index % 3] for index in range(rows)]
    judged = judge(tmp_path / "a.vcf", vcf(*records), reference=small)
    assert [verdict.line for verdict in judged.verdicts] == list(range(3, rows + 3))
    assert {verdict.norm_position for verdict in judged.verdicts[::3]} == {20}
