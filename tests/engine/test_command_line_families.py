"""`score --vcf` on folders as they are published: tokens of several bases, and what is said of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.__main__ import main
from tests.engine import published
from tests.engine.tokenizers import layouts
from tests.engine.vcf_cases import Command, snv, value, write_reference, write_vcf

pytestmark = pytest.mark.usefixtures("proven_once")

FAMILIES: dict[str, tuple[published.Published, Callable[[Path], Path]]] = {
    "GENERator": (published.GENERATOR, layouts.generator),
    "METAGENE-1": (published.METAGENE, layouts.metagene),
}


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    weights, tokenizer = FAMILIES[request.param]
    return weights.write(tokenizer(tmp_path_factory.mktemp(request.param)))


@pytest.fixture
def command(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(folder, write_reference(tmp_path), capsys)


@pytest.fixture
def kmers(folder: Path) -> bool:
    return (folder / "vocab.txt").exists()


@pytest.mark.parametrize("protocol", ["centred", "grid-centred"])
def test_windows_say_their_tokens_bases_and_phases(command: Command, tmp_path: Path, kmers: bool, protocol: str) -> None:
    (record,) = command.scored(write_vcf(tmp_path, snv(300)), "--protocol", protocol)
    assert value(record, "DELTA")[0] != 0
    assert value(record, "TOKENS")[0] < value(record, "BASES")[0] <= 64
    assert len(value(record, "PHASES")) == 1
    assert value(record, "WINDOW") == ((60,) if kmers else None)


def test_a_grid_that_does_not_fit_whole_tokens_is_refused_at_once(command: Command, tmp_path: Path, kmers: bool) -> None:
    """Of 64 bases a k-mer model reads 60."""
    arguments = ("--protocol", "grid-centred", "--grid", 31)
    if kmers:
        assert "between 1 and half of the window of 60" in command.refused(write_vcf(tmp_path, snv(300)), *arguments)
    else:
        assert len(command.scored(write_vcf(tmp_path, snv(300)), *arguments)) == 1


@pytest.mark.parametrize("protocol", ["right-end", "region-scan"])
def test_what_byte_pairs_cannot_answer_is_refused_and_kmers_answer(
    command: Command, tmp_path: Path, kmers: bool, protocol: str
) -> None:
    (record,) = command.scored(write_vcf(tmp_path, snv(300)), "--protocol", protocol, status=int(not kmers))
    if kmers:
        assert value(record, "DELTA")[0] == pytest.approx(value(record, "LL_ALT")[0] - value(record, "LL_REF")[0], abs=1e-4)
    else:
        assert value(record, "CODE") == ("unsupported_tokenizer",)


@pytest.mark.parametrize("command", ["generate", "next", "embed"])
def test_bases_that_fill_no_token_are_left_out_on_the_left_and_said(
    folder: Path, kmers: bool, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two bases more than three words of six: what is asked after the last base is asked after the same last base."""
    more, whole = (_rows(folder, capsys, command, bases) for bases in ("GTACGTACGTACGTACGTAC", "ACGTACGTACGTACGTAC"))
    if kmers:
        assert [row["trimmed"] for row in (more[0], whole[0])] == [2, 0]
        kept = [[{name: value for name, value in row.items() if name != "trimmed"} for row in rows] for rows in (more, whole)]
        assert kept[0] == kept[1]
    else:
        assert more[0]["trimmed"] == 0


def test_bases_that_the_model_does_not_see_are_counted(folder: Path, kmers: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """A word of six with N in it is unknown as a whole; METAGENE-1 has a token for N."""
    rows = _rows(folder, capsys, "embed", "ACGTACACGTNCACGTAC")
    assert rows[0]["unknown"] == (6 if kmers else 0)


def test_a_sequence_that_fills_no_token_has_only_what_stands_before_it(
    folder: Path, kmers: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = _rows(folder, capsys, "embed", "ACG")
    assert (rows[0]["positions"], rows[0]["trimmed"]) == (1, 3) if kmers else rows[0]["trimmed"] == 0


def _rows(folder: Path, capsys: pytest.CaptureFixture[str], command: str, bases: str) -> list[dict[str, Any]]:
    assert main([command, "--model", str(folder), "--sequence", bases, "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found
