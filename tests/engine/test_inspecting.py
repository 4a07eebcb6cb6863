"""`python -m engine inspect`: what a folder holds, its bits, and a score of a fixed sequence."""

import json
from pathlib import Path

import pytest

from engine.__main__ import main
from tests.engine.checkpoints import Shape, tensors


def inspected(checkpoint: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, object]:
    assert main(["inspect", "--model", str(checkpoint), "--json", *options]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    return dict(row)


def test_it_says_what_the_folder_holds_and_scores_with_it(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = inspected(checkpoint, capsys)
    assert row["parameters"] == sum(tensor.numel() for tensor in tensors(Shape()).values())
    assert (row["architecture"], row["context"], row["token_bases"], row["smoke_bases"]) == ("LlamaForCausalLM", 512, 1, 96)
    assert row["batch_invariant"] is True
    assert len(str(row["golden"])) == 64
    assert float(str(row["smoke_log_likelihood"])) < 0


def test_its_smoke_score_is_the_score_of_those_bases(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from engine.smoke import bases

    row = inspected(checkpoint, capsys)
    assert main(["score", "--model", str(checkpoint), "--json", "--sequence", bases(96)]) == 0
    (scored,) = json.loads(capsys.readouterr().out)
    assert scored["log_likelihood"] == row["smoke_log_likelihood"]


def test_other_settings_are_another_fingerprint(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert inspected(checkpoint, capsys)["fingerprint"] != inspected(checkpoint, capsys, "--precision", "bf16")["fingerprint"]


def test_what_cannot_be_loaded_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--model", str(tmp_path / "nowhere")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
