"""The engine's own trace: what it keeps, and how it is read: lanes, stays, and what happened."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from engine.batch import Row
from engine.happening import What
from engine.lanes import Lane, Stay, lanes, seen
from engine.request import Priority, Sampling, Score
from engine.trace import Kind, Mark, Part, Trace, marks
from tests.engine import traces
from tests.engine.traces import MIXED, chunk, engine, run, step

STAT = Priority.STAT


@pytest.fixture
def mixed() -> Trace:
    return traces.mixed()


def lane_of(trace: Trace, handle: int) -> Lane:
    return next(lane for lane in lanes(trace) if lane.handle == handle)


def whats(lane: Lane) -> list[What]:
    return [event.what for event in lane.events]


def test_every_computed_token_is_in_the_trace_with_its_kind_and_class(mixed: Trace) -> None:
    counted: Counter[tuple[int, Kind]] = Counter()
    for one in mixed.steps:
        for mark in one.marks:
            counted[mark.handle, Kind(mark.kind)] += mark.tokens
            assert mark.priority == (Priority.ASAP if mark.handle < 0 else MIXED[mark.handle - 1][1])
    assert counted[1, Kind.CHUNK] == 100
    assert (counted[2, Kind.CHUNK], counted[2, Kind.DECODE]) == (3, 5)
    assert counted[-1, Kind.TRUNK] == 30
    assert counted[3, Kind.BRANCH] in (9, 10)
    assert {handle for handle, _ in counted} == {-1, 1, 2, 3, 4}


def test_times_of_a_step_are_in_order_and_steps_follow_each_other(mixed: Trace) -> None:
    flat = [at for one in mixed.steps for at in one.times]
    assert flat == sorted(flat)
    assert [one.number for one in mixed.steps] == list(range(1, len(mixed.steps) + 1))


def test_requests_come_and_go_in_it(mixed: Trace) -> None:
    told = Counter(event.what for event in mixed.events)
    assert told == {What.PLACED: 5, What.FINISHED: 4, What.FAILED: 1}
    found = {lane.handle: lane for lane in lanes(mixed)}
    assert (found[1].name, found[1].state) == ("1 routine score 101", "finished")
    assert found[3].name == "3 asap alternate at 20 of 30"
    assert (found[5].rows, found[5].state) == ([], "failed")
    assert found[-1].name == "trunk 1"
    assert whats(found[1]) == [What.PLACED, What.STARTS, What.FINISHED]


def test_what_is_kept_does_not_change_when_rows_are_used_again() -> None:
    row = Row(1, 0, [1, 2, 3], [0])
    kept = marks([row], lambda handle: (Priority.STAT, False))
    row.start, row.tokens = 3, [4]
    assert list(kept) == [1, 0, 3, Priority.STAT, Kind.CHUNK]


@pytest.mark.parametrize(
    ("handle", "tokens", "draw", "branch", "kind"),
    [
        (1, 5, None, False, Kind.CHUNK),
        (1, 5, Sampling(), False, Kind.CHUNK),
        (1, 1, Sampling(), False, Kind.DECODE),
        (1, 5, None, True, Kind.BRANCH),
        (-1, 5, None, False, Kind.TRUNK),
    ],
)
def test_the_kind_of_a_row(handle: int, tokens: int, draw: Any, branch: bool, kind: Kind) -> None:
    numbers = marks([Row(handle, 0, [1] * tokens, [], draw=draw)], lambda _: (Priority.STAT, branch))
    assert numbers[4] == kind


def test_memory_is_bounded_whatever_runs() -> None:
    trace = Trace(steps=10, rows=6, events=4)
    for number in range(100):
        trace.placed(number, Score((1, 2)), Priority.STAT)
        trace.happened(What.RELEASED, number)
        trace.record(step(number, *[Mark(handle, number, 1, 3, 0) for handle in range(2)]), [])
    assert [one.number for one in trace.steps] == [97, 98, 99]
    assert len(trace.events) == 4
    empty = Trace(steps=10)
    for number in range(100):
        empty.record(step(number), [])
    assert len(empty.steps) == 10


def test_a_trace_holds_numbers_and_no_sequence(mixed: Trace) -> None:
    tokens = {type(value) for one in mixed.steps for mark in one.marks for value in mark}
    words = {event.request for event in mixed.events} - {""}
    assert tokens == {int}
    assert words == {"score 101", "generate 3", "alternate at 20 of 30", "alternate at 30 of 40", "score 1"}


def test_an_engine_without_a_trace_keeps_nothing_and_computes_the_same() -> None:
    with_trace, without = run(engine(trace=Trace()), MIXED), run(engine(), MIXED)
    assert [(o.handle, o.state, o.result) for o in with_trace] == [(o.handle, o.state, o.result) for o in without]


def test_a_trace_that_is_taken_away_hears_nothing_more() -> None:
    trace, made = Trace(), engine()
    made.trace = trace
    made.submit(1, Score((1,) * 40), Priority.ROUTINE)
    made.trace = None
    made.hold(1)
    made.step()
    assert [event.what for event in trace.events] == [What.PLACED]
    assert trace.steps == ()


# How it is read.


def test_a_request_that_begins_again_is_marked_and_so_are_all_rows_until_it_is_where_it_was() -> None:
    trace = Trace()
    for number, start in enumerate((0, 32, 0, 32, 64)):
        trace.record(step(number, chunk(start)), [])
    (lane,) = lanes(trace)
    assert [row.step.number for row in lane.again] == [2]
    assert [row.again for row in lane.rows] == [False, False, True, True, False]
    assert [event.count for event in lane.events if event.what is What.AGAIN] == [64]


def frozen(*, abandoned: bool = False) -> Trace:
    """A pass that stops after 3 layers for a STAT, and goes on or is abandoned."""
    trace = Trace(clock=lambda: 0.023)
    trace.record(step(1, chunk(0), layers=3, part=Part.STOPPED), [])
    if abandoned:
        trace.happened(What.ABANDONED, 7, 32, 9)
    trace.record(step(3, chunk(0, handle=9, priority=STAT)), [])
    part, layers = (Part.WHOLE, 4) if abandoned else (Part.RESUMED, 1)
    trace.record(step(5, chunk(0), layers=layers, part=part), [])
    return trace


def test_a_pass_that_stands_still_is_told_with_its_layers_and_the_stat_it_stands_for() -> None:
    trace = frozen()
    lane, ran, goes_on = lane_of(trace, 7), trace.steps[0].times.ran, trace.steps[2].times.scheduled
    assert [(event.what, event.count, event.by) for event in lane.events] == [(What.STOPPED, 3, 9), (What.RESUMED, 3, 0)]
    assert [(span.stay, span.begin, span.end, span.number) for span in lane.spans] == [(Stay.FROZEN, ran, goes_on, 3)]
    assert [(row.first_layer, row.last_layer) for row in lane.rows] == [(0, 3), (3, 4)]
    assert [(one.layers, one.by, one.abandoned, one.until) for one in seen(trace).stood] == [(3, 9, False, goes_on)]
    assert (len(lane.counted), lane.again) == (1, [])


def test_a_pass_that_is_abandoned_stands_still_until_then_and_its_row_is_computed_again() -> None:
    trace = frozen(abandoned=True)
    lane = lane_of(trace, 7)
    assert whats(lane) == [What.STOPPED, What.ABANDONED, What.GOES_ON, What.AGAIN]
    assert [(one.layers, one.by, one.abandoned, one.until) for one in seen(trace).stood] == [(3, 9, True, 0.023)]
    assert [row.again for row in lane.rows] == [False, False]  # nothing of the first was counted


def test_a_stop_without_stat_is_nobodys() -> None:
    trace = Trace()
    trace.record(step(1, chunk(0), layers=1, part=Part.STOPPED), [])
    trace.record(step(2, chunk(0), layers=2, part=Part.STOPPED | Part.RESUMED), [])
    trace.record(step(3, chunk(0), layers=1, part=Part.RESUMED), [])
    (lane,) = lanes(trace)
    assert [(event.what, event.count, event.by) for event in lane.events] == [
        (What.STOPPED, 1, 0), (What.RESUMED, 1, 0), (What.STOPPED, 3, 0), (What.RESUMED, 3, 0),
    ]  # fmt: skip


def test_stays_follow_what_happens_and_on_hold_hides_where_it_lies() -> None:
    now = iter((0.02, 0.022, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09))
    trace = Trace(clock=lambda: next(now))
    trace.record(step(1, chunk(0)), [])
    told = (What.DRAINS, What.IN_MEMORY, What.TO_DISK, What.ON_HOLD, What.ON_DISK, What.RELEASED, What.FROM_DISK, What.READ)
    for what in told:
        trace.happened(what, 7, 2)
    trace.happened(What.RETURNS, 7, 2)
    trace.record(step(10, chunk(32)), [])
    (lane,) = lanes(trace)
    assert [(span.stay, span.begin, span.end) for span in lane.spans] == [
        (Stay.DRAINS, 0.02, 0.022), (Stay.MEMORY, 0.022, 0.03), (Stay.WRITES, 0.03, 0.04), (Stay.HELD, 0.04, 0.06),
        (Stay.DISK, 0.06, 0.07), (Stay.READS, 0.07, 0.08), (Stay.MEMORY, 0.08, 0.101),
    ]  # fmt: skip
    assert whats(lane)[-1] is What.GOES_ON


def test_the_last_seconds_are_cut_at_their_beginning_and_know_what_came_before() -> None:
    now = iter((0.0, 0.02, 0.021, 0.5))
    trace = Trace(clock=lambda: next(now))
    trace.placed(7, Score((1,) * 65), Priority.URGENT)
    trace.record(step(1, chunk(0, priority=Priority.URGENT)), [])
    trace.happened(What.DRAINS, 7, 2)
    trace.happened(What.IN_MEMORY, 7)
    found = seen(trace, 0.1)
    (lane,) = found.lanes
    assert (found.begin, found.end, found.steps) == (0.4, 0.5, ())
    assert (lane.name, lane.rows, lane.events) == ("7 urgent score 65", [], [])
    assert [(span.stay, span.begin, span.end) for span in lane.spans] == [(Stay.MEMORY, 0.4, 0.5)]


def test_what_was_over_before_the_last_seconds_is_left_out() -> None:
    trace = Trace(clock=lambda: 0.5)
    trace.record(step(1, chunk(0)), [])
    trace.record(step(45, chunk(0, handle=8)), [])
    assert [lane.handle for lane in seen(trace, 0.1).lanes] == [8]


def test_a_pass_beside_one_that_stands_still_is_stopped_and_goes_on_by_itself() -> None:
    trace = Trace()
    beside = chunk(0, handle=9, priority=STAT)
    trace.record(step(1, chunk(0), layers=1, part=Part.STOPPED), [])
    trace.record(step(2, beside, layers=2, part=Part.STOPPED | Part.BESIDE), [])
    trace.record(step(3, beside, layers=2, part=Part.RESUMED | Part.BESIDE), [])
    trace.record(step(4, chunk(0), layers=3, part=Part.RESUMED), [])
    assert [(row.first_layer, row.last_layer) for handle in (7, 9) for row in lane_of(trace, handle).rows] == [
        (0, 1), (1, 4), (0, 2), (2, 4),
    ]  # fmt: skip
    ends = [one.times.scheduled for one in (trace.steps[3], trace.steps[2])]
    assert [(one.layers, one.by, one.until) for one in seen(trace).stood] == [(1, 9, ends[0]), (2, 0, ends[1])]
