"""The header of a scored VCF declares whatever its records name, so that BCF can hold them; what no header can declare is told."""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path

import pysam
import pysam.bcftools
import pytest

from engine.command_line import source, survey
from tests.engine.vcf_cases import BASES, HEADER, Command, other, snv, value, write_vcf

pytestmark = pytest.mark.usefixtures("proven_once")


def through_bcf(vcf: Path) -> list[pysam.VariantRecord]:
    """The records after bcftools has made BCF of them, which refuses what no header line declares."""
    pysam.bcftools.view("-Ob", "-o", str(vcf.with_suffix(".bcf")), str(vcf), catch_stdout=False)
    with pysam.VariantFile(str(vcf.with_suffix(".bcf"))) as found:
        return list(found)


def meta(vcf: Path, kind: str) -> list[str]:
    """Header lines of one kind but ours."""
    lines = vcf.read_text().splitlines()
    return [line for line in lines if line.startswith(f"##{kind}=") and "ID=HELICASE_" not in line]


def test_contigs_of_refused_records_are_declared_wherever_they_first_come(command: Command, folder: Path) -> None:
    names = ["one", "three", "HLA-A*01:01", "chrtwo", "three", "chrone", "one"]
    command(write_vcf(folder, *(snv(300, name) for name in names)), "--out", folder / "out.vcf", "--quiet")
    found = through_bcf(folder / "out.vcf")
    assert [record.chrom for record in found] == names
    assert [value(record, "CODE") is None for record in found] == [name not in ("three", "HLA-A*01:01") for name in names]
    lengths = {"one": ",length=900", "chrone": ",length=900", "chrtwo": ",length=602", "three": "", "HLA-A*01:01": ""}
    assert meta(folder / "out.vcf", "contig") == [f"##contig=<ID={name}{length}>" for name, length in lengths.items()]


@pytest.mark.parametrize(("declared", "used"), [("chrone", "one"), ("one", "chrone")])
def test_a_contig_is_declared_as_its_records_spell_it_beside_the_other_spelling(
    command: Command, folder: Path, declared: str, used: str
) -> None:
    header = HEADER.replace("#CHROM", f"##contig=<ID={declared},length=900>\n#CHROM")
    command(write_vcf(folder, snv(300, used), header=header), "--out", folder / "out.vcf", "--quiet")
    assert [record.chrom for record in through_bcf(folder / "out.vcf")] == [used]


def test_keys_that_the_header_lacks_are_declared_as_their_values_are(command: Command, folder: Path) -> None:
    infos = ["K=x;DB;N=3;M=3,4;F=0.5;KNOWN=1", "K=y;DB;N=-7;F=1e-3;L=99999999999", ".", "HELICASE_OLD=3;N=."]
    lines = [
        f"one {place} . {BASES[place - 1]} {other(BASES[place - 1])} . {'q10;s50' if place > 300 else 'PASS'} {info} GT:XX 0/1:a,b"
        for place, info in enumerate(infos, 300)
    ]
    header = HEADER.replace("#CHROM", '##INFO=<ID=KNOWN,Number=1,Type=Float,Description="a, b,ID=K">\n#CHROM')
    vcf = write_vcf(folder, *lines, header=header.rstrip() + "\tFORMAT\tsample\n")
    command(vcf, "--out", folder / "out.vcf", "--quiet")
    assert len(through_bcf(folder / "out.vcf")) == len(infos)
    kinds = [line.partition(",Description")[0] for kind in ("FILTER", "INFO", "FORMAT") for line in meta(folder / "out.vcf", kind)]
    assert kinds == [
        "##FILTER=<ID=q10",
        "##FILTER=<ID=s50",
        "##INFO=<ID=KNOWN,Number=1,Type=Float",
        "##INFO=<ID=K,Number=1,Type=String",
        "##INFO=<ID=DB,Number=0,Type=Flag",
        "##INFO=<ID=N,Number=1,Type=Integer",
        "##INFO=<ID=M,Number=.,Type=Integer",
        "##INFO=<ID=F,Number=1,Type=Float",
        "##INFO=<ID=L,Number=1,Type=String",
        "##FORMAT=<ID=GT,Number=1,Type=String",
        "##FORMAT=<ID=XX,Number=1,Type=String",
    ]


