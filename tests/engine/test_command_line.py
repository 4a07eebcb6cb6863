"""`python -m engine`: results with a fingerprint, or one clear line and status 2."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from engine import fasta
from engine.__main__ import main
from engine.errors import InvalidRequest

BASES = "".join(random.Random(21).choices("ACGT", k=900))


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    """Two contigs, one of them in lower case, with an N and an IUPAC code far from everything else."""
    path = tmp_path / "reference.fa"
    path.write_text(f">one first\n{BASES[:450]}\n{BASES[450:]}\n>two\n{BASES[:300].lower()}NR{BASES[:300].lower()}\n")
    return path


def asked(checkpoint: Path, capsys: pytest.CaptureFixture[str], *arguments: object) -> list[dict[str, Any]]:
    """The rows of a command that succeeds."""
    status = main([str(arguments[0]), "--model", str(checkpoint), "--json", *map(str, arguments[1:])])
    captured = capsys.readouterr()
    assert (status, captured.err) == (0, "")
    rows: list[dict[str, Any]] = json.loads(captured.out)
    return rows


def refused(checkpoint: Path, capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line of a command that fails."""
    assert main([str(arguments[0]), "--model", str(checkpoint), *map(str, arguments[1:])]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def vcf(folder: Path, *records: str) -> Path:
    path = folder / "in.vcf"
    header = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    path.write_text(header + "".join(record.replace(" ", "\t") + "\n" for record in records))
    return path


def other(base: str) -> str:
    return base.translate(str.maketrans("ACGT", "CGTA"))


def test_score_writes_a_table_with_the_fingerprint(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.fa").write_text(">one first\nACGT\nacg\n\n>two\nTTTX\n")
    assert main(["score", "--model", str(checkpoint), "--fasta", str(tmp_path / "in.fa")]) == 0
    header, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert header == ["name", "bases", "log_likelihood", "mean", "unknown", "window", "flags", "batch_invariant", "fingerprint"]
    assert [(row[0], row[1], *row[4:8]) for row in rows] == [
        ("one", "7", "0", "", "", "True"),
        ("two", "4", "1", "", "ambiguous_bases,unknown_tokens", "True"),
    ]


def test_score_reads_a_sequence_longer_than_the_context_in_windows(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = asked(checkpoint, capsys, "score", "--sequence", BASES, "--window", 200)
    assert (row["bases"], row["window"]) == (900, 200)
    assert "512" in refused(checkpoint, capsys, "score", "--sequence", BASES)
    assert "between 1 and 256" in refused(checkpoint, capsys, "score", "--sequence", BASES, "--window", 257)


def test_generate_is_reproducible(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["generate", "--model", str(checkpoint), "--sequence", "ACG", "--tokens", "9", "--temperature", "1", "--json"]
    assert [main([*command, "--seed", "4"]), main([*command, "--seed", "4", "--mode", "static"])] == [0, 0]
    first, second = (json.loads(text + "]") for text in capsys.readouterr().out.split("]\n")[:2])
    assert first == second


def test_next_is_the_distribution_that_a_score_is_taken_from(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = asked(checkpoint, capsys, "next", "--sequence", BASES[:99])
    assert [row["token"] for row in rows] == list(range(11))
    assert [row["symbol"] for row in rows[3:8]] == list("ACGTN")
    (before,), (after,) = (asked(checkpoint, capsys, "score", "--sequence", BASES[:length]) for length in (99, 100))
    (found,) = [row["log_probability"] for row in rows if row["symbol"] == BASES[99]]
    assert found == pytest.approx(after["log_likelihood"] - before["log_likelihood"], abs=1e-4)


def test_precision_is_another_deployment_with_other_numbers(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ("score", "--sequence", BASES[:200], "--kernels", "reference", "--precision")
    full, half = (asked(checkpoint, capsys, *command, name) for name in ("fp32", "bf16"))
    assert full[0]["fingerprint"] != half[0]["fingerprint"]
    assert half[0]["log_likelihood"] != full[0]["log_likelihood"] == pytest.approx(half[0]["log_likelihood"], rel=0.05)


@pytest.mark.parametrize(("pooling", "positions"), [("mean", 51), ("last", 1)])
def test_embed_gives_one_vector_a_sequence(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], pooling: str, positions: int
) -> None:
    (row,) = asked(checkpoint, capsys, "embed", "--sequence", BASES[:50], "--pooling", pooling)
    assert (row["positions"], row["pooling"], len(row["vector"])) == (positions, pooling, 80)


@pytest.mark.parametrize(
    ("arguments", "protocol", "scored_as"),
    [
        (["--window", "64"], "centred", "windows"),
        (["--window", "64", "--protocol", "grid-centred", "--grid", "16"], "grid-centred", "windows"),
        (["--window", "64", "--protocol", "right-end"], "right-end", "next-token"),
        (["--window", "64", "--strand", "average"], "centred", "windows"),
    ],
)
def test_variants_scores_every_alt_and_refuses_records_alone(
    checkpoint: Path, reference: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], protocol: str, scored_as: str
) -> None:
    base, alts = BASES[299], [other(BASES[299]), other(other(BASES[299]))]
    records = [f"one 300 . {base} {alts[0]},{alts[1].lower()}", f"one 300 . {other(base)} {base}", "three 1 . A C", "one x . A C"]
    found = asked(
        checkpoint, capsys, "variants", "--reference", reference, "--vcf", vcf(reference.parent, *records, "one 300"), *arguments
    )
    assert [row["state"] for row in found] == ["scored", "scored", "refused", "refused", "refused", "refused"]
    assert found[0]["delta"] != found[1]["delta"] != 0
    assert found[0]["delta"] == pytest.approx(found[0]["ll_alt"] - found[0]["ll_ref"], abs=1e-9)
    assert {(row["protocol"], row["window"]) for row in found} == {(protocol, 64)}
    assert found[0]["scored_as"] == scored_as
    assert [row["code"] for row in found[2:]] == ["reference_mismatch"] + ["invalid_request"] * 3
    said = ["the reference holds", "contig three is not in the reference", "POS x is not a position", "has 2 columns"]
    assert all(words in row["reason"] for words, row in zip(said, found[2:], strict=True))


def test_variants_takes_events_from_end_or_length(checkpoint: Path, reference: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = BASES[299]
    records = [
        f"one 300 . {base} <DEL> . . END=310",
        f"one 300 . {base} <DEL> . . SVTYPE=DEL;SVLEN=-10",
        f"one 300 . {base} <INV>,<DUP> . . SVLEN=200,300",
        f"one 300 . {base} <DEL>",
        f"one 300 . {base} <INS> . . END=300",
    ]
    path = vcf(reference.parent, *records)
    found = asked(checkpoint, capsys, "variants", "--reference", reference, "--vcf", path, "--window", 64)
    assert [row["scored_as"] for row in found] == ["whole", "whole", "breakpoints", "breakpoints", None, None]
    assert found[0]["delta"] == found[1]["delta"]
    assert ["no END" in found[4]["reason"], "without its sequence" in found[5]["reason"]] == [True, True]


def test_a_number_that_is_no_place_on_any_contig_is_refused_alone(
    checkpoint: Path, reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, endless = BASES[299], "9" * 5000
    records = [
        f"one 300 . {base} {other(base)}",
        f"one {endless} . A C",
        f"one 300 . {base} <DEL> . . END={endless}",
        "one ² . A C",
    ]
    path = vcf(reference.parent, *records)
    found = asked(checkpoint, capsys, "variants", "--reference", reference, "--vcf", path, "--window", 64)
    assert [row["state"] for row in found] == ["scored", "refused", "refused", "refused"]
    assert "no END" in found[2]["reason"]


def test_lower_case_iupac_and_gzip_are_read(checkpoint: Path, reference: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Contig two is the first 300 bases in lower case, N and R, and the same again."""
    packed = reference.with_suffix(".fa.gz")
    packed.write_bytes(gzip.compress(reference.read_bytes()))
    base = BASES[149]
    path = vcf(
        reference.parent,
        f"one 150 . {base} {other(base)}",
        f"two 150 . {base.lower()} {other(base)}",
        "two 301 . N A",
        "two 302 . R A",
    )
    packed_vcf = path.with_suffix(".vcf.gz")
    packed_vcf.write_bytes(gzip.compress(path.read_bytes()))
    plain, small = (
        asked(checkpoint, capsys, "variants", "--reference", fa, "--vcf", calls, "--window", 64)
        for fa, calls in ((reference, path), (packed, packed_vcf))
    )
    assert plain == small
    assert plain[0]["delta"] == plain[1]["delta"]
    assert plain[2]["flags"] == ["ambiguous_bases", "unknown_tokens"]
    assert "REF R is not a sequence of A, C, G, T and N" in plain[3]["reason"]


def test_a_table_of_refusals_alone_ends_with_status_two(
    checkpoint: Path, reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["variants", "--reference", reference, "--vcf", vcf(reference.parent, "three 1 . A C"), "--window", 64]
    assert main([str(command[0]), "--model", str(checkpoint), *map(str, command[1:])]) == 2
    written = capsys.readouterr()
    assert written.err == "engine: none of the 1 records could be scored; each row says why\n"
    header, row = (line.split("\t") for line in written.out.splitlines())
    assert dict(zip(header, row, strict=True))["reason"] == "contig three is not in the reference"


def test_scan_gives_every_base_in_the_place_of_every_base(
    checkpoint: Path, reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = asked(checkpoint, capsys, "scan", "--reference", reference, "--region", "one:101-140", "--window", 64)
    assert [row["position"] for row in rows] == list(range(101, 141))
    assert "".join(row["reference"] for row in rows) == BASES[100:140]
    for row in rows:
        assert row[f"delta_{row['reference']}"] == 0.0
        assert row["context"] == 64 + (row["position"] - 1) % 64
    start = (rows[0]["position"] - 1) // 64 * 64 - 64
    following = asked(checkpoint, capsys, "next", "--sequence", BASES[start:100])
    by_base = {row["symbol"]: row["log_probability"] for row in following}
    assert [rows[0][f"log_p_{base}"] for base in "ACGT"] == pytest.approx([by_base[base] for base in "ACGT"], abs=1e-5)


def test_scan_flags_the_ends_of_the_contig_and_sites_without_a_base(
    checkpoint: Path, reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (first,) = asked(checkpoint, capsys, "scan", "--reference", reference, "--region", "two:1-1", "--window", 64)
    unknown, iupac = asked(checkpoint, capsys, "scan", "--reference", reference, "--region", "two:301-302", "--window", 64)
    assert first["flags"] == ["window_cut_left"]
    assert (unknown["flags"], unknown["delta_A"]) == (["no_reference_base"], None)
    assert iupac["flags"] == ["ambiguous_bases", "no_reference_base"]


@pytest.mark.parametrize(
    ("region", "words"),
    [
        ("three:1-2", "contig three is not in the reference"),
        ("one:0-2", "outside the contig of 900 bases"),
        ("one:899-901", "outside the contig of 900 bases"),
        ("one:5-4", "is empty"),
        ("one", "NAME:START-END"),
        ("one:,-5", "NAME:START-END"),
        (f"one:1-{'9' * 5000}", "NAME:START-END"),
    ],
)
def test_a_region_that_is_none_is_one_line(
    checkpoint: Path, reference: Path, capsys: pytest.CaptureFixture[str], region: str, words: str
) -> None:
    assert words in refused(checkpoint, capsys, "scan", "--reference", reference, "--region", region, "--window", 64)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--window", "600"], "600 positions"),
        (["--window", "64", "--grid", "8"], "no other protocol takes one"),
        (["--window", "64", "--protocol", "grid-centred"], "needs a grid"),
        (["--window", "0"], "at least 2"),
    ],
)
def test_settings_that_fit_neither_each_other_nor_the_model_are_one_line(
    checkpoint: Path, reference: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    path = vcf(reference.parent, f"one 300 . {BASES[299]} {other(BASES[299])}")
    assert words in refused(checkpoint, capsys, "variants", "--reference", reference, "--vcf", path, *arguments)


def test_a_scan_needs_twice_its_window(checkpoint: Path, reference: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "at most 256" in refused(checkpoint, capsys, "scan", "--reference", reference, "--region", "one:1-9", "--window", 257)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the VCF is empty"),
        (b"##fileformat=VCFv4.2\n#CHROM\tPOS\n", "no record"),
        (b"one\t300\t.\tA\tC\n", "line 1: a VCF begins with"),
        (gzip.compress(b"##fileformat=VCFv4.2\n" * 999)[:40], "is not whole"),
        (b"##fileformat=VCFv4.2\n\xff\xfe", "not a text file"),
        (None, "No such file"),
    ],
)
def test_a_file_that_is_no_vcf_is_one_line(
    checkpoint: Path, reference: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, words: str
) -> None:
    path = reference.parent / "in.vcf"
    if content is not None:
        path.write_bytes(content)
    assert words in refused(checkpoint, capsys, "variants", "--reference", reference, "--vcf", path)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sequence", "AC-G"], "letters only"),
        (["--sequence", ""], "at least one"),
        (["--sequence", "A" * 600], "600 positions"),
        (["--fasta", "missing.fa"], "No such file"),
        (["--sequence", "ACGT", "--threads", "0"], "at least 1"),
    ],
)
def test_bad_input_is_one_line_and_status_two(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert words in refused(checkpoint, capsys, "score", *arguments)


def test_a_folder_without_a_model_is_one_line_and_status_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "vocab.json is missing" in refused(tmp_path, capsys, "score", "--sequence", "ACGT")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no sequence"),
        ("ACGT\n", "line 1"),
        (">a\n>b\nAC\n", "line 1: record a"),
        (">a\nAC1\n", "line 2"),
        (">a\n", "record a"),
    ],
)
def test_a_broken_fasta_file_is_told_with_its_line(text: str, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        list(fasta.records(text.splitlines()))


def test_two_contigs_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "two.fa").write_text(">a\nAC\n>a\nGT\n")
    with pytest.raises(InvalidRequest, match="two sequences named a"):
        fasta.contigs(tmp_path / "two.fa", {"a"})
