"""`python -m engine`: results with a fingerprint, or one clear line and status 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine import fasta
from engine.__main__ import main
from engine.errors import InvalidRequest


def test_score_writes_a_table_with_the_fingerprint(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.fa").write_text(">one first\nACGT\nacg\n\n>two\nTTTX\n")
    assert main(["score", "--model", str(checkpoint), "--fasta", str(tmp_path / "in.fa")]) == 0
    header, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert header == ["name", "bases", "log_likelihood", "mean", "unknown", "batch_invariant", "fingerprint"]
    assert [(row[0], row[1], row[4], row[5]) for row in rows] == [("one", "7", "0", "True"), ("two", "4", "1", "True")]


def test_generate_is_reproducible(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["generate", "--model", str(checkpoint), "--sequence", "ACG", "--tokens", "9", "--temperature", "1", "--json"]
    assert [main([*command, "--seed", "4"]), main([*command, "--seed", "4", "--mode", "static"])] == [0, 0]
    first, second = (json.loads(text + "]") for text in capsys.readouterr().out.split("]\n")[:2])
    assert first == second


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
    assert main(["score", "--model", str(checkpoint), *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line


def test_a_folder_without_a_model_is_one_line_and_status_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "--model", str(tmp_path), "--sequence", "ACGT"]) == 2
    assert "vocab.json is missing" in capsys.readouterr().err


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
