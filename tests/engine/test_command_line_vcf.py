"""`score --vcf`: every record again, in order, with a score or a reason for each ALT, as a VCF that others can read."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pysam
import pysam.bcftools
import pytest

from engine.__main__ import main
from engine.command_line.info_fields import FIELDS
from tests.engine.vcf_cases import BASES, HEADER, Command, other, snv, value, write_vcf

pytestmark = pytest.mark.usefixtures("proven_once")

PROTOCOLS: list[list[Any]] = [
    [],
    ["--protocol", "grid-centred", "--grid", 16],
    ["--protocol", "right-end"],
    ["--protocol", "region-scan"],
    ["--strand", "average"],
]


@pytest.mark.parametrize("arguments", PROTOCOLS, ids=lambda arguments: "-".join(map(str, arguments[1::2])) or "centred")
def test_every_alt_has_a_score_and_refused_ones_have_a_reason(command: Command, folder: Path, arguments: list[Any]) -> None:
    base, alts = BASES[299], [other(BASES[299]), other(other(BASES[299]))]
    records = [f"one 300 . {base} {alts[0]},<NON_REF>,{alts[1].lower()}", f"one 300 . {other(base)} {base}", "three 1 . A C"]
    multiple, foreign, missing = command.scored(write_vcf(folder, *records), *arguments, status=1)
    first, none, second = value(multiple, "DELTA")
    assert none is None and first != second != 0
    assert first == pytest.approx(value(multiple, "LL_ALT")[0] - value(multiple, "LL_REF")[0], abs=1e-4)
    assert value(multiple, "CODE") == (".", "unsupported_allele", ".")
    assert value(foreign, "CODE") == ("reference_mismatch",)
    assert value(missing, "CODE") == ("unknown_contig",)


def test_what_bcftools_reads_is_what_was_written(command: Command, folder: Path) -> None:
    meta = '##fileformat=VCFv4.2\n##contig=<ID=one,length=900>\n##INFO=<ID=DP,Number=1,Type=Integer,Description="depth">\n'
    vcf = write_vcf(folder, snv(300, info="DP=7"), "one 301 x N <*> 9 PASS", snv(302), header=meta + HEADER.partition("\n")[2])
    assert command(vcf, "--out", folder / "out.vcf") == 0
    ours = (folder / "out.vcf").read_text().splitlines()
    (folder / "strict.vcf").write_text(str(pysam.bcftools.view("--no-version", str(folder / "out.vcf"))))
    theirs = (folder / "strict.vcf").read_text().splitlines()
    assert [line for line in theirs if line.startswith("##helicase")] == [line for line in ours if line.startswith("##helicase")]
    assert [line.split("\t")[:7] for line in theirs[-3:]] == [line.split("\t")[:7] for line in vcf.read_text().splitlines()[-3:]]
    with pysam.VariantFile(str(folder / "out.vcf")) as found:
        declared = {
            name: (found.header.info[f"HELICASE_{name}"].number, found.header.info[f"HELICASE_{name}"].type) for name in FIELDS
        }
    assert declared == {name: (number, kind) for name, (number, kind, _) in FIELDS.items()}


def test_samples_and_foreign_header_lines_stay_as_they_are(command: Command, folder: Path) -> None:
    names = HEADER.splitlines()[1] + "\tFORMAT\tAnna\tBjörn\n"
    vcf = write_vcf(folder, f"{snv(300, info='K=1;FLAG')} GT:AD 0/1:3,4 ./.", header=f"##fileformat=VCFv4.3\n##x=y\n{names}")
    vcf.write_bytes(vcf.read_bytes().replace(b"K=1", b"K=\xe9"))  # Latin-1, which somebody else's program wrote
    assert command(vcf, "--out", folder / "out.vcf", "--quiet") == 0
    written = (folder / "out.vcf").read_bytes()
    assert written.startswith(b"##fileformat=VCFv4.3\n##x=y\n##contig=<ID=one,length=900>\n")
    assert names.encode() in written
    assert b"\tK=\xe9;FLAG;HELICASE_DELTA=" in written
    assert written.endswith(b"\tGT:AD\t0/1:3,4\t./.\n")


def test_equal_input_gives_equal_bytes_and_the_header_says_where_they_come_from(command: Command, folder: Path) -> None:
    vcf = write_vcf(folder, snv(300), snv(301))
    (folder / "deep").mkdir()
    for out in ("out.vcf", "deep/again.vcf"):
        assert command(vcf, "--out", folder / out, "--quiet", "--strand", "reverse") == 0
    first, second = ((folder / out).read_bytes() for out in ("out.vcf", "deep/again.vcf"))
    assert first == second
    (said,) = [line for line in first.decode().splitlines() if line.startswith("##helicase=<ID=score,Model=")]
    assert "Protocol=centred,Window=64,Strand=reverse,ReferenceSHA256=" in said
    assert str(folder) not in first.decode()


def test_a_second_run_takes_the_place_of_the_first(command: Command, folder: Path) -> None:
    vcf = write_vcf(folder, snv(300, info="K=1"), "one 301 . A <INS>")
    for given, out, strand in ((vcf, "a.vcf", "forward"), (folder / "a.vcf", "b.vcf", "reverse"), (vcf, "c.vcf", "reverse")):
        command(given, "--out", folder / out, "--quiet", "--strand", strand)
    assert (folder / "b.vcf").read_bytes() == (folder / "c.vcf").read_bytes() != (folder / "a.vcf").read_bytes()


def test_events_take_their_end_from_end_or_length(command: Command, folder: Path) -> None:
    base = BASES[299]
    found = command.scored(
        write_vcf(
            folder,
            f"one 300 . {base} <DEL> . . END=310",
            f"one 300 . {base} <DEL> . . SVTYPE=DEL;SVLEN=-10",
            f"one 300 . {base} <INV>,<DUP> . . SVLEN=200,300",
            f"one 300 . {base} <DEL>",
            f"one 300 . {base} <DEL> . . END={'9' * 5000}",
        )
    )
    assert [value(record, "SCORED_AS") for record in found[:3]] == [("whole",), ("whole",), ("breakpoints", "breakpoints")]
    assert value(found[0], "DELTA") == value(found[1], "DELTA")
    assert ["no%20END" in str(value(record, "REASON")) for record in found[3:]] == [True, True]


def test_lower_case_iupac_and_unknown_bases_are_read(command: Command, folder: Path) -> None:
    """Contig two is the first 300 bases in lower case, N and R, and the same again."""
    base = BASES[149]
    records = (snv(150), f"two 150 . {base.lower()} {other(base)}", "two 301 . N A", "two 302 . R A")
    upper, lower, unknown, iupac = command.scored(write_vcf(folder, *records))
    assert value(upper, "DELTA") == value(lower, "DELTA")
    assert value(unknown, "FLAGS") == ("ambiguous_bases&unknown_tokens",)
    assert "not%20a%20sequence" in str(value(iupac, "REASON"))


def test_a_base_in_the_place_of_a_code_of_the_reference_is_refused_with_the_reason(command: Command, folder: Path) -> None:
    """As VCF asks for: where the reference holds R, REF is the first base that it may be."""
    (record,) = command.scored(write_vcf(folder, "two 302 . A G"), status=1)
    assert "holds%20R%20at%20position%20302%2C%20with%20codes%20that%20stand%20for%20several" in str(value(record, "REASON"))


def test_sites_of_a_scan_are_those_of_the_command_scan(
    command: Command, folder: Path, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Dense and out of order: neighbours share the pass of their cell."""
    places = [130, 101, 140, 129, 102]
    found = command.scored(write_vcf(folder, *map(snv, places), f"one 100 . {BASES[99:101]} A"), "--protocol", "region-scan")
    region = ["--reference", str(command.reference), "--region", "one:1-200", "--window", "64"]
    assert main(["scan", "--model", str(checkpoint), *region]) == 0
    names, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    for place, record in zip(places, found[:-1], strict=True):
        row, (alt,) = dict(zip(names, rows[place - 1], strict=True)), record.alts or ()
        assert value(record, "DELTA")[0] == pytest.approx(float(row[f"delta_{alt}"]), rel=1e-6)
        assert value(record, "CONTEXT") == (int(row["context"]),)
    assert value(found[-1], "CODE") == ("unsupported_allele",)


