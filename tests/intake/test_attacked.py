"""Inputs made to mislead: what each must get, in one line. Faults that an attack found stand at the top."""

from __future__ import annotations

import gzip
from pathlib import Path

import pysam
import pytest

from foundation.file_reasons import FileReason
from orders.intake import FastaReference, Limits
from tests.intake.judging import COLUMNS, ONE, judge, sites, vcf

LIMITS = Limits(max_event=100_000)
END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
SOUND = sites("1 1 A C")
HEAD = f"##fileformat=VCFv4.2\n{COLUMNS}\n"


def called(genotype: str, *, alt: str = "C", keys: str = "GT") -> str:
    return vcf(f"1 1 . A {alt} . PASS . {keys} {genotype}", samples=["S"])


def bgzip(path: Path, text: str | bytes) -> bytes:
    with pysam.BGZFile(str(path), "w") as file:
        file.write(text.encode() if isinstance(text, str) else text)
    return path.read_bytes()


def test_what_is_quoted_in_a_contig_line_is_no_length(tmp_path: Path, small: FastaReference):
    header = ("##fileformat=VCFv4.2", r'##contig=<ID=1,assembly="a \",length=5,b",length=60>')
    judged = judge(tmp_path / "a.vcf", vcf("1 1 . A C . PASS .", header=header), reference=small)
    assert (judged.refused_for, judged.summary.build.lengths_matched) == (None, ("1",))


def test_two_genotypes_in_one_column_are_no_genotype(tmp_path: Path, small: FastaReference):
    assert judge(tmp_path / "a.vcf", called("0/0:0/1", keys="GT:GT"), reference=small).only.code is FileReason.VCF_GENOTYPE_TWICE


@pytest.mark.parametrize(
    ("info", "code"),
    [
        ("END=9;END=12", FileReason.VCF_END_TWICE),
        ("SVLEN=-5;SVLEN=-6", FileReason.VCF_END_TWICE),
        ("END=9;END=9", None),
        ("END=9;SVLEN=-8", None),
        ("SVLEN=-5", None),
        ("END=2;CIEND=0,1", None),
        ("END=1", FileReason.VCF_END_NOT_BEHIND),
        ("END=61", FileReason.VCF_END_PAST_CONTIG),
        ("END=999999999999", FileReason.VCF_END_MISSING),
    ],
)
def test_an_event_ends_where_one_number_says(tmp_path: Path, small: FastaReference, info: str, code: FileReason | None):
    content = vcf(f"1 1 . A <DEL> . PASS {info}")
    assert judge(tmp_path / "a.vcf", content, reference=small, limits=LIMITS).only.code is code


@pytest.mark.parametrize(
    ("genotype", "alt", "outcomes"),
    [
        ("1", "C", "accepted"),
        ("0", "C", "not_carried"),
        ("0/0/1", "C", "accepted"),
        ("0/1/1/1", "C", "accepted"),
        ("0|1/1", "C", "accepted"),
        ("1|.", "C", "accepted"),
        ("./././.", "C", "no_call"),
        ("|1", "C", "accepted"),  # VCF 4.4
        ("1/", "C", "refused"),
        ("2", "C", "refused"),
        ("-1", "C", "refused"),
        ("0\\1", "C", "refused"),
        ("1/2", "C,*", "accepted parked"),
        ("0/1", "<NON_REF>", "parked"),
        ("1/1", "C,C", "accepted not_carried"),
        ("1/2", "C,A", "accepted refused"),
        ("1/2", "C,", "accepted refused"),
    ],
)
def test_a_genotype_of_any_ploidy_says_which_alleles_count(
    tmp_path: Path, small: FastaReference, genotype: str, alt: str, outcomes: str
):
    judged = judge(tmp_path / "a.vcf", called(genotype, alt=alt), reference=small)
    assert [str(verdict.outcome) for verdict in judged.verdicts] == outcomes.split()


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (SOUND.encode("utf-16-le"), FileReason.FILE_UTF16),
        (SOUND.encode("utf-32"), FileReason.FILE_UTF16),
        (b"TBI\1" + b"\0" * 60, FileReason.FILE_BINARY),
        (gzip.compress(b"CSI\1" + b"\0" * 60), FileReason.FILE_BINARY),
        (gzip.compress(gzip.compress(SOUND.encode())), FileReason.FILE_BINARY),
        (gzip.compress(b""), FileReason.FILE_EMPTY),
        (gzip.compress(SOUND.encode()) + b"\0" * 512, FileReason.FILE_GZIP_DAMAGED),
        (gzip.compress(HEAD.encode()) + b"1\t1\t.\tA\tC\t.\tPASS\t.\n", FileReason.FILE_GZIP_DAMAGED),
        (SOUND.replace("VCFv4.2", "VCFv4.10").encode(), FileReason.VCF_VERSION),
        (SOUND.replace("VCFv4.2", "vcfv4.2").encode(), FileReason.VCF_VERSION),
        (SOUND.replace("#CHROM", "#chrom").encode(), FileReason.VCF_COLUMN_LINE),
        (HEAD.encode() + b"1\t1\t.\tA\tC\t.\tPASS\tX=" + b"y" * (5 << 20), FileReason.FILE_LINE_TOO_LONG),
    ],
    ids=lambda value: value if isinstance(value, str) else str(len(value)),
)
def test_files_that_are_something_else_are_refused(tmp_path: Path, small: FastaReference, content: bytes, refusal: FileReason):
    assert judge(tmp_path / "a.vcf", content, reference=small).refused_for is refusal


