"""What kind of file this is, by its first bytes: names and extensions are only quoted, never believed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from foundation.file_reasons import FileReason
from orders.intake.errors import FileRefused
from orders.intake.lines import BYTE_ORDER_MARK
from orders.intake.reading import GZIP_MAGIC
from orders.intake.shown import shown
from orders.intake.verdicts import Kind, Tally

ENOUGH = 4 << 10
BLANK_AT_MOST = 1 << 20
MOSTLY_TEXT = 0.05  # share of control characters above which the first bytes are no text

MAGIC = {
    b"PK\x03\x04": "a ZIP archive (or an Excel or Word file)",
    b"BCF": "a BCF file; convert it with “bcftools view”",
    b"BAM\x01": "a BAM file of aligned reads",
    b"CRAM": "a CRAM file of aligned reads",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"%PDF": "a PDF document",
    GZIP_MAGIC: "compressed twice",
    b"@HD\t": "a SAM file of aligned reads",
    b"@SQ\t": "a SAM file of aligned reads",
}

MARKS = (b"##", b"#CHROM", b">", b"@")  # a file that begins so is judged line by line, whatever follows

EXTENSIONS = {
    Kind.VCF: (".vcf",),
    Kind.FASTA: (".fa", ".fasta", ".fna", ".ffn"),
    Kind.FASTQ: (".fq", ".fastq"),
}


def first_bytes(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Enough of the text to judge by, and the whole text again."""
    start = b""
    for chunk in chunks:
        start += chunk
        if len(start) >= (ENOUGH if start.strip() else BLANK_AT_MOST):
            break
    return start, itertools.chain([start] if start else [], chunks)


def kind_of(start: bytes) -> Kind:
    """VCF, FASTA or FASTQ; raises FileRefused for everything else."""
    if not start:
        raise FileRefused(FileReason.FILE_EMPTY)
    _refuse_binary(start)
    text = start.removeprefix(BYTE_ORDER_MARK)
    blank = len(text) - len(text.lstrip())
    number = text[:blank].count(b"\n") + 1
    line = text[blank:].split(b"\n", 1)[0].rstrip()
    if not line:
        raise FileRefused(FileReason.FILE_BLANK)
    if line.startswith((b"##", b"#CHROM")):
        return Kind.VCF
    if line.startswith(b">"):
        return Kind.FASTA
    if line.startswith(b"@"):
        return Kind.FASTQ
    raise _unknown(line, number)


def note_name(filename: str, kind: Kind, tally: Tally) -> None:
    """Say it where the name promises another kind than the content holds."""
    name = filename.lower().removesuffix(".gz").removesuffix(".bgz")
    for named, endings in EXTENSIONS.items():
        if named is not kind and name.endswith(endings):
            tally.note(FileReason.FILE_NAME_KIND, None, name=shown(filename), named=named.upper(), kind=kind.upper())


def _refuse_binary(start: bytes) -> None:
    if not start.strip(b"\0"):
        raise FileRefused(FileReason.FILE_ZEROS)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or _every_other_is_zero(start):
        raise FileRefused(FileReason.FILE_UTF16)
    for magic, what in MAGIC.items():
        if start.startswith(magic):
            raise FileRefused(FileReason.FILE_BINARY, what=what)
    head = start[:ENOUGH]
    control = sum(byte < 9 or 13 < byte < 32 or byte == 127 for byte in head)
    if control > MOSTLY_TEXT * len(head) and not head.startswith(MARKS):
        raise FileRefused(FileReason.FILE_BINARY, what="binary data")
    if b"\n" not in start and start.rstrip(b"\r").count(b"\r") > 0:
        raise FileRefused(FileReason.FILE_OLD_LINE_ENDS)


def _every_other_is_zero(start: bytes) -> bool:
    head = start[:64]
    return len(head) >= 8 and (not any(head[1::2]) or not any(head[0::2]))


def _unknown(line: bytes, number: int) -> FileRefused:
    columns = line.split(b"\t") if b"\t" in line else line.split()
    if len(columns) >= 5 and columns[1].isdigit():
        return FileRefused(FileReason.VCF_NO_HEADER, at_line=number)
    if line.isalpha() and not line.translate(None, b"ACGTUNacgtun"):
        return FileRefused(FileReason.FASTA_NO_NAME_LINE, at_line=number)
    return FileRefused(FileReason.FILE_UNKNOWN_KIND, at_line=number, line=number, start=shown(line, 30))