@pytest.mark.parametrize("suffix", [".vcf", ".vcf.gz"])
def test_standard_input_and_output_and_compressed_files_give_the_same(
    command: Command, folder: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    vcf = write_vcf(folder, snv(300), snv(301))
    packed = folder / "packed.vcf.gz"
    packed.write_bytes(gzip.compress(vcf.read_bytes()))
    assert command(packed, "--out", folder / f"out{suffix}", "--quiet") == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(packed.read_bytes())))
    assert command(Path("-"), "--quiet") == 0
    content = (folder / f"out{suffix}").read_bytes()
    assert command.capsys.readouterr().out.encode() == (gzip.decompress(content) if suffix == ".vcf.gz" else content)


def test_a_bgzip_result_can_be_indexed(command: Command, folder: Path) -> None:
    header = HEADER.replace("#CHROM", "##contig=<ID=one>\n#CHROM")
    assert command(write_vcf(folder, snv(300), snv(301), header=header), "--out", folder / "out.vcf.gz", "--quiet") == 0
    pysam.tabix_index(str(folder / "out.vcf.gz"), preset="vcf")
    with pysam.VariantFile(str(folder / "out.vcf.gz")) as found:
        assert [record.pos for record in found.fetch("one", 300, 301)] == [301]


def test_a_vcf_without_records_is_one_again_and_told(command: Command, folder: Path) -> None:
    assert command.scored(write_vcf(folder)) == []
    assert command.error() == ["engine: the VCF holds no records: nothing was scored"]


