"""What programs and people are shown."""

import dataclasses
import importlib
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import __main__ as command
from benchmarks import report, svg
from benchmarks.measured import Bar, Measured, NotMeasured
from benchmarks.options import Options
from benchmarks.ours import config_hash
from engine import EngineConfig

MACHINE = {"processor": "An EPYC & more", "cores": 2, "isa": ["avx2"], "memory_gb": 8.0, "torch": "2.13.0"}


def example(options: Options) -> Measured:
    found = Measured("example", "An example", options.precision, options.rounds, {"ratio_to_plain": 2.0, "ratio_to_best_peer": 5.0})
    found.late.append("ratio_to_best_peer")
    found.bars += [
        Bar("ours", 100.0, "tokens/s", runs=(1.0,)),
        Bar("a & b", 50.0, "tokens/s", 2.0),
        Bar("late", 20.0, "tokens/s", 5.0, late=True),
    ]
    found.skip("tokens_excess", "nobody counted")
    return found


def missing(_options: Options) -> Measured:
    raise NotMeasured("no machine for it")


@pytest.fixture(autouse=True)
def workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "WORKLOADS", {"example": (__name__, "example"), "missing": (__name__, "missing")})


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert command.main(arguments) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return found


def test_json_comes_last_and_names_what_it_was_measured_with(capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, "example", "--json", "--precision", "bf16")
    assert {"name", "machine", "figures", "config", "precision", "commit"} <= set(found)
    assert (found["name"], found["precision"], found["config"]) == ("example", "bf16", config_hash())
    assert {"processor", "isa", "cores", "memory_gb", "torch"} <= set(found["machine"])  # type: ignore[call-overload]


def test_figures_are_numbers_and_what_was_not_measured_is_absent(capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, "example", "--json")
    assert found["figures"] == {"ratio_to_plain": 2.0, "ratio_to_best_peer": 5.0}
    assert found["late"] == ["ratio_to_best_peer"]
    assert "tokens_excess was not measured: nobody counted" in found["notes"]  # type: ignore[operator]


@pytest.mark.parametrize(("arguments", "rounds"), [((), 3), (("--quick",), 1), (("--rounds", "5"), 5)])
def test_the_number_of_rounds_is_told(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], rounds: int) -> None:
    assert printed(capsys, "example", "--json", *arguments)["rounds"] == rounds


def test_a_workload_that_cannot_be_measured_fails_the_call_and_prints_no_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["missing", "--json"]) == 1
    out, err = capsys.readouterr()
    assert (out, err) == ("", "missing was not measured: no machine for it\n")


def test_an_unknown_workload_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        command.main(["exampel"])
    assert "there is no workload exampel" in capsys.readouterr().err


@pytest.mark.parametrize(("module", "function"), command.WORKLOADS.values())
def test_every_workload_that_is_offered_exists(module: str, function: str) -> None:
    assert callable(getattr(importlib.import_module(module), function))


def test_the_table_shows_both_absolutes_and_a_bound_as_a_bound() -> None:
    table = report.table(example(Options()), MACHINE)
    assert re.search(r"ours +100 tokens/s\n", table)
    assert "50 tokens/s   ours is 2.00 times as fast" in table
    assert "<20 tokens/s   ours is >5.00 times as fast" in table
    assert "ratio_to_best_peer  >5" in table
    assert "medians of 3 alternating rounds" in table


def test_the_picture_is_xml_with_a_title_units_and_every_bar() -> None:
    picture = ElementTree.fromstring(  # noqa: S314 — our own
        svg.picture(example(Options()), "An EPYC & more, 2 cores")
    )
    texts = ["".join(element.itertext()) for element in picture.iter()]
    assert len(list(picture.iter("{http://www.w3.org/2000/svg}rect"))) == 3
    for wanted in ("An example, fp32", "tokens/s", "a & b", "50 · ours is 2.00 times as fast", "An EPYC & more, 2 cores"):
        assert wanted in texts


def test_keeping_writes_object_table_and_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    report.keep(example(Options()), MACHINE)
    kept = {path.name for path in (tmp_path / "results").iterdir()}
    assert kept == {"example-fp32.json", "example-fp32.txt", "example-fp32.svg"}
    assert json.loads((tmp_path / "results" / "example-fp32.json").read_text())["machine"] == MACHINE


def test_the_hash_is_that_of_every_default_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    before = config_hash()
    assert config_hash() == before
    for field in dataclasses.fields(EngineConfig):
        changed = dataclasses.asdict(EngineConfig()) | {field.name: "changed"}
        monkeypatch.setattr("benchmarks.ours.dataclasses.asdict", lambda _config, changed=changed: changed)
        assert config_hash() != before


@pytest.mark.django_db
def test_make_up_serves_with_the_settings_that_are_measured() -> None:
    from config.bundled import bundled_deployment

    assert EngineConfig(**bundled_deployment().pin) == EngineConfig()
