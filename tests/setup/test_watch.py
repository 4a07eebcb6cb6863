"""A process that dies is started again, later each time, until it is given up."""

import sys
from pathlib import Path

import pytest

from supervisor.child import Child
from supervisor.errors import ProcessError
from supervisor.watch import HEALTHY_AFTER_S, MOST_DEATHS, Watched


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def dying(tmp_path: Path, clock: Clock) -> Watched:
    def start() -> Child:
        child = Child("dying", [sys.executable, "-c", "raise SystemExit('no engine here')"], log=tmp_path / "log", folder=tmp_path)
        child.run_to_end()
        return child

    watched = Watched("dying", start, clock=clock)
    watched.launch()
    return watched


def die(watched: Watched, clock: Clock, *, after: float = 0.0) -> float:
    """One death and the start after it; how long the pause was."""
    clock.seconds += after
    watched.look()
    assert watched.start_again_at is not None
    pause = watched.start_again_at - clock.seconds
    clock.seconds = watched.start_again_at
    watched.look()
    return pause


def test_the_pause_doubles_with_every_death(dying: Watched, clock: Clock) -> None:
    assert [die(dying, clock) for _ in range(3)] == [0.5, 1.0, 2.0]


def test_a_long_life_forgives_earlier_deaths(dying: Watched, clock: Clock) -> None:
    die(dying, clock)
    die(dying, clock)
    assert die(dying, clock, after=HEALTHY_AFTER_S) == 0.5


def test_it_is_given_up_with_the_last_lines_of_its_log(dying: Watched, clock: Clock) -> None:
    for _ in range(MOST_DEATHS - 1):
        die(dying, clock)
    with pytest.raises(ProcessError, match="no engine here"):
        dying.look()


def test_a_process_that_runs_is_left_alone(tmp_path: Path, clock: Clock) -> None:
    def start() -> Child:
        child = Child("sleeper", ["sleep", "60"], log=tmp_path / "log", folder=tmp_path)
        child.start()
        return child

    watched = Watched("sleeper", start, clock=clock)
    watched.launch()
    before = watched.child
    watched.look()
    assert watched.child is before
    assert before
    before.kill()
