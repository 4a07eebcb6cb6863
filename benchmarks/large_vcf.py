"""A large VCF of real variants: dbSNP records of the APP region at their real places, called for one sample, block-compressed."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator
from pathlib import Path

import pysam

from benchmarks.measured import NotMeasured
from benchmarks.peer import ROOT

REGION_START = 24_985_581  # GRCh38 chromosome 21, of the first base of `workloads.APP`
DBSNP = ROOT.parent / "shared" / "data" / "chr21_app" / "dbsnp149_clinvar201704_chr21_snvs.tsv.gz"
_COLUMNS = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tNA00001\n"
_AT_ONCE = 20_000  # records between two looks at the size
_DIFFERENT = 20_000  # calls and annotations; a block holds some hundred, so that equal ones hardly ever meet in one


def write(path: Path, *, size: int, contig: str, length: int) -> int:
    """Records, again from the first when there are no more, until the file has `size` bytes; how many there are."""
    drawn, records, written = random.Random(21), list(_records()), 0
    calls = [_information(drawn) for _ in range(_DIFFERENT)]
    with pysam.BGZFile(str(path), "w") as file:
        file.write(f"##fileformat=VCFv4.3\n##contig=<ID={contig},length={length}>\n{_COLUMNS}".encode())
        while path.stat().st_size < size:
            rows = []
            for position, name, ref, alt in _slice(records, written):
                rows.append(f"{contig}\t{position}\t{name}\t{ref}\t{alt}\t{drawn.choice(calls)}\n")
            file.write("".join(rows).encode())
            written += len(rows)
    return written


def _slice(records: list[tuple[int, str, str, str]], written: int) -> list[tuple[int, str, str, str]]:
    at = written % len(records)
    return records[at : at + _AT_ONCE]


def _records() -> Iterator[tuple[int, str, str, str]]:
    if not DBSNP.is_file():
        raise NotMeasured(f"the table {DBSNP.name} is not on this machine (see docs/benchmarks.md)")
    with gzip.open(DBSNP, "rt") as file:
        next(file)
        for line in file:
            _, position, name, ref, alt, *_ = line.split("\t")
            yield int(position) - REGION_START + 1, name, ref, alt


def _information(drawn: random.Random) -> str:
    """QUAL to the call as a germline caller and an annotator write them, with numbers that compress as badly as real ones."""
    depth, first = drawn.randint(8, 90), drawn.randint(1, 60)
    quality, other = drawn.randint(20, 99), drawn.randint(100, 2000)
    ranks = ";".join(f"{key}={drawn.gauss(0, 1):.3f}" for key in ("BaseQRankSum", "MQRankSum", "ReadPosRankSum"))
    figures = ";".join(f"{key}={drawn.uniform(0, 60):.2f}" for key in ("FS", "MQ", "QD", "SOR", "VQSLOD", "CADD", "GERP"))
    shares = ";".join(f"AF_{group}={drawn.random() ** 4:.3e}" for group in ("afr", "amr", "asj", "eas", "fin", "nfe", "sas"))
    genotype = drawn.choice(("0/1", "1/1", "0|1"))
    call = f"{genotype}:{first},{depth}:{depth + first}:{quality}:{other},0,{drawn.randint(100, 2000)}"
    said = f"AC=1;AF=0.500;AN=2;DP={depth};{ranks};{figures};{shares}"
    return f"{drawn.uniform(30, 3000):.2f}\tPASS\t{said}\tGT:AD:DP:GQ:PL\t{call}"