@pytest.mark.parametrize(("position", "ref"), [(0, "N"), (901, "A"), (900, BASES[-1] + "A")], ids=["telomere", "behind", "over"])
def test_a_place_outside_the_contig_is_no_sign_of_a_wrong_reference(
    command: Command, folder: Path, position: int, ref: str
) -> None:
    outside = f"one {position} . {ref} {other(ref)}"
    found = command.scored(write_vcf(folder, outside, f"one {position} . {ref[0]} <DEL> . . END=905", snv(300)))
    assert [value(record, "CODE") for record in found] == [("outside_contig",), ("outside_contig",), None]
    assert command.error() == []


def test_an_unknown_contig_is_named_with_the_nearest_that_there_is(command: Command, folder: Path) -> None:
    near, far = command.scored(write_vcf(folder, "one.1 300 . A C", "NC_7 300 . A C", snv(300))), "is%20not%20in%20the%20reference"
    assert value(near[0], "REASON") == (f"contig%20one.1%20{far}%2C%20whose%20nearest%20name%20is%20one",)
    assert value(near[1], "REASON") == (f"contig%20NC_7%20{far}",)


@pytest.mark.parametrize("named", ["one", "chrone"])
@pytest.mark.parametrize("arguments", PROTOCOLS, ids=lambda arguments: "-".join(map(str, arguments[1::2])) or "centred")
def test_bcftools_views_converts_and_indexes_what_every_protocol_writes(
    command: Command, folder: Path, arguments: list[Any], named: str
) -> None:
    """BCF holds no contig that the header lacks: those of the reference are declared, under the names that the records have."""
    out = folder / "out.vcf.gz"
    assert command(write_vcf(folder, snv(300, named), f"{named} 301 . A <*>"), "--out", out, "--quiet", *arguments) == 0
    pysam.bcftools.index(str(out), catch_stdout=False)
    pysam.bcftools.view("-Ob", "-o", str(folder / "out.bcf"), str(out), catch_stdout=False)
    with pysam.VariantFile(str(folder / "out.bcf")) as found:
        assert [record.pos for record in found] == [300, 301]
    with pysam.VariantFile(str(out)) as found:
        assert [record.pos for record in found.fetch(named, 299, 300)] == [300]
        assert dict(found.header.contigs.items())[named].length == 900


