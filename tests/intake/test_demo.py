"""The demo data are what their lists say, and each bad file gets its own reason."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from foundation.file_reasons import FileReason
from orders.intake import FastaReference, State
from tests.intake.conftest import DEMO
from tests.intake.judging import judge

LISTED = tomllib.loads((DEMO / "demo.toml").read_text())
REFERENCES = {entry["key"]: entry for entry in LISTED["reference"]}
HALF_MEGABYTES = 3

BAD = {
    "cut_off.vcf.gz": FileReason.FILE_GZIP_TRUNCATED,
    "empty.vcf": FileReason.FILE_EMPTY,
    "header_only.vcf": FileReason.VCF_NO_RECORDS,
    "no_header.vcf": FileReason.VCF_NO_HEADER,
    "not_a_vcf.vcf": FileReason.FILE_UNKNOWN_KIND,
    "reads_cut_off.fastq": FileReason.FASTQ_TRUNCATED,
    "spaces_for_tabs.vcf": FileReason.FILE_NOTHING_TO_SCORE,
    "two_files_joined.vcf": FileReason.VCF_SECOND_HEADER,
}
BAD_RECORD = {
    "iupac_ref.vcf": FileReason.VCF_REF_IUPAC,
    "past_the_end.vcf": FileReason.VCF_PAST_END,
    "position_zero.vcf": FileReason.VCF_POSITION,
    "unknown_contig.vcf": FileReason.VCF_UNKNOWN_CONTIG,
    "wrong_ref.vcf": FileReason.VCF_REF_MISMATCH,
}


@pytest.mark.parametrize("entry", LISTED["reference"], ids=list(REFERENCES))
def test_a_reference_is_the_one_listed(entry):
    reference = FastaReference(DEMO / entry["fasta"])
    assert {name: contig.length for name, contig in reference.contigs.items()} == {entry["contig"]: entry["length"]}
    assert reference.digest == entry["digest"]


@pytest.mark.parametrize("entry", LISTED["reference"], ids=list(REFERENCES))
def test_genes_lie_on_their_contig(entry):
    header, *rows = [line.split("\t") for line in (DEMO / entry["genes"]).read_text().splitlines()]
    assert header == ["contig", "start", "end", "strand", "gene"]
    assert all(row[0] == entry["contig"] and 1 <= int(row[1]) < int(row[2]) <= entry["length"] and row[3] in "+-" for row in rows)


@pytest.mark.parametrize("entry", LISTED["file"], ids=[entry["path"] for entry in LISTED["file"]])
def test_a_demo_file_is_accepted_whole(entry):
    reference = FastaReference(DEMO / REFERENCES[entry["reference"]]["fasta"])
    summary = judge(DEMO / entry["path"], reference=reference, sample=entry.get("sample")).summary
    assert (summary.state, summary.items) == (State.ACCEPTED, entry["items"])
    assert summary.accepted == entry.get("accepted", entry["items"])


def test_the_lexa_changes_are_every_single_base_change_of_one_gene(lexa: FastaReference):
    judged = judge(DEMO / "ecoli" / "lexA_every_snv.vcf", reference=lexa)
    seen = {(verdict.position, verdict.alt) for verdict in judged.verdicts}
    assert len(seen) == 609 * 3
    assert {position for position, _ in seen} == set(range(18_942, 19_551))
    assert lexa.fetch("NC_008253.1_4450001-4510000", 18_941, 18_944) == "ATG"


def test_the_multi_sample_demo_asks_for_a_sample(rcrs: FastaReference):
    judged = judge(DEMO / "rcrs" / "hmtnote_multisample.vcf", reference=rcrs)
    assert judged.refused_for is FileReason.VCF_SAMPLE_CHOICE
    assert len(judged.summary.samples) == 66


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_for_its_own_fault(name, lexa: FastaReference):
    assert judge(DEMO / "bad" / name, reference=lexa).refused_for is BAD[name]


@pytest.mark.parametrize("name", BAD_RECORD)
def test_one_bad_record_is_refused_at_its_line(name, lexa: FastaReference):
    judged = judge(DEMO / "bad" / name, reference=lexa)
    assert [(verdict.line, verdict.code) for verdict in judged.verdicts if verdict.code] == [(8, BAD_RECORD[name])]


def test_the_other_bad_files_behave_as_the_readme_says(lexa: FastaReference, rcrs: FastaReference):
    symbolic = judge(DEMO / "bad" / "symbolic_alleles.vcf", reference=lexa)
    assert len(set(symbolic.codes) - {None}) == 7
    assert FileReason.FILE_CRLF in judge(DEMO / "bad" / "windows_line_ends.vcf", reference=lexa).notes
    assert judge(DEMO / "bad" / "wrong_build.vcf", reference=rcrs).refused_for is FileReason.VCF_WRONG_REFERENCE
    assert judge(DEMO / "bad" / "letters.fasta").codes == [
        None, FileReason.SEQ_ALPHABET, FileReason.SEQ_EMPTY, FileReason.SEQ_DUPLICATE_NAME,
    ]  # fmt: skip


def test_no_bad_file_is_left_without_an_expectation():
    others = {"symbolic_alleles.vcf", "windows_line_ends.vcf", "wrong_build.vcf", "letters.fasta"}
    assert {path.name for path in (DEMO / "bad").iterdir()} == BAD.keys() | BAD_RECORD.keys() | others


def test_the_folder_stays_small():
    assert sum(path.stat().st_size for path in Path(DEMO).rglob("*") if path.is_file()) < HALF_MEGABYTES << 19
