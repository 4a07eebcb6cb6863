"""The file as a whole: what it is, whether it is complete, and how far it may unpack."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import pysam
import pytest

from foundation.file_reasons import FileReason
from orders import intake
from orders.intake import FastaReference, Kind, Limits, NotFinished, State
from tests.intake.judging import judge, sites, vcf

SOUND = sites("1 1 A C", "1 2 C T")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", FileReason.FILE_EMPTY),
        (b"\n \n", FileReason.FILE_BLANK),
        (b"hello, world\n", FileReason.FILE_UNKNOWN_KIND),
        (b"\x7fELF\x02\x01\x01" + bytes(range(32)) * 9, FileReason.FILE_BINARY),
        (b"PK\x03\x04rest of a spreadsheet", FileReason.FILE_BINARY),
        (b"BCF\x02\x02rest", FileReason.FILE_BINARY),
        (b"@HD\tVN:1.6\n", FileReason.FILE_BINARY),
        (SOUND.encode("utf-16"), FileReason.FILE_UTF16),
        (SOUND.replace("\n", "\r").encode(), FileReason.FILE_OLD_LINE_ENDS),
        (b"ACGTACGT\nACGT\n", FileReason.FASTA_NO_NAME_LINE),
        (b"1\t1\t.\tA\tC\n", FileReason.VCF_NO_HEADER),
        (b"##fileformat=VCFv4.2\n1\t1\t.\tA\tC\n", FileReason.VCF_NO_HEADER),
        (b"##fileformat=VCFv4.2\n", FileReason.VCF_NO_HEADER),
        (b"##fileformat=VCFv3.3\n", FileReason.VCF_VERSION),
        (b"##fileformat=VCFv4.2\n#CHROM POS ID REF ALT QUAL FILTER INFO\n", FileReason.VCF_COLUMN_LINE),
        (b"##fileformat=VCFv4.2\n#CHROM\tPOS\tREF\n", FileReason.VCF_COLUMN_LINE),
        (vcf().encode(), FileReason.VCF_NO_RECORDS),
        ((SOUND + SOUND).encode(), FileReason.VCF_SECOND_HEADER),
    ],
)
def test_what_is_no_sound_file_is_refused_with_its_code(tmp_path: Path, small: FastaReference, content, code):
    judged = judge(tmp_path / "a.vcf", content, reference=small)
    assert (judged.summary.state, judged.refused_for) == (State.REFUSED, code)


def test_fifty_megabytes_of_zeros_are_refused_from_the_first_chunk(tmp_path: Path, small: FastaReference):
    path = tmp_path / "zeros.vcf"
    with path.open("wb") as file:
        file.truncate(50 << 20)
    judged = judge(path, reference=small)
    assert judged.refused_for is FileReason.FILE_ZEROS
    assert judged.summary.bytes_read < 1 << 20


def test_zeros_behind_a_sound_beginning_are_refused_within_the_line_limit(tmp_path: Path, small: FastaReference):
    path = tmp_path / "zeros.vcf"
    path.write_text(sites(*["1 1 A C"] * 400))
    with path.open("r+b") as file:
        file.truncate(50 << 20)
    judged = judge(path, reference=small)
    assert (judged.refused_for, judged.summary.refusal.line) == (FileReason.FILE_LINE_TOO_LONG, 403)
    assert judged.summary.bytes_read < 5 << 20


@pytest.mark.parametrize("level", [1, 9])
def test_a_gzip_bomb_is_stopped_while_it_unpacks(tmp_path: Path, small: FastaReference, level):
    packer = zlib.compressobj(level, zlib.DEFLATED, 31)
    bomb = packer.compress(SOUND.encode()) + b"".join(packer.compress(b"#" * 99 + b"\n") for _ in range(600_000)) + packer.flush()
    judged = judge(tmp_path / "bomb.vcf.gz", bomb, reference=small, limits=Limits(ratio_floor=4 << 20, max_ratio=100))
    assert judged.refused_for is FileReason.FILE_GZIP_BOMB
    assert judged.summary.bytes_of_text < 48 << 20


def test_a_file_larger_than_the_limit_is_refused_packed_or_not(tmp_path: Path, small: FastaReference):
    limits = Limits(max_decompressed=len(SOUND) - 1)
    for name, content in (("a.vcf", SOUND.encode()), ("a.vcf.gz", gzip.compress(SOUND.encode()))):
        assert judge(tmp_path / name, content, reference=small, limits=limits).refused_for is FileReason.FILE_TOO_LARGE


def test_gzip_of_any_number_of_members_reads_as_one_text(tmp_path: Path, small: FastaReference):
    content = b"".join(gzip.compress(SOUND[i : i + 7].encode()) for i in range(0, len(SOUND), 7))
    judged = judge(tmp_path / "a.vcf.gz", content, reference=small)
    assert (judged.summary.state, judged.summary.compression, judged.summary.items) == (State.ACCEPTED, "gzip", 2)


def test_bgzip_is_read_and_named(tmp_path: Path, small: FastaReference):
    path = tmp_path / "a.vcf.gz"
    with pysam.BGZFile(str(path), "w") as file:
        file.write(SOUND.encode())
    judged = judge(path, reference=small)
    assert (judged.summary.state, judged.summary.compression) == (State.ACCEPTED, "bgzip")


def test_bgzip_cut_off_between_two_blocks_is_not_taken_for_a_shorter_file(tmp_path: Path, small: FastaReference):
    path = tmp_path / "a.vcf.gz"
    with pysam.BGZFile(str(path), "w") as file:
        file.write(SOUND.encode())
    judged = judge(path, path.read_bytes()[:-28], reference=small)
    assert judged.refused_for is FileReason.FILE_BGZIP_NO_END


def test_gzip_cut_off_anywhere_is_refused(tmp_path: Path, small: FastaReference):
    packed = gzip.compress(SOUND.encode())
    codes = {judge(tmp_path / "a.vcf.gz", packed[:end], reference=small).refused_for for end in range(3, len(packed))}
    assert codes == {FileReason.FILE_GZIP_TRUNCATED}


def test_gzip_with_a_flipped_bit_is_refused(tmp_path: Path, small: FastaReference):
    packed = bytearray(gzip.compress(SOUND.encode()))
    packed[-6] ^= 1  # the checksum
    assert judge(tmp_path / "a.vcf.gz", bytes(packed), reference=small).refused_for is FileReason.FILE_GZIP_DAMAGED


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (lambda text: text.replace("\n", "\r\n"), FileReason.FILE_CRLF),
        (lambda text: text.rstrip("\n"), FileReason.FILE_NO_FINAL_NEWLINE),
        (lambda text: "\ufeff" + text, FileReason.FILE_BOM),
        (lambda text: text + "\n\n", FileReason.FILE_BLANK_LINES),
        (lambda text: text + "#1\t3\t.\tG\tT\n", FileReason.VCF_COMMENT_LINE),
        (lambda text: text.partition("\n")[2], FileReason.VCF_NO_FILEFORMAT),
    ],
    ids=["crlf", "no-newline", "bom", "blank", "comment", "no-fileformat"],
)
def test_harmless_oddities_are_read_and_said(tmp_path: Path, small: FastaReference, change, note):
    judged = judge(tmp_path / "a.vcf", change(SOUND), reference=small)
    assert (judged.summary.state, judged.summary.items) == (State.ACCEPTED, 2)
    assert note in judged.notes


def test_the_name_is_not_believed_but_said(tmp_path: Path):
    judged = judge(tmp_path / "genes.vcf", ">a\nACGT\n")
    assert (judged.summary.kind, judged.notes) == (Kind.FASTA, {FileReason.FILE_NAME_KIND})


def test_a_kind_the_test_does_not_take_is_refused(tmp_path: Path):
    judged = judge(tmp_path / "a.fa", ">a\nACGT\n", accept=frozenset({Kind.VCF}))
    assert judged.refused_for is FileReason.FILE_KIND_NOT_ACCEPTED


def test_a_vcf_needs_a_reference(tmp_path: Path):
    assert judge(tmp_path / "a.vcf", SOUND).refused_for is FileReason.FILE_NO_REFERENCE


def test_more_items_than_the_limit_refuse_the_file_at_that_line(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", SOUND, reference=small, limits=Limits(max_items=1))
    assert (judged.refused_for, judged.summary.refusal.line) == (FileReason.FILE_TOO_MANY_ITEMS, 4)


def test_a_header_larger_than_the_limit_is_refused(tmp_path: Path, small: FastaReference):
    judged = judge(tmp_path / "a.vcf", "##x=y\n" * 100 + SOUND, reference=small, limits=Limits(max_header=300))
    assert judged.refused_for is FileReason.VCF_HEADER_TOO_LARGE


def test_progress_reaches_the_end_of_the_file(tmp_path: Path, small: FastaReference):
    path, seen = tmp_path / "a.vcf", []
    path.write_text(sites(*(f"1 1 A {'C' * 200}" for _ in range(3_000))))
    intake.check(path, filename="a.vcf", reference=small, progress=seen.append).run()
    assert [at.bytes_read for at in seen] == sorted(at.bytes_read for at in seen)
    assert seen[-1].bytes_read == seen[-1].bytes_total == path.stat().st_size


def test_the_summary_waits_for_the_last_verdict(tmp_path: Path, small: FastaReference):
    path = tmp_path / "a.vcf"
    path.write_text(SOUND)
    check = intake.check(path, filename="a.vcf", reference=small)
    next(iter(check))
    with pytest.raises(NotFinished):
        _ = check.summary
