"""docs/protocols.md: its commands exist, its examples give what it shows, and it names every protocol and flag."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from engine import protocols
from engine.__main__ import main
from engine.command_line.options import parser
from engine.protocols import VariantScore

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "protocols.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    \.venv/bin/python -m engine (.+)$", PAGE, re.MULTILINE)
EXAMPLES = re.findall(
    r"^    \.venv/bin/python -m engine ([^|\n]+) \|(?: grep -v '\^##' \|)? cut -f ([\d,-]+)\n\n```text\n(.+?)```",
    PAGE,
    re.MULTILINE | re.DOTALL,
)
MODEL = ROOT / "models" / "ecoli-orf-2k" / "model.safetensors"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_exists_and_its_files_are_there(command: str) -> None:
    options = parser().parse_args(shlex.split(command.split("|")[0]))
    for path in (getattr(options, name, None) for name in ("model", "reference", "vcf", "fasta")):
        assert path is None or (ROOT / path).exists()


def test_every_command_of_the_engine_is_on_the_page() -> None:
    assert {command.split()[0] for command in COMMANDS} == {"scan", "score", "next", "embed", "generate"}


def test_every_protocol_and_flag_is_on_the_page() -> None:
    for name in (*get_args(protocols.Kind), *get_args(protocols.ScoredAs), *protocols.FLAGS):
        assert f"`{name}`" in PAGE or name == "windows"


def test_everything_a_score_names_is_on_the_page() -> None:
    told = {field.name for field in fields(VariantScore)} - {"ll_ref", "ll_alt", "delta", "flags", "scored_as", "grid"}
    assert {name for name in told if f"`{name}`" not in PAGE} == set()


@pytest.mark.skipif(not MODEL.exists(), reason="the bundled model is not there")
@pytest.mark.parametrize(("command", "columns", "shown"), EXAMPLES, ids=lambda text: text.split()[0])
def test_an_example_gives_what_the_page_shows(
    command: str, columns: str, shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words exactly; numbers to a thousandth, because the last bits belong to the kernels of a machine."""
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(command)) == 0
    rows = [_cut(line.split("\t"), columns) for line in capsys.readouterr().out.splitlines() if not line.startswith("##")]
    expected = [line.split("\t") for line in shown.splitlines()]
    assert len(rows) == len(expected)
    for row, line in zip(rows, expected, strict=True):
        assert _numbers(row) == pytest.approx(_numbers(line), abs=1e-3)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 2


def _cut(cells: list[str], columns: str) -> list[str]:
    bounds = [[int(bound) for bound in part.split("-")] for part in columns.split(",")]
    return [cell for bound in bounds for cell in cells[bound[0] - 1 : bound[-1]]]


def _numbers(cells: list[str]) -> list[float | str]:
    """Words and numbers; an INFO column holds several."""
    parts = [part for cell in cells for part in re.split("[;=]", cell)]
    return [float(part) if re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", part) else part for part in parts]
