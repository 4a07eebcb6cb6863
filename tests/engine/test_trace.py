"""The engine's own trace: what it keeps, how little it costs, and the two pictures made of it."""

from __future__ import annotations

import itertools
import json
import xml.etree.ElementTree as ET
from array import array
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engine import timeline
from engine.__main__ import main
from engine.batch import Row
from engine.config import EngineConfig
from engine.engine import Engine
from engine.request import REFERENCE, Branch, Generate, Outcome, Priority, Request, Sampling, Score
from engine.swap.content import IN, OUT
from engine.tokenizers.vocab_json import from_symbols
from engine.trace import Kind, Mark, Step, Times, Trace, chrome, lanes, marks
from tests.engine.driving import scheduler
from tests.engine.test_loop import DEPLOYMENT, Plain
from tests.services import ROOT

SVG = "{http://www.w3.org/2000/svg}"
CONFIG = EngineConfig(slots=3, token_budget=64, chunk=32, blocks=16, block_size=16)
WINDOW = (1, *range(3, 7)) * 12
MIXED: list[tuple[Request, Priority]] = [
    (Score((1,) * 101), Priority.ROUTINE),
    (Generate((1, 3, 4), limit=6), Priority.URGENT),
    (Score(WINDOW, REFERENCE, Branch(20, (6,) * 10)), Priority.ASAP),
    (Score(WINDOW, REFERENCE, Branch(30, (6,) * 10)), Priority.ASAP),
    (Score((1,)), Priority.STAT),  # refused
]