@pytest.mark.parametrize("version", ["4.0", "4.1", "4.2", "4.3", "4.4", "4.5"])
def test_every_version_there_is_is_read(tmp_path: Path, small: FastaReference, version: str):
    assert judge(tmp_path / "a.vcf", SOUND.replace("4.2", version), reference=small).summary.accepted == 1


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ("1\t0\t.\tA\tC\t.\t.\t.", FileReason.VCF_POSITION),
        ("1\t+1\t.\tA\tC\t.\t.\t.", FileReason.VCF_POSITION),
        ("1\t١\t.\tA\tC\t.\t.\t.", FileReason.VCF_POSITION),
        ("1\t" + "9" * 400 + "\t.\tA\tC\t.\t.\t.", FileReason.VCF_POSITION),
        ("1\t61\t.\tN\tC\t.\t.\t.", FileReason.VCF_PAST_END),
        ("1\t59\t.\tGAT\tG\t.\t.\t.", FileReason.VCF_PAST_END),
        ("1\t1\0\t.\tA\tC\t.\t.\t.", FileReason.VCF_CONTROL_CHARACTER),
        ("1\t1\t.\tA\tC\t.\tPA\x0bSS\t.", FileReason.VCF_CONTROL_CHARACTER),
        ("1\t1\t.\tA\tC\t.\t.\t.\r", FileReason.VCF_CONTROL_CHARACTER),
        ("\ufeff1\t1\t.\tA\tC\t.\t.\t.", FileReason.VCF_UNKNOWN_CONTIG),
        ("CHR1\t1\t.\tA\tC\t.\t.\t.", FileReason.VCF_UNKNOWN_CONTIG),
        ("1\u00a01\u00a0.\u00a0A\u00a0C\u00a0.\u00a0.\u00a0.", FileReason.VCF_COLUMNS),
        ("1\t1\t.\t*\tC\t.\t.\t.", FileReason.VCF_REF_ALPHABET),
        ("1\t1\t.\tA\tA[2:3]\t.\t.\t.", FileReason.VCF_ALT_ALPHABET),
    ],
)
def test_a_row_that_only_looks_sound_is_refused_with_its_reason(tmp_path: Path, small: FastaReference, row: str, code: FileReason):
    assert (
        judge(tmp_path / "a.vcf", f"{HEAD}{row}\r\n" if row.endswith("\r") else f"{HEAD}{row}\n", reference=small).only.code is code
    )


def test_ten_thousand_samples_and_megabyte_lines_are_read(tmp_path: Path, small: FastaReference):
    names = [f"s{n}" for n in range(10_000)]
    wide = vcf(f"1 1 . A C . PASS X={'y' * 1_000_000} GT " + " ".join(["0/1"] * 9_999 + ["1/1"]), samples=names)
    assert judge(tmp_path / "a.vcf", wide, reference=small, sample="s9999").only.zygosity == "homozygous"


def test_blocks_may_be_empty_joined_and_of_a_byte_each(tmp_path: Path, small: FastaReference):
    path = tmp_path / "a.vcf.gz"
    row = "1\t2\t.\tC\tT\t.\tPASS\t.\n"
    joined = END * 500 + bgzip(path, SOUND) + bgzip(path, row)
    single = b"".join(gzip.compress(bytes([byte])) for byte in (SOUND + row).encode())
    assert [judge(path, content, reference=small).summary.accepted for content in (joined, single)] == [2, 2]


@pytest.mark.parametrize(
    ("wrong", "refusal"),
    [(20, FileReason.VCF_WRONG_REFERENCE), (10, FileReason.VCF_MIXED_REFERENCE), (2, None), (3, FileReason.VCF_MIXED_REFERENCE)],
)
def test_the_share_of_ref_that_disagrees_decides(tmp_path: Path, small: FastaReference, wrong: int, refusal: FileReason | None):
    rows = []
    for n, base in enumerate(ONE[:20]):
        ref = base if n >= wrong else "ACGT"["ACGT".index(base) - 1]
        rows.append(f"1 {n + 1} {ref} {'ACGT'['ACGT'.index(ref) - 2]}")
    assert judge(tmp_path / "a.vcf", sites(*rows), reference=small).refused_for is refusal
