"""`python -m engine`: results with a fingerprint, or one clear line and status 2."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from engine.__main__ import main
from engine.command_line import fasta
from engine.errors import InvalidRequest
from tests.engine.checkpoints import Shape, write_checkpoint

pytestmark = pytest.mark.usefixtures("proven_once")

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


def test_score_writes_a_table_with_the_fingerprint(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.fa").write_text(">one first\nACGT\nacg\n\n>two\nTTTX\n")
    assert main(["score", "--model", str(checkpoint), "--fasta", str(tmp_path / "in.fa")]) == 0
    header, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    said = ["name", "bases", "tokens", "log_likelihood", "mean", "mean_per_token", "trimmed", "unknown", "window", "flags"]
    assert header == [*said, "batch_invariant", "fingerprint"]
    assert [(*row[:3], *row[6:11]) for row in rows] == [
        ("one", "7", "7", "0", "0", "", "", "True"),
        ("two", "4", "4", "0", "1", "", "ambiguous_bases,unknown_tokens", "True"),
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


def test_a_scan_needs_twice_its_window(checkpoint: Path, reference: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "at most 256" in refused(checkpoint, capsys, "scan", "--reference", reference, "--region", "one:1-9", "--window", 257)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sequence", "AC-G"], "letters only"),
        (["--sequence", "<dna>ACGT</dna>"], "letters only"),
        (["--sequence", ""], "at least one"),
        (["--sequence", "A" * 600], "600 positions"),
        (["--fasta", "missing.fa"], "No such file"),
        (["--sequence", "ACGT", "--threads", "0"], "at least 1"),
        (["--sequence", "ACGT", "--strand", "reverse"], "--strand goes with --vcf"),
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
        (">a\n<dna>ACGT</dna>\n", "line 2"),
        (">a\n", "record a"),
    ],
)
def test_a_broken_fasta_file_is_told_with_its_line(text: str, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        list(fasta.records(text.splitlines()))


def test_generated_tokens_that_stand_for_no_base_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A vocabulary of 64 of which the tokenizer knows eight."""
    folder = write_checkpoint(tmp_path / "wide", Shape(vocabulary=64, seed=3))
    sampled = ["--tokens", "20", "--seed", "1", "--temperature", "1", "--json"]
    assert main(["generate", "--model", str(folder), "--sequence", "ACGTACGT", *sampled]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["tokens"] == 20
    assert row["silent_tokens"] == 20 - len(row["bases"]) > 0


@pytest.mark.parametrize("command", ["score", "embed"])
def test_of_many_sequences_the_one_that_is_refused_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """A vocabulary without N and without a token for what is unknown."""
    folder = write_checkpoint(tmp_path / "model", Shape())
    (folder / "vocab.json").write_text(json.dumps({"bos": 1, "A": 3, "C": 4, "G": 5, "T": 6}))
    (tmp_path / "two.fa").write_text(">first\nACGT\n>second\nACNT\n")
    assert "second: 'N' at position 3 is not in the vocabulary" in refused(folder, capsys, command, "--fasta", tmp_path / "two.fa")
