"""The line that says how far a command has come."""

from __future__ import annotations

import io

from engine.progress_line import ProgressLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


STATES: dict[int, tuple[int, int] | None] = {0: (0, 900), 1: (0, 100)}


def test_it_is_written_over_again_at_most_twice_a_second_and_taken_away_at_the_end() -> None:
    states, clock, terminal = dict(STATES), Clock(), Terminal()
    line = ProgressLine(states.get, states, stream=terminal, monotonic=clock)
    line.look()
    assert terminal.getvalue() == ""
    states[0] = (400, 900)
    clock.now += 100.0
    line.look()
    line.look()
    assert terminal.getvalue() == "\r\x1b[K400 of 1,000 tokens (40%) after 1 min 40 s, about 2 min 30 s left"
    line.close()
    assert terminal.getvalue().endswith("left\r\x1b[K")


def test_what_has_ended_counts_whole() -> None:
    states, clock, terminal = dict(STATES), Clock(), Terminal()
    line = ProgressLine(states.get, states, stream=terminal, monotonic=clock)
    states.update({0: None, 1: (50, 100)})
    clock.now += 3700.0
    line.look()
    assert "950 of 1,000 tokens (95%) after 1 h 1 min" in terminal.getvalue()


def test_where_nobody_watches_nothing_is_written_or_asked() -> None:
    stream = io.StringIO()
    clock = Clock()
    line = ProgressLine(lambda handle: 1 / 0, [1, 2], stream=stream, monotonic=clock)  # type: ignore[arg-type, return-value]
    clock.now += 100
    line.look()
    line.close()
    assert stream.getvalue() == ""