class Ticking:
    """A clock that moves a millisecond whenever it is asked."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


def engine(config: EngineConfig = CONFIG, trace: Trace | None = None) -> Engine:
    made = Engine(scheduler(config), Plain(), DEPLOYMENT, from_symbols({"bos": 1}), batch_invariant=True)
    made.trace = trace
    return made


def run(made: Engine, requests: list[tuple[Request, Priority]]) -> list[Outcome]:
    for handle, (request, priority) in enumerate(requests, start=1):
        made.submit(handle, request, priority)
    outcomes = []
    while made.scheduler.has_work:
        outcomes += made.step()
    return outcomes


@pytest.fixture
def mixed() -> Trace:
    trace = Trace()
    run(engine(trace=trace), MIXED)
    return trace


def step(number: int, *rows: Mark, length: float = 0.004) -> Step:
    """A step that began at `number` hundredths of a second."""
    began = number / 100
    return Step(number, Times(began, began + 0.001, began + length, began + length + 0.001), array("q", sum(rows, ())), 0, 0)


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
    assert Counter(event.what for event in mixed.events) == {"placed": 5, "finished": 4, "failed": 1}
    found = {lane.handle: lane for lane in lanes(mixed)}
    assert (found[1].name, found[1].state) == ("1 routine score 101", "finished")
    assert found[3].name == "3 asap alternate from 20 of 30"
    assert (found[5].rows, found[5].state) == ([], "failed")
    assert found[-1].name == "trunk 1"


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
        trace.record(step(number, *[Mark(handle, number, 1, 3, 0) for handle in range(2)]), [])
    assert [one.number for one in trace.steps] == [97, 98, 99]
    assert len(trace.events) == 4
    empty = Trace(steps=10)
    for number in range(100):
        empty.record(step(number), [])
    assert len(empty.steps) == 10


def test_a_request_that_began_again_is_marked(mixed: Trace) -> None:
    trace = Trace()
    for number, start in enumerate((0, 32, 0, 32, 64)):
        trace.record(step(number, Mark(7, start, 32, Priority.ROUTINE, Kind.CHUNK)), [])
    (lane,) = lanes(trace)
    assert [one.number for one, _ in lane.again] == [2]
    assert "computed again" in chrome(trace, "x")
    assert all(lane.again == [] for lane in lanes(mixed) if lane.handle > 0)


def test_what_was_swapped_out_and_in_is_marked() -> None:
    trace = Trace()
    for number, start in enumerate((0, 32, 64)):
        trace.record(step(number, Mark(7, start, 32, Priority.ROUTINE, Kind.CHUNK)), [])
    trace.moved(trace.steps[1].times.began, 7, OUT)
    trace.moved(trace.steps[2].times.began, 7, IN)
    (lane,) = lanes(trace)
    assert ([what for _, what in lane.swaps], lane.ended, lane.again) == ([OUT, IN], None, [])
    named = {event["name"] for event in json.loads(chrome(trace, "x"))["traceEvents"] if event["ph"] == "i"}
    assert {OUT, IN} <= named
    without = Trace()
    for one in trace.steps:
        without.record(one, [])
    paths = [text.count(timeline.MOVED) for text in (timeline.draw(trace, "x"), timeline.draw(without, "x"))]
    assert paths == [2, 0]


def test_an_engine_without_a_trace_keeps_nothing_and_computes_the_same() -> None:
    with_trace, without = run(engine(trace=Trace()), MIXED), run(engine(), MIXED)
    assert [(o.handle, o.state, o.result) for o in with_trace] == [(o.handle, o.state, o.result) for o in without]


# Chrome's Trace Event Format: every event has a phase, process and thread; X has microseconds `ts` and `dur`, i a scope, C numbers.

REQUIRED = {"X": {"ts", "dur", "cat"}, "i": {"ts", "s"}, "C": {"ts", "args"}, "M": {"args"}}


def test_the_chrome_trace_is_what_its_format_asks_for(mixed: Trace) -> None:
    whole = json.loads(chrome(mixed, "a test"))
    assert whole["displayTimeUnit"] == "ms"
    for event in whole["traceEvents"]:
        assert {"ph", "pid", "tid", "name"} | REQUIRED[event["ph"]] <= set(event)
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 0) >= 0
        assert event["tid"] >= 0
    assert all(type(value) is int for event in whole["traceEvents"] if event["ph"] == "C" for value in event["args"].values())


def test_each_request_has_a_track_of_its_own_and_the_verbs_lie_inside_their_step(mixed: Trace) -> None:
    events = json.loads(chrome(mixed, "a test"))["traceEvents"]
    names = [event["args"]["name"] for event in events if event["name"] == "thread_name" and event["pid"] == 2]
    assert sorted(names) == sorted(lane.name for lane in lanes(mixed))
    steps = {event["ts"]: event for event in events if event.get("cat") == "step"}
    verbs = [event for event in events if event.get("cat") == "verb"]
    assert len(verbs) == 3 * len(steps)
    for event in verbs:
        assert any(s["ts"] <= event["ts"] and event["ts"] + event["dur"] <= s["ts"] + s["dur"] for s in steps.values())


def test_spans_of_a_track_do_not_overlap(mixed: Trace) -> None:
    tracks: dict[int, list[tuple[int, int]]] = {}
    for event in json.loads(chrome(mixed, "a test"))["traceEvents"]:
        if event["ph"] == "X" and event["pid"] == 2:
            tracks.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    for spans in tracks.values():
        spans.sort()
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))


# The picture.


def drawn(trace: Trace) -> ET.Element:
    return read(timeline.draw(trace, "Steps <of> a test & more"))


def read(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 — our own


def texts(root: ET.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def test_the_picture_has_a_lane_for_each_request_that_ran_and_says_itself_in_words(mixed: Trace) -> None:
    root = drawn(mixed)
    ran = [lane.name for lane in lanes(mixed) if lane.rows]
    assert [text for text in texts(root) if text in ran] == ran
    title, words = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert words is not None
    assert title.text == "Steps <of> a test & more"
    assert "5 lanes in" in (words.text or "")
    assert "30 as trunk" in (words.text or "")
    assert root.get("aria-labelledby") == "timeline-title timeline-words"


def test_the_picture_carries_neither_style_nor_script(mixed: Trace) -> None:
    assert {element.tag.removeprefix(SVG) for element in drawn(mixed).iter()} <= {
        "svg", "title", "desc", "rect", "text", "line", "path", "g",
    }  # fmt: skip


def test_nothing_of_the_picture_lies_outside_its_frame(mixed: Trace) -> None:
    root = drawn(mixed)
    width, height = map(float, (root.get("viewBox") or "").split()[2:])
    for element in root.iter():
        for name in ("x", "x1", "x2"):
            assert 0 <= float(element.get(name, "0")) <= width
        assert 0 <= float(element.get("y", "0")) <= height


def test_many_lanes_are_cut_and_the_picture_says_so() -> None:
    trace = Trace()
    for number in range(3):
        trace.record(step(number, *[Mark(handle, number, 1, 3, Kind.DECODE) for handle in range(1, 76)]), [])
    assert any(text.startswith("15 more lanes not shown") for text in texts(drawn(trace)))


def test_very_many_steps_are_joined_so_that_the_file_stays_small() -> None:
    trace = Trace()
    for number in range(4000):
        trace.record(step(number, *[Mark(handle, number, 1, 3, Kind.DECODE) for handle in range(1, 5)], length=0.009), [])
    text = timeline.draw(trace, "many")
    assert len(text) < 700_000
    lane = next(g for g in read(text).iter(f"{SVG}g"))
    assert [path.get("d", "").count("M") for path in lane.iter(f"{SVG}path")] == [1]


def test_an_empty_trace_is_an_empty_picture() -> None:
    assert texts(drawn(Trace())) == ["no step has been recorded"]
    assert json.loads(chrome(Trace(), "x"))["traceEvents"]


def test_the_picture_of_the_page_for_engineers_is_one_of_these() -> None:
    assert "(images/step-timeline.svg)" in (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")
    root = read((ROOT / "docs" / "images" / "step-timeline.svg").read_text(encoding="utf-8"))
    assert {"12 stat generate 100", "trunk 1", *(look.words for look in timeline._LOOKS.values())} <= set(texts(root))


def test_ticks_are_round_and_few() -> None:
    for span in (0.00003, 0.0017, 0.09, 1.0, 47.3, 9000.0):
        ticks = list(timeline._Axis(5.0, 5.0 + span).ticks)
        assert 4 <= len(ticks) <= 11
        assert float(f"{ticks[1]:.0e}") == pytest.approx(ticks[1])


def test_the_command_runs_its_workload_and_writes_both(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, svg = tmp_path / "steps.json", tmp_path / "steps.svg"
    assert (
        main(["trace", "--model", str(checkpoint), "--kernels", "reference", "--out", str(out), "--svg", str(svg), "--json"]) == 0
    )
    rows = json.loads(capsys.readouterr().out)
    assert {row["state"] for row in rows} == {"finished", ""}  # a trunk has no outcome
    assert any(row["computed_again"] or row["swapped"] for row in rows)  # a STAT request sent somebody away
    assert any(row["request"] == "trunk 1" for row in rows)
    drawn_lanes = [row["request"] for row in rows]
    assert [text for text in texts(read(svg.read_text(encoding="utf-8"))) if text in drawn_lanes] == drawn_lanes
    assert {event["ph"] for event in json.loads(out.read_text(encoding="utf-8"))["traceEvents"]} == {"M", "X", "C", "i"}
