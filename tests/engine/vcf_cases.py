"""A small reference, VCF files written for it, and the command that scores them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pysam
import pytest

from engine.__main__ import main

BASES = "".join(random.Random(21).choices("ACGT", k=900))
HEADER = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"


def write_reference(folder: Path) -> Path:
    """Two contigs, one of them in lower case, with an N and an IUPAC code far from everything else."""
    path = folder / "reference.fa"
    path.write_text(f">one first\n{BASES[:450]}\n{BASES[450:]}\n>two\n{BASES[:300].lower()}NR{BASES[:300].lower()}\n")
    return path


def write_vcf(folder: Path, *records: str, header: str = HEADER, name: str = "in.vcf") -> Path:
    """Records with spaces for tabs; what is missing of eight columns is filled with dots."""
    lines = ["\t".join([*record.split(), *["."] * 8][: max(8, len(record.split()))]) for record in records]
    path = folder / name
    path.write_text(header + "".join(f"{line}\n" for line in lines))
    return path


def other(base: str) -> str:
    return base.translate(str.maketrans("ACGT", "CGTA"))


def snv(position: int, contig: str = "one", info: str = ".") -> str:
    """A record on contig one, or on another with its bases."""
    base = BASES[position - 1]
    return f"{contig} {position} . {base} {other(base)} . . {info}"


def value(record: pysam.VariantRecord, name: str) -> Any:
    return record.info.get(f"HELICASE_{name}")


@dataclass
class Command:
    """`score --vcf` with one model and one reference."""

    checkpoint: Path
    reference: Path
    capsys: pytest.CaptureFixture[str]

    def __call__(self, vcf: Path, *arguments: object, window: int = 64) -> int:
        """Run it; the exit status."""
        files = ["--reference", str(self.reference), "--vcf", str(vcf), "--window", str(window)]
        return main(["score", "--model", str(self.checkpoint), *files, *map(str, arguments)])

    def error(self) -> list[str]:
        """What has been written to standard error since it was last asked."""
        return self.capsys.readouterr().err.splitlines()

    def scored(self, vcf: Path, *arguments: object, window: int = 64, status: int = 0) -> list[pysam.VariantRecord]:
        """The records of the result, read by htslib; silent but for what needs a look."""
        out = vcf.parent / "out.vcf"
        assert self(vcf, "--out", out, "--quiet", *arguments, window=window) == status
        with pysam.VariantFile(str(out)) as found:
            return list(found)

    def refused(self, vcf: Path, *arguments: object, window: int = 64) -> str:
        """The one line of a command that writes nothing."""
        out = vcf.parent / "refused.vcf"
        assert self(vcf, "--out", out, *arguments, window=window) == 2
        assert not out.exists()
        (line,) = self.error()
        return line