def test_events_without_a_declared_end_have_one_in_the_result(command: Command, folder: Path) -> None:
    (record,) = command.scored(write_vcf(folder, f"one 300 . {BASES[299]} <DEL> . . END=310"))
    assert value(record, "SCORED_AS") == ("whole",)
    (found,) = through_bcf(folder / "out.vcf")
    assert found.stop == 310


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ("a,b 300 . A C", "CHROM a,b is no name: it holds a comma, a quote or an angle bracket"),
        ("<ctg1> 300 . A C", "CHROM <ctg1> is no name"),
        ("one 300 . A C . q<10", "FILTER q<10 is no name"),
        ('one 300 . A C . . K"=3', 'INFO K" is no name'),
        ("one 300 . A C x", "QUAL x is no number"),
    ],
)
def test_a_name_that_no_header_can_declare_is_told_with_its_line(command: Command, folder: Path, record: str, words: str) -> None:
    assert [found.pos for found in command.scored(write_vcf(folder, snv(301), record), status=1)] == [301]
    (said,) = command.error()
    assert said.startswith(f"engine: line 4 was left out: {words}")


@pytest.mark.parametrize("quality", [".", "0", "29.5", "1e3", ".5", "-1", "Inf", "nan"])
def test_a_quality_may_be_any_number(command: Command, folder: Path, quality: str) -> None:
    assert len(command.scored(write_vcf(folder, f"one 300 . {BASES[299]} {other(BASES[299])} {quality}"))) == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("##INFO=<ID=K,Number=1", "its quotes or angle brackets do not close"),
        ('##FILTER=<ID=q<10,Description="x">', "its quotes or angle brackets do not close"),
        ('##FILTER=<ID=q,Description="x>', "its quotes or angle brackets do not close"),
        ("##weird", "it is no line of a header"),
    ],
)
def test_a_broken_line_of_the_header_is_left_out_before_it_swallows_others(
    command: Command, folder: Path, line: str, words: str
) -> None:
    header = HEADER.replace("#CHROM", f'{line}\n##FILTER=<ID=s,Description="a <b> \\" c">\n#CHROM')
    command.scored(write_vcf(folder, snv(300), header=header), status=1)
    (said,) = command.error()
    assert said.startswith(f"engine: line 2 was left out: {words}")
    assert len(meta(folder / "out.vcf", "FILTER")) == 1
    assert len(through_bcf(folder / "out.vcf")) == 1


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("\t", "behind INFO stands nothing, or FORMAT and at least one sample"),
        ("\tFORMAT", "behind INFO stands nothing, or FORMAT and at least one sample"),
        ("\tGT\tAnna", "behind INFO stands nothing, or FORMAT and at least one sample"),
        ("\tFORMAT\tAnna\t", "a sample has no name"),
        ("\tFORMAT\tAnna\tBea\tAnna", "two samples are called Anna"),
    ],
)
def test_columns_that_nobody_reads_are_one_line(command: Command, folder: Path, columns: str, words: str) -> None:
    header = f"{HEADER.rstrip()}{columns}\n"
    assert command.refused(write_vcf(folder, header=header)) == f"engine: line 2: {words}"


def test_another_length_in_the_header_is_told_loudly(command: Command, folder: Path) -> None:
    """Of contigs that records name, by either spelling: a header may list a whole genome and the reference a part of it."""
    lines = "##contig=<ID=chrone,length=800>\n##contig=<ID=two,length=900>\n"
    header = HEADER.replace("#CHROM", f"{lines}#CHROM")
    command.scored(write_vcf(folder, snv(300, "chrone"), header=header), status=1)
    assert command.error() == [
        "engine: WRONG REFERENCE BUILD? Contig chrone has 800 bases in the header of the VCF and 900 in the reference"
    ]


def test_a_length_that_htslib_was_not_told_is_no_other_length(command: Command, folder: Path) -> None:
    header = HEADER.replace("#CHROM", "##contig=<ID=one,length=2147483647>\n#CHROM")
    command.scored(write_vcf(folder, snv(300), header=header))
    assert command.error() == []


def test_more_names_than_a_header_can_hold_are_refused(command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "_MOST", 3)
    records = [snv(300), *(f"{name} 300 . A C" for name in ("a", "b", "c"))]
    assert command.refused(write_vcf(folder, *records)) == "engine: line 6: the records name more than 3 contigs, filters and keys"


def test_a_pipe_is_read_twice_through_a_file_of_its_own(command: Command, folder: Path) -> None:
    vcf = write_vcf(folder, snv(300), "three 1 . A C")
    os.mkfifo(folder / "pipe")
    writer = threading.Thread(target=lambda: (folder / "pipe").write_bytes(vcf.read_bytes()))
    writer.start()
    assert command(folder / "pipe", "--out", folder / "piped.vcf", "--quiet") == 0
    writer.join()
    assert command(vcf, "--out", folder / "out.vcf", "--quiet") == 0
    assert (folder / "piped.vcf").read_bytes() == (folder / "out.vcf").read_bytes()


def test_a_pipe_for_which_there_is_no_room_is_one_sentence(command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x")))
        patched.setattr(source.shutil, "copyfileobj", full)
        assert "No space left on device, where standard input is kept: it is read twice" in command.refused(Path("-"))
