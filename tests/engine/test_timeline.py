"""The picture of a trace: a lane for each request, a sign for each thing that happened, nothing on top of anything."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from collections import Counter

import pytest

from engine import glyphs, timeline
from engine.happening import What
from engine.lanes import Stay, lanes
from engine.trace import Kind, Mark, Trace
from tests.engine import traces
from tests.engine.traces import step
from tests.services import ROOT

pytestmark = pytest.mark.undisturbed("plays a scenario that is disturbed enough")

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(params=["mixed", "stat"])
def trace(request: pytest.FixtureRequest) -> Trace:
    return traces.mixed() if request.param == "mixed" else traces.played()


def drawn(trace: Trace) -> ET.Element:
    return read(timeline.draw(trace, "Steps <of> a test & more"))


def read(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 — our own


def texts(root: ET.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def lane_groups(root: ET.Element) -> dict[int, ET.Element]:
    return {int(group.get("data-lane", "")): group for group in root.iter(f"{SVG}g") if group.get("data-lane")}


def signs(group: ET.Element) -> list[tuple[str, float]]:
    """What each says, and where it stands."""
    found = [one for one in group.iter(f"{SVG}g") if one.get("data-event")]
    return [(one.get("data-event", ""), float(re.findall(r"[\d.]+", one.get("transform", ""))[0])) for one in found]


def test_it_has_a_lane_for_each_request_and_a_sign_for_each_thing_that_happened(trace: Trace) -> None:
    groups = lane_groups(drawn(trace))
    assert list(groups) == [lane.handle for lane in lanes(trace)]
    for lane in lanes(trace):
        assert texts(groups[lane.handle])[0] == lane.name
        told = [(event.what.value, event.count) for event in lane.events]
        assert [what for what, _ in signs(groups[lane.handle])] == [what for what, _ in told]


def test_it_says_itself_in_words(trace: Trace) -> None:
    root = drawn(trace)
    title, words = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert words is not None
    assert title.text == "Steps <of> a test & more"
    assert f"{len(lanes(trace))} lanes in" in (words.text or "")
    happened = Counter(event.what for lane in lanes(trace) for event in lane.events)
    assert all(f"{what.value} {count}" in (words.text or "") for what, count in happened.items())
    assert (root.get("role"), root.get("aria-labelledby")) == ("img", "timeline-title timeline-words")


def test_it_carries_neither_style_nor_script(trace: Trace) -> None:
    assert {element.tag.removeprefix(SVG) for element in drawn(trace).iter()} <= {
        "svg", "title", "desc", "defs", "pattern", "rect", "text", "line", "path", "g",
    }  # fmt: skip


def test_nothing_of_it_lies_outside_its_frame(trace: Trace) -> None:
    root = drawn(trace)
    width, height = map(float, (root.get("viewBox") or "").split()[2:])
    for element in (one for one in root.iter() if one.tag != f"{SVG}rect" or one.get("data-event")):
        for name in ("x", "x1", "x2"):
            assert 0 <= float(element.get(name, "0")) <= width
        for name in ("y", "y1", "y2"):
            assert 0 <= float(element.get(name, "0")) <= height
    for group in lane_groups(root).values():
        assert all(timeline.LEFT - glyphs.SIZE <= x <= width for _, x in signs(group))


def test_signs_of_a_lane_do_not_touch(trace: Trace) -> None:
    for lane in lanes(trace):
        found = signs(lane_groups(drawn(trace))[lane.handle])
        for (_, left), (_, right) in itertools.pairwise(found):
            assert right - left >= glyphs.SIZE


def test_every_stay_and_every_arrow_is_drawn() -> None:
    trace, root = traces.played(), drawn(traces.played())
    shown = [span for lane in lanes(trace) for span in lane.spans if span.stay is not Stay.WAITS]
    fills = Counter(rect.get("fill") for group in lane_groups(root).values() for rect in group.findall(f"{SVG}rect"))
    assert fills == Counter(glyphs.fill(span.stay) for span in shown)
    arrows = Counter(group.get("data-arrow") for group in root.iter(f"{SVG}g") if group.get("data-arrow"))
    assert arrows == Counter(f"{event.by} {lane.handle}" for lane in lanes(trace) for event in lane.events if event.by)


def test_every_pattern_that_is_used_is_defined() -> None:
    text = timeline.draw(traces.played(), "x")
    assert set(re.findall(r"url\(#(\w+)\)", text)) == set(re.findall(r'<pattern id="(\w+)"', text))


def test_only_stat_has_the_strong_colour() -> None:
    for handle, group in lane_groups(drawn(traces.played())).items():
        lane = next(lane for lane in lanes(traces.played()) if lane.handle == handle)
        strong = [path for path in group.findall(f"{SVG}path") if path.get("fill") == glyphs.STAT]
        assert bool(strong) == any(row.mark.priority == 0 for row in lane.rows)


def test_everything_that_may_happen_has_a_sign_of_its_own_and_every_stay_a_look() -> None:
    assert set(glyphs.SHAPES) == set(What)
    assert len({(shape.path, shape.hollow) for shape in glyphs.SHAPES.values()}) == len(What)
    assert set(glyphs.TEXTURES) == set(Stay) - {Stay.WAITS, Stay.AMID}
    looks = {(look.path, look.ground, look.ink) for stay, look in glyphs.TEXTURES.items() if stay is not Stay.READS}
    assert len(looks) == len(glyphs.TEXTURES) - 1  # both ways between memory and disk look the same


def test_the_legend_explains_what_occurs_and_nothing_else() -> None:
    def words(trace: Trace) -> set[str]:
        return set(texts(drawn(trace)))

    stays = {"stands still between two layers", "lies on disk", "on hold", "computed once more"}
    assert stays <= words(traces.played())
    assert not stays & words(traces.mixed())
    assert "trunk that alternates share" in words(traces.mixed()) - words(traces.played())


@pytest.mark.parametrize("wanted", [[10.0, 10.5, 11.0], [0.0, 0.0, 99.0, 100.0], [50.0], []])
def test_signs_are_moved_apart_as_little_as_possible_and_stay_in_order(wanted: list[float]) -> None:
    found = glyphs.places(wanted, [8.0] * len(wanted), 0.0, 100.0)
    assert all(after - before >= 8.0 - 1e-9 for before, after in itertools.pairwise(found))
    assert all(4.0 - 1e-9 <= place <= 96.0 + 1e-9 for place in found)


def test_more_signs_than_there_is_room_for_stand_closer() -> None:
    found = glyphs.places([5.0] * 40, [8.0] * 40, 0.0, 100.0)
    assert found == sorted(found)
    assert (found[0] >= 0, found[-1] <= 100) == (True, True)


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
    lane = lane_groups(read(text))[1]
    assert [path.get("d", "").count("M") for path in lane.findall(f"{SVG}path")] == [1]


def test_an_empty_trace_is_an_empty_picture() -> None:
    assert texts(drawn(Trace()))[-1] == "no step has been recorded"


@pytest.mark.parametrize(("name", "lane"), [("step-timeline", "12 stat generate 100"), ("stat-timeline", "6 stat score 120")])
def test_the_pictures_of_the_page_for_engineers_are_such(name: str, lane: str) -> None:
    assert f"(images/{name}.svg)" in (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")
    root = read((ROOT / "docs" / "images" / f"{name}.svg").read_text(encoding="utf-8"))
    assert lane in texts(root)
    assert len(lane_groups(root)) == 15


def test_ticks_are_round_and_few() -> None:
    for span in (0.00003, 0.0017, 0.09, 1.0, 47.3, 9000.0):
        ticks = list(timeline._Axis(5.0, 5.0 + span).ticks)
        assert 4 <= len(ticks) <= 11
        assert float(f"{ticks[1]:.0e}") == pytest.approx(ticks[1])
