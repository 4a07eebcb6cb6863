"""Transcripts as GFF3 of three dialects and GenBank tell them."""

import gzip

import pytest

from registry.annotations import genbank, gff
from registry.annotations.canonical import untranslated
from registry.annotations.transcripts import Read
from registry.errors import RegistrationRefused
from tests.registry import genes
from tests.registry.genes import F1, F2, R1, R2, S1, S2, S3, S4, UTR, parts
from tests.services import ROOT

SHARED = ROOT.parent / "shared" / "data" / "annotated"
FORWARD = ("fwd", "+", ((F1, F2),), ((F1, F2),), 0)
SPLICED = ("spl", "+", ((S1 - UTR, S2), (S3, S4 + UTR)), ((S1, S2), (S3, S4)), 0)
REVERSE = ("rev", "-", ((R1, R2),), ((R1, R2),), 0)


def of_gff(text: str) -> Read:
    return gff.read(text.splitlines(keepends=True))


def of_genbank(text: str) -> Read:
    return genbank.read(text.splitlines(keepends=True))


def test_ensembl_gff_names_no_genetic_code() -> None:
    assert [parts(t) for t in of_gff(genes.ensembl()).transcripts] == [(*t, 0) for t in (FORWARD, SPLICED, REVERSE)]


def test_a_bacterial_cds_below_its_gene_is_a_transcript_with_its_genetic_code() -> None:
    read = of_gff(genes.bacterial())
    assert [parts(t) for t in read.transcripts] == [(*t, 11) for t in (FORWARD, REVERSE)]
    assert read.lengths == {"one": len(genes.BASES)}


def test_genbank_joins_cds_and_mrna_and_skips_what_lies_on_another_record() -> None:
    read = of_genbank(genes.genbank())
    coding = [parts(t) for t in read.transcripts if t.coding]
    assert coding == [(*t, 11) for t in (FORWARD, SPLICED, REVERSE)]
    assert read.skipped == {"at a place that is not on this record": 1}


def test_what_lies_before_and_behind_the_coding_part_is_untranslated() -> None:
    spliced = of_gff(genes.ensembl()).transcripts[1]
    assert list(untranslated(spliced)) == [("five_prime_UTR", (S1 - UTR, S1 - 1)), ("three_prime_UTR", (S4 + 1, S4 + UTR))]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no gene"),
        ("one\ttest\tgene\t1\t9\n", "line 1 is no line of GFF3"),
        ("one\ttest\tCDS\t9\t1\t.\t+\t0\tID=a\n", "line 1 is no line of GFF3"),
        ("one\ttest\tCDS\t0\t9\t.\t+\t0\tID=a\n", "line 1 is no line of GFF3"),
        (f"one\ttest\tCDS\t1\t{'9' * 5000}\t.\t+\t0\tID=a\n", "line 1 is no line of GFF3"),
        ('one\ttest\tCDS\t1\t9\t.\t+\t0\tgene_id "a"; transcript_id "b";\n', "the file is GTF"),
    ],
    ids=["empty", "columns", "order", "zero", "digits", "gtf"],
)
def test_what_is_no_gff_is_refused(text: str, said: str) -> None:
    with pytest.raises(RegistrationRefused, match=said):
        of_gff(text)


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [("ID=c;exception=ribosomal slippage", "translated with an exception"), ("ID=c", "of overlapping or circular parts")],
    ids=["slips", "overlaps"],
)
def test_frames_that_slip_or_overlap_are_counted_and_not_used(attributes: str, reason: str) -> None:
    text = "".join(f"one\tt\tCDS\t{start}\t{end}\t.\t+\t0\t{attributes}\n" for start, end in ((1, 9), (9, 20)))
    read = of_gff(text)
    assert (read.transcripts, read.skipped) == ([], {reason: 1})


@pytest.mark.parametrize("place", ["two\tt\tCDS\t21\t29\t.\t+", "one\tt\tCDS\t21\t29\t.\t-"], ids=["contigs", "strands"])
def test_parts_on_several_contigs_or_strands_make_no_transcript(place: str) -> None:
    read = of_gff(f"one\tt\tCDS\t1\t9\t.\t+\t0\tID=c\n{place}\t0\tID=c\n")
    assert (read.transcripts, read.skipped) == ([], {"of parts on several contigs or strands": 1})


@pytest.mark.parametrize(("old", "new"), [(f"{F1}..{F2}", f"0..{F2}"), (f"{F1}..{F2}", f"1..{'9' * 5000}")], ids=["zero", "digits"])
def test_a_place_that_is_none_is_skipped_in_genbank(old: str, new: str) -> None:
    read = of_genbank(genes.genbank().replace(f"CDS             {old}", f"CDS             {new}"))
    assert read.skipped == {"at a place that is not on this record": 2}


def test_a_real_viral_record() -> None:
    path = SHARED / "sarscov2.NC_045512.2.gb.gz"
    if not path.is_file():
        pytest.skip("the shared data is not here")
    with gzip.open(path, "rt") as lines:
        read = genbank.read(lines)
    spike = next(t for t in read.transcripts if t.gene == "S")
    assert (spike.contig, spike.coding, spike.code) == ("NC_045512.2", ((21563, 25384),), 0)
    assert read.skipped["translated with an exception"] >= 1  # ORF1ab slips back by one base


def test_a_real_spliced_record_has_the_exons_of_its_mrna() -> None:
    path = SHARED / "INS_refseqgene.gb"
    if not path.is_file():
        pytest.skip("the shared data is not here")
    with path.open() as lines:
        insulin = next(t for t in genbank.read(lines).transcripts if t.gene == "INS" and t.coding)
    assert len(insulin.coding) == 2
    assert sum(end - start + 1 for start, end in insulin.coding) == 111 * 3  # 110 amino acids and the stop
    assert insulin.start < insulin.coding[0][0]
