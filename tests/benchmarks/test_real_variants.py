"""Tables of real variants become VCF files on their slice of the genome, or are refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from benchmarks.real_variants import NotInSlice, Table, write

TABLE = Table("made", "table.tsv", "slice.fa", "place", identifier="id", label=("class", "CLASS"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "slice.fa").write_text(">chr7:101-110 GRCh38 plus strand\nACGTA\nCGTAC\n")
    (tmp_path / "table.tsv").write_text("place\tid\tref\talt\tclass\n106\trs2\tC\tT\tLOF\n101\trs1\tA\tG\tFUNC\n")
    return tmp_path


def test_places_are_moved_to_the_slice_and_records_are_in_order(data: Path) -> None:
    assert write(TABLE, data, data / "out.vcf") == 2
    lines = (data / "out.vcf").read_text().splitlines()
    assert lines[1] == "##contig=<ID=chr7:101-110,length=10>"
    assert lines[-2:] == [f"chr7:101-110\t{rest}" for rest in ("1\trs1\tA\tG\t.\t.\tCLASS=FUNC", "6\trs2\tC\tT\t.\t.\tCLASS=LOF")]


def test_a_table_without_names_or_labels_has_dots(data: Path) -> None:
    write(dataclasses.replace(TABLE, identifier=None, label=None), data, data / "out.vcf")
    assert (data / "out.vcf").read_text().endswith("\t6\t.\tC\tT\t.\t.\t.\n")


@pytest.mark.parametrize("row", ["106\trs2\tG\tT\tLOF", "111\trs2\tA\tT\tLOF", "100\trs2\tC\tT\tLOF"])
def test_a_base_that_the_slice_does_not_have_is_an_error(data: Path, row: str) -> None:
    (data / "table.tsv").write_text(f"place\tid\tref\talt\tclass\n{row}\n")
    with pytest.raises(NotInSlice):
        write(TABLE, data, data / "out.vcf")
