"""`python -m benchmarks.real_variants DATA FOLDER`: tables of real variants as VCF files on the slices of genome beside them.

`DATA` is the folder of original data, which is not in this repository; what it holds is cited in its manifest. A slice is a contig
of its own, so positions are moved: place in the slice = place on the chromosome − first place of the slice + 1. No base is changed,
and a base that the slice does not have is an error.
"""

from __future__ import annotations

import csv
import gzip
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_PLACE = re.compile(r">(\S+:(\d+)-\d+)")


class NotInSlice(ValueError):
    """The table and the slice of genome do not belong together."""


@dataclass(frozen=True)
class Table:
    """Where a table of single-base changes lies, and which of its columns are what."""

    name: str
    path: str
    reference: str
    position: str
    identifier: str | None = None
    label: tuple[str, str] | None = None  # column, and its name in INFO


TABLES = (
    Table(
        "dbsnp",
        "chr21_app/dbsnp149_clinvar201704_chr21_snvs.tsv.gz",
        "chr21_app/GRCh38.chr21_24985581_26000306.fa.gz",
        "pos",
        identifier="id",
    ),
    Table(
        "brca1",
        "brca1/findlay2018_brca1_sge.tsv",
        "human/BRCA1.GRCh37.chr17_41176312_41370000.fa.gz",
        "pos_grch37",
        label=("func.class", "CLASS"),
    ),
)


def main(data: Path, folder: Path) -> None:
    """Write NAME.vcf for every table, and say how many records it has."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in TABLES:
        count = write(table, data, folder / f"{table.name}.vcf")
        print(f"{folder / table.name}.vcf: {count:,} records, of the reference {data / table.reference}")


def write(table: Table, data: Path, out: Path) -> int:
    """Records in the order of their places; how many."""
    contig, start, bases = _slice(data / table.reference)
    with _text(data / table.path) as lines, out.open("w", encoding="ascii", newline="\n") as file:
        file.write(f"##fileformat=VCFv4.3\n##contig=<ID={contig},length={len(bases)}>\n")
        if table.label is not None:
            column, name = table.label
            file.write(f'##INFO=<ID={name},Number=1,Type=String,Description="{column} of the table">\n')
        file.write("#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n")
        records = sorted(_records(table, csv.DictReader(lines, delimiter="\t"), start, bases))
        file.writelines(f"{contig}\t{place}\t{name}\t{ref}\t{alt}\t.\t.\t{info}\n" for place, ref, alt, name, info in records)
    return len(records)


def _records(table: Table, rows: Iterable[dict[str, str]], start: int, bases: str) -> Iterator[tuple[int, str, str, str, str]]:
    for row in rows:
        place = int(row[table.position]) - start + 1
        if not 1 <= place <= len(bases) or bases[place - 1] != row["ref"]:
            raise NotInSlice(f"{table.name}: {row['ref']} at {row[table.position]} is not what {table.reference} holds")
        name = "." if table.identifier is None else row[table.identifier]
        info = "." if table.label is None else f"{table.label[1]}={row[table.label[0]]}"
        yield place, row["ref"], row["alt"], name, info


def _slice(path: Path) -> tuple[str, int, str]:
    """Name, first place on the chromosome (1-based) and upper-case bases of the one contig of a file."""
    with _text(path) as lines:
        header = next(lines)
        bases = "".join(line.strip() for line in lines).upper()
    found = _PLACE.match(header)
    if found is None:
        raise NotInSlice(f"{path.name} does not say where it lies")
    return found[1], int(found[2]), bases


def _text(path: Path) -> IO[str]:
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
