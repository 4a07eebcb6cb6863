"""Small bad inputs for people to try: each breaks one thing of a good file."""

from __future__ import annotations

import gzip
from pathlib import Path

GOOD = 6  # sound records that stay around the broken one


def write(folder: Path, *, ecoli: Path, rcrs: Path) -> None:
    lines = ecoli.read_text().splitlines()
    header = [line for line in lines if line.startswith("#")]
    good = [line for line in lines if not line.startswith("#")][:GOOD]
    contig, position, ref = good[0].split("\t")[0], good[2].split("\t")[1], good[2].split("\t")[3]
    other = next(base for base in "ACGT" if base != ref)
    rows = {
        "wrong_ref.vcf": _row(contig, position, other, ref),
        "unknown_contig.vcf": _row("chrUnknown", position, ref, other),
        "past_the_end.vcf": _row(contig, "99999999", ref, other),
        "position_zero.vcf": _row(contig, "0", ref, other),
        "iupac_ref.vcf": _row(contig, position, "R", other),
    }
    for name, row in rows.items():
        _save(folder / name, [*header, *good[:2], row, *good[3:]])
    symbolic = [_row(contig, position, ref, alt) for alt in ("<DEL>", "<DUP>", "<INV>", "*", "<*>", f"{ref}[{contig}:9[", ".")]
    _save(folder / "symbolic_alleles.vcf", [*header, *good[:2], *symbolic])
    _save(folder / "header_only.vcf", header)
    _save(folder / "no_header.vcf", good)
    _save(folder / "spaces_for_tabs.vcf", [*header, *(row.replace("\t", "    ") for row in good)])
    _save(folder / "two_files_joined.vcf", [*header, *good, *header, *good])
    _save(folder / "not_a_vcf.vcf", ["Dear colleague,", "the variants are in the attachment.", "Kind regards"])
    (folder / "windows_line_ends.vcf").write_bytes("".join(f"{line}\r\n" for line in [*header, *good]).encode())
    (folder / "empty.vcf").write_bytes(b"")
    packed = gzip.compress("\n".join([*header, *good]).encode(), mtime=0)
    (folder / "cut_off.vcf.gz").write_bytes(packed[: len(packed) * 2 // 3])
    _wrong_build(folder / "wrong_build.vcf", rcrs)
    _save(folder / "reads_cut_off.fastq", ["@read1", "ACGTACGT", "+", "IIIIIIII", "@read2", "ACGTAC"])
    _save(folder / "letters.fasta", [">sound", "ACGTACGTAC", ">protein", "MKALTARQQEV", ">nothing", ">sound", "ACGT"])


def _row(contig: str, position: str, ref: str, alt: str) -> str:
    return "\t".join((contig, position, ".", ref, alt, ".", ".", "."))


def _save(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n")


def _wrong_build(path: Path, rcrs: Path) -> None:
    """The mitochondrial variants as if they were called on the other chrM, the one of hg19."""
    lines = [line for line in rcrs.read_text().splitlines() if line.startswith("#")]
    declared = [line.replace("<ID=chrMT>", "<ID=chrM,length=16571>") for line in lines if not line.startswith("#CHROM")]
    columns = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
    _save(path, [*declared, columns, "chrM\t73\t.\tG\tA\t.\tPASS\t.", "chrM\t150\t.\tT\tC\t.\tPASS\t."])
