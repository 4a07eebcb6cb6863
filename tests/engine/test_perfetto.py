"""Traces as JSON: held to Chrome's Trace Event Format, for a mixed load and for everything that STAT does.

Every event has a phase, process and thread; X has whole microseconds `ts` and `dur`, i a scope, C numbers, s and f an id.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

import pytest

from engine.happening import What
from engine.lanes import lanes
from engine.trace import Trace
from tests.engine import traces
from tests.engine.traces import events

pytestmark = pytest.mark.undisturbed("plays a scenario that is disturbed enough")

REQUIRED = {
    "X": {"ts", "dur", "cat"},
    "i": {"ts", "s"},
    "C": {"ts", "args"},
    "M": {"args"},
    "s": {"ts", "id"},
    "f": {"ts", "id", "bp"},
}
ENGINE, REQUESTS = 1, 2


@pytest.fixture(params=["mixed", "stat"])
def trace(request: pytest.FixtureRequest) -> Trace:
    return traces.mixed() if request.param == "mixed" else traces.played()


def tracks(found: list[dict[str, Any]]) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Spans of each track, in the order in which they stand."""
    by: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for event in found:
        by[event["pid"], event["tid"]].append(event)
    return by


def test_every_event_has_what_its_phase_asks_for(trace: Trace) -> None:
    found = events(trace)
    for event in found:
        assert {"ph", "pid", "tid", "name"} | REQUIRED[event["ph"]] <= set(event)
        assert type(event.get("ts", 0)) is int
        assert type(event.get("dur", 0)) is int
        assert min(event.get("ts", 0), event.get("dur", 0), event["tid"]) >= 0
    assert all(type(value) is int for event in found if event["ph"] == "C" for value in event["args"].values())
    assert all(event["s"] == "t" for event in found if event["ph"] == "i")


def test_times_never_go_back_on_a_track(trace: Trace) -> None:
    for found in tracks(events(trace, "X", "i", "C")).values():
        times = [event["ts"] for event in found]
        assert times == sorted(times)


def test_each_request_has_a_track_of_its_own_and_every_id_has_a_name(trace: Trace) -> None:
    found = events(trace)
    names = {(event["pid"], event["tid"]): event["args"]["name"] for event in found if event["name"] == "thread_name"}
    assert sorted(name for (pid, _), name in names.items() if pid == REQUESTS) == sorted(lane.name for lane in lanes(trace))
    assert {(event["pid"], event["tid"]) for event in found if event["ph"] in "Xisf"} <= names.keys()
    assert {event["args"]["name"] for event in found if event["name"] == "process_name"} == {"engine", "requests"}
    sorts = [event["tid"] for event in found if event["name"] == "thread_sort_index"]
    assert sorts == sorted(sorts)


def test_spans_of_a_request_do_not_overlap_and_verbs_lie_inside_their_step(trace: Trace) -> None:
    for (pid, _), found in tracks(events(trace, "X")).items():
        spans = sorted((event["ts"], event["ts"] + event["dur"]) for event in found if event["cat"] != "step")
        assert pid == ENGINE or len(spans) == len(found)
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
    steps = [event for event in events(trace, "X") if event["cat"] == "step"]
    verbs = [event for event in events(trace, "X") if event["cat"] == "verb"]
    assert len(verbs) == 3 * len(steps)
    for verb, inside in zip(verbs, sorted(steps * 3, key=lambda one: one["ts"]), strict=True):
        assert inside["ts"] <= verb["ts"] <= verb["ts"] + verb["dur"] <= inside["ts"] + inside["dur"]


def test_a_flow_begins_in_a_span_of_its_stat_and_ends_in_one_of_whom_it_stopped() -> None:
    trace = traces.played()
    found, by_track = events(trace, "s", "f"), tracks(events(trace, "X"))
    named = {event["tid"]: event["args"]["name"] for event in events(trace, "M") if event["name"] == "thread_name"}
    pairs = [(found[index], found[index + 1]) for index in range(0, len(found), 2)]
    assert len({begin["id"] for begin, _ in pairs}) == len(pairs)
    for begin, end in pairs:
        assert (begin["ph"], end["ph"], end["bp"]) == ("s", "f", "e")
        assert (begin["id"], begin["cat"], begin["name"]) == (end["id"], end["cat"], end["name"])
        assert begin["ts"] <= end["ts"]
        for one in (begin, end):
            spans = by_track[REQUESTS, one["tid"]]
            assert any(span["ts"] <= one["ts"] < span["ts"] + span["dur"] for span in spans)
        assert (" stat " in named[begin["tid"]], " stat " in named[end["tid"]]) == (True, False)
    for_somebody = [event for lane in lanes(trace) for event in lane.events if event.by]
    assert len(pairs) == len(for_somebody) > 0


def test_everything_that_happened_is_an_instant_with_its_number() -> None:
    trace = traces.played()
    told = [(event["name"], event["args"]) for event in events(trace, "i")]
    kept = [event for lane in lanes(trace) for event in lane.events]
    assert sorted(name for name, _ in told) == sorted(event.what.value for event in kept)
    stopped = [args for name, args in told if name == What.STOPPED.value]
    assert {(args["layers"], args.get("stat")) for args in stopped} == {(2, 8), (3, None), (3, 10)}
    assert next(args for name, args in told if name == What.RECLASSED.value) == {"priority": "stat"}


def test_counters_tell_every_block_and_every_slot_of_the_arena() -> None:
    counters = [event for event in events(traces.played(), "C") if event["name"] in ("blocks", "arena")]
    blocks = [event["args"] for event in counters if event["name"] == "blocks"]
    assert {sum(one.values()) for one in blocks} == {48}
    assert all(any(one[state] for one in blocks) for state in ("used", "draining", "cached", "free"))
    assert {sum(event["args"].values()) for event in counters if event["name"] == "arena"} == {16}


def test_passes_that_stand_still_have_a_track_of_the_engine() -> None:
    passes = [event for event in events(traces.played(), "X") if event["cat"] == "pass"]
    assert [(one["name"], one["args"]["stat"]) for one in passes] == [
        ("stopped after layer 2", 8), ("stopped after layer 3", 0), ("stopped after layer 3, abandoned", 10),
    ]  # fmt: skip


def test_an_empty_trace_is_an_empty_file() -> None:
    assert {event["ph"] for event in events(Trace())} == {"M"}