def test_contigs_that_the_header_has_are_not_declared_again(command: Command, folder: Path) -> None:
    header = HEADER.replace("#CHROM", "##contig=<length=900,ID=chrone>\n##contig=<ID=three>\n#CHROM")
    assert command(write_vcf(folder, snv(300, "chrone"), header=header), "--out", folder / "out.vcf", "--quiet") == 0
    lines = (folder / "out.vcf").read_text().splitlines()
    contigs = [line for line in lines if line.startswith("##contig")]
    assert contigs == ["##contig=<length=900,ID=chrone>", "##contig=<ID=three>", "##contig=<ID=chrtwo,length=602>"]


@pytest.mark.parametrize(("contig", "found"), [("chrone", "one"), ("one", "one")])
def test_a_contig_goes_by_its_name_with_or_without_chr(command: Command, folder: Path, contig: str, found: str) -> None:
    assert command(write_vcf(folder, snv(300, contig)), "--out", folder / "out.vcf") == 0
    said = [line for line in command.error() if "was taken for" in line]
    assert said == ([] if contig == found else [f"engine: contig {contig} of the VCF was taken for {found} of the reference"])


@pytest.mark.parametrize(("differing", "status"), [(1, 0), (2, 1)])
def test_a_reference_that_many_records_contradict_is_told_loudly(
    command: Command, folder: Path, differing: int, status: int
) -> None:
    """Of twenty records one may be wrong."""
    wrong = [f"one {place} . {other(BASES[place - 1])} {BASES[place - 1]}" for place in range(400, 400 + differing)]
    command.scored(write_vcf(folder, *map(snv, range(300, 320 - differing)), *wrong), status=status)
    assert any("WRONG REFERENCE BUILD?" in line for line in command.error()) is bool(status)


def test_records_of_which_none_can_be_scored_are_written_and_told(command: Command, folder: Path) -> None:
    (record,) = command.scored(write_vcf(folder, "three 1 . A C"), status=1)
    assert value(record, "CODE") == ("unknown_contig",)
    assert command.error() == ["engine: the one record could not be scored; unknown_contig is the first reason"]


def test_the_end_says_what_was_done(command: Command, folder: Path) -> None:
    command(write_vcf(folder, snv(300), "one 301 . A <INS>,<CNV>", snv(302)), "--out", folder / "out.vcf")
    (line,) = command.error()
    assert line.startswith("engine: 3 records, 2 alternates scored, 2 refused: 2 unsupported_allele; ")


def test_one_of_a_kind_is_told_in_the_singular(command: Command, folder: Path) -> None:
    command(write_vcf(folder, snv(300)), "--out", folder / "out.vcf")
    (line,) = command.error()
    assert line.startswith("engine: 1 record, 1 alternate scored; ")


@pytest.mark.parametrize(
    ("window", "arguments", "words"),
    [
        (600, [], "600 positions"),
        (64, ["--grid", 8], "no other protocol takes one"),
        (0, [], "at least 2"),
        (257, ["--protocol", "region-scan"], "at most 256"),
        (64, ["--json"], "--json goes with sequences"),
    ],
)
def test_settings_that_fit_neither_each_other_nor_the_model_are_one_line(
    command: Command, folder: Path, window: int, arguments: list[Any], words: str
) -> None:
    assert words in command.refused(write_vcf(folder, snv(300)), *arguments, window=window)
