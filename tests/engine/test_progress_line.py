"""The line that says how far a command has come."""

from __future__ import annotations

import io

import pytest

from engine.command_line.progress_line import ProgressLine, duration, left


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def terminal() -> Terminal:
    return Terminal()


def test_it_is_written_over_again_at_most_twice_a_second_and_taken_away_at_the_end(terminal: Terminal) -> None:
    clock = Clock()
    line = ProgressLine(stream=terminal, monotonic=clock)
    line.look(str)
    assert terminal.getvalue() == ""
    clock.now += 100.0
    line.look(lambda ran: f"{duration(ran)}{left(ran, 0.4)}")
    line.look(str)
    assert terminal.getvalue() == "\r\x1b[K1 min 40 s, about 2 min 30 s left"
    line.close()
    assert terminal.getvalue().endswith("left\r\x1b[K")


def test_nothing_is_said_of_the_time_left_before_anything_is_done() -> None:
    assert left(7.0, 0.0) == ""


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0 s"), (59.6, "1 min 0 s"), (3700, "1 h 1 min")])
def test_seconds_are_said_as_people_do(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_in_a_log_every_line_stays_and_there_are_few(terminal: Terminal) -> None:
    stream, clock = io.StringIO(), Clock()
    line = ProgressLine(True, stream=stream, monotonic=clock)
    for _ in range(30):
        clock.now += 1.0
        line.look(lambda ran: f"after {ran:.0f}")
    line.close()
    assert stream.getvalue() == "after 10\nafter 20\nafter 30\n"


@pytest.mark.parametrize(("stream", "shown"), [(io.StringIO(), None), (Terminal(), False)], ids=["a file", "quiet"])
def test_where_nobody_watches_nothing_is_written_or_asked(stream: io.StringIO, shown: bool | None) -> None:
    clock = Clock()
    line = ProgressLine(shown, stream=stream, monotonic=clock)
    clock.now += 100
    line.look(lambda ran: 1 / 0)  # type: ignore[arg-type, return-value]
    line.close()
    assert stream.getvalue() == ""
