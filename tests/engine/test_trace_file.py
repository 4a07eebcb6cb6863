"""A trace that was given away is read again as it was: the same lanes, pictures and files."""

from __future__ import annotations

import zlib

import pytest

from engine import timeline
from engine.lanes import seen
from engine.perfetto import chrome
from engine.request import Priority, Score
from engine.trace import Trace
from engine.trace_file import packed, unpacked
from tests.engine import traces
from tests.engine.traces import chunk, step

pytestmark = pytest.mark.undisturbed("plays a scenario that is disturbed enough")

LONG = 1e9  # seconds


def test_everything_that_happens_is_read_as_it_was_written() -> None:
    trace = traces.played()
    read = unpacked(packed(trace, LONG))
    assert (read.steps, read.events) == (trace.steps, trace.events)
    assert (chrome(read, "x"), timeline.draw(read, "x")) == (chrome(trace, "x"), timeline.draw(trace, "x"))


def test_only_the_last_seconds_are_given_away_and_what_is_known_of_who_is_there() -> None:
    trace = Trace(clock=lambda: 1.0)
    trace.placed(7, Score((1,) * 65), Priority.URGENT)
    for number in (1, 90, 95):
        trace.record(step(number, chunk(0, priority=Priority.URGENT)), [])
    read = unpacked(packed(trace, 0.2))
    assert [one.number for one in read.steps] == [90, 95]
    assert [(lane.name, len(lane.rows)) for lane in seen(read, 0.2).lanes] == [("7 urgent score 65", 2)]
    assert read.clock() == 1.0


def test_who_had_ended_before_is_left_out() -> None:
    trace = traces.mixed()
    assert trace.events
    assert unpacked(packed(trace, 0.0)).events == ()


@pytest.mark.parametrize("data", [b"", b"no", zlib.compress(b"[]"), zlib.compress(b'{"version": 99}')])
def test_other_bytes_are_refused_in_a_sentence(data: bytes) -> None:
    with pytest.raises(ValueError, match="trace"):
        unpacked(data)
