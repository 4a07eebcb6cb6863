"""When a decision has reached the engine is read from what the engine wrote down."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks import rig, tap
from benchmarks.measured import NotMeasured
from benchmarks.reach import Told
from engine import Engine, EngineConfig, Priority, Score, load
from tests.benchmarks.tiny import WORK


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path / "told.jsonl")


def written(told: Told, *lines: tuple[object, ...], rest: str = "") -> None:
    with told.path.open("a") as out:
        out.write("".join(tap.line(*line) for line in lines) + rest)


@pytest.fixture
def engine(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Engine, list[str]]:
    """One that is listened to, and what it wrote."""
    for name in (*tap.VERBS, "step"):
        monkeypatch.setattr(Engine, name, getattr(Engine, name))  # what it is afterwards
    lines: list[str] = []
    tap.tap(lines.append)
    return load(tiny_model, config=EngineConfig(self_test=False, blocks=64)), lines


def test_an_engine_writes_what_it_was_told_when_and_what_ended(engine: tuple[Engine, list[str]]) -> None:
    (one, lines), began = engine, time.time()
    for handle, piece in enumerate(WORK[:2]):
        one.submit(handle, Score(piece.tokens), Priority.STAT)
    one.reclass(0, Priority.ROUTINE)
    for verb in (one.hold, one.release, one.cancel):
        verb(0)
    while one.scheduler.pending():
        one.step()
    found = [json.loads(line) for line in lines]
    assert [(verb, handle) for verb, handle, *_ in found] == [
        ("submit", 0), ("submit", 1), ("reclass", 0), ("hold", 0), ("release", 0), ("cancel", 0), ("ended", 0), ("ended", 1),
    ]  # fmt: skip
    assert [last for *_, last in found[:2]] == [Priority.STAT, Priority.STAT]
    assert all(began <= at <= time.time() for _, _, at, _ in found)


def test_a_decision_has_reached_an_order_when_its_last_request_has_heard(told: Told) -> None:
    written(told, ("submit", 1, 1.0, 0), ("submit", 2, 1.5, 0), ("submit", 9, 2.0, 3), ("reclass", 1, 2.5, None))
    assert told.stat(0) == {1: 1.0, 2: 1.5}  # and not the routine one
    since = told.read()
    written(told, ("reclass", 1, 3.0, None), ("reclass", 9, 9.0, None), ("hold", 2, 8.0, None), ("reclass", 2, 4.0, None))
    assert told.reached("reclass", since, {1, 2}) == 4.0


def test_who_has_ended_before_is_not_waited_for(told: Told) -> None:
    written(told, ("ended", 1, 2.0, 1.0), ("hold", 2, 3.0, None))
    assert told.reached("hold", 0, {1, 2}) == 3.0
    assert told.reached("hold", 0, {1}) is None


def test_a_line_that_is_still_being_written_is_read_when_it_is_whole(told: Told) -> None:
    whole = tap.line("hold", 2, 3.0, None)
    written(told, ("hold", 1, 2.0, None), rest=whole[:9])
    assert told.read() == 1
    written(told, rest=whole[9:])
    assert told.read() == 2


def test_a_decision_that_never_comes_is_not_a_figure(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter((0.0, 1.0, 1e9))
    monkeypatch.setattr(rig.time, "monotonic", lambda: next(moments))
    with pytest.raises(NotMeasured, match="a hold in the engine did not come"):
        told.reached("hold", 0, {1})


def test_the_command_behind_the_tap_runs(tmp_path: Path) -> None:
    """With the arguments that it would have had."""
    command = [sys.executable, "-m", "benchmarks.tap", str(tmp_path / "told"), "help", "--commands"]
    said = subprocess.run(command, cwd=rig.ROOT, env=os.environ, capture_output=True, text=True, check=True).stdout
    assert "engine_worker" in said
