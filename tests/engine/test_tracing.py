"""The command that makes traces, and its scenario in which everything happens that may happen to a request."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.__main__ import main
from engine.happening import What
from engine.lanes import lanes, seen
from engine.trace import Trace
from tests.engine import traces

pytestmark = pytest.mark.undisturbed("plays a scenario that is disturbed enough")


def told(trace: Trace) -> dict[int, list[tuple[str, int, int]]]:
    return {lane.handle: [(event.what.value, event.count, event.by) for event in lane.events] for lane in lanes(trace)}


def test_everything_happens_in_the_scenario() -> None:
    assert {event.what for lane in lanes(traces.played()) for event in lane.events} == set(What)


def test_the_same_happens_in_every_run() -> None:
    assert told(traces.play()) == told(traces.played())


def test_the_scenario_shows_each_thing_where_it_is_said_to() -> None:
    found = {lane.handle: lane for lane in lanes(traces.played())}
    whats = {handle: [event.what for event in lane.events] for handle, lane in found.items()}
    assert whats[9] == [What.PLACED, What.CAPPED, What.STARTS, What.FINISHED]
    assert whats[6] == [What.PLACED, What.RECLASSED, What.STARTS, What.FINISHED]
    assert whats[3][-2:] == [What.CANCEL, What.CANCELLED]
    assert whats[7] == [What.PLACED, What.FAILED]
    assert [one.abandoned for one in seen(traces.played()).stood] == [False, False, True]
    assert [lane.state for lane in found.values()].count("finished") == 13


def command(model: Path, *more: str) -> list[str]:
    return ["trace", "--model", str(model), "--kernels", "reference", "--json", *more]


def test_the_command_writes_both_and_a_row_for_each_request(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(checkpoint, "--out", str(tmp_path / "steps"))) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["state"] for row in rows} == {"finished", ""}  # a trunk has no outcome
    assert any(row["computed_again"] or row["swapped"] for row in rows)  # a STAT request sent somebody away
    text = (tmp_path / "steps.svg").read_text(encoding="utf-8")
    assert all(f">{row['request']}</text>" in text for row in rows)
    whole = json.loads((tmp_path / "steps.json").read_text(encoding="utf-8"))
    assert {event["ph"] for event in whole["traceEvents"]} == {"M", "X", "C", "i", "s", "f"}


def test_a_name_that_ends_in_json_is_the_trace_alone(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(checkpoint, "--out", str(tmp_path / "steps.json"), "--svg", str(tmp_path / "other.svg"))) == 0
    capsys.readouterr()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.svg", "steps.json"]


def test_the_scenario_of_stat_ends_on_a_model_it_was_not_made_for(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(checkpoint, "--scenario", "stat", "--out", str(tmp_path / "stat"))) == 0
    states = [row["state"] for row in json.loads(capsys.readouterr().out)]
    assert (len(states), states.count("failed")) == (15, 1)
    assert set(states) <= {"finished", "failed", "cancelled"}
