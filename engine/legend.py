"""What stands under a timeline: each sign, pattern and colour that occurs in it, in words."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence

from engine import glyphs, svg
from engine.happening import What
from engine.lanes import Lane, Stay
from engine.request import Priority
from engine.trace import Step

COLUMNS, ROW, WIDE = 5, 22.0, 20.0
VERBS = (("schedule", glyphs.INK), ("run", "#cbd5e1"), ("postprocess", glyphs.EDGE))
LEVELS = (("used", glyphs.CALM), ("draining", glyphs.fill(Stay.DRAINS)), ("cached", "#dbe4ec"))
_NUMBERED = {What.STOPPED: "stopped after that layer", What.RESUMED: "goes on after that layer"}

Entry = tuple[Callable[[ET.Element, float, float], object], str]  # draws an example at a place; what it means


def entries(steps: Sequence[Step], lanes: Sequence[Lane]) -> list[Entry]:
    """Of what occurs."""
    return [*_work(lanes), *_stays(lanes), *_events(lanes), *_engine(steps)]


def height(found: Sequence[Entry]) -> float:
    """That they take."""
    return ROW * -(-len(found) // COLUMNS)


def draw(root: ET.Element, found: Sequence[Entry], left: float, width: float, top: float) -> None:
    """Column by column."""
    high = -(-len(found) // COLUMNS)
    for number, (example, words) in enumerate(found):
        x, y = left + number // high * width / COLUMNS, top + ROW * (number % high)
        example(root, x, y)
        svg.text(root, x + WIDE + 8, y + 4, words, fill=glyphs.QUIET)


def sign(parent: ET.Element, what: What, x: float, y: float, ink: str, count: int = 0) -> ET.Element:
    """The sign of something that happened, over whatever passes there."""
    shape, said = glyphs.SHAPES[what], glyphs.number(what, count)
    group = svg.add(parent, "g", transform=f"translate({svg.short(x)} {svg.short(y)})")
    svg.add(group, "rect", x=-5, y=-5.5, width=10 + 7 * len(said), height=11, fill=glyphs.PAPER)
    lines: dict[str, str | float] = {"stroke": ink, "stroke_width": 1.1, "stroke_linejoin": "round", "fill": "none"}
    svg.add(group, "path", d=shape.path, **(lines if shape.hollow else {"fill": ink}))
    svg.text(group, glyphs.SIZE / 2 + 1, 3.6, said, font_size=10, fill=ink)
    return group


def stay(parent: ET.Element, kind: Stay, x: float, middle: float, width: float) -> ET.Element:
    """A stretch of time that was spent so."""
    dashes = {} if glyphs.TEXTURES[kind].path else {"stroke_dasharray": "3 2"}
    return svg.add(
        parent, "rect", x=x, y=middle - 5, width=max(width, 0.6), height=10, fill=glyphs.fill(kind), stroke=glyphs.EDGE,
        stroke_width=0.6, **dashes,
    )  # fmt: skip


def waits(parent: ET.Element, begin: float, end: float, middle: float) -> None:
    """A stretch of time before it starts."""
    svg.add(parent, "line", x1=begin, x2=end, y1=middle, y2=middle, stroke=glyphs.FAINT, stroke_dasharray="2 3")


def arrow(parent: ET.Element, x: float, begin: float, end: float) -> ET.Element:
    """From a STAT request to one that makes way for it."""
    group = svg.add(parent, "g")
    svg.add(group, "line", x1=x, x2=x, y1=begin, y2=end, stroke=glyphs.STAT, stroke_width=0.9)
    tip = "l-2.6 -4.5h5.2z" if end > begin else "l-2.6 4.5h5.2z"
    svg.add(group, "path", d=f"M{svg.short(x)} {svg.short(end)}{tip}", fill=glyphs.STAT)
    return group


def _bar(height: float, *fills: str) -> Callable[[ET.Element, float, float], None]:
    def example(root: ET.Element, x: float, y: float) -> None:
        for fill in fills:
            svg.bars(root, [(x, x + WIDE)], y - height / 2, height, fill)

    return example


def _work(lanes: Sequence[Lane]) -> Iterator[Entry]:
    rows = [row for lane in lanes for row in lane.rows]
    kinds = {row.mark.kind for row in rows}
    for kind, look in glyphs.LOOKS.items():
        if kind in kinds:
            yield _bar(look.height, look.fill), look.words
    if any(row.mark.priority == Priority.STAT for row in rows):
        yield _bar(15, glyphs.STAT), "any of these for STAT"
    if any(row.again for row in rows):
        yield _bar(15, glyphs.CALM, glyphs.AGAIN), "computed once more"


def _stays(lanes: Sequence[Lane]) -> Iterator[Entry]:
    found = {span.stay for lane in lanes for span in lane.spans}
    if Stay.WAITS in found:
        yield lambda root, x, y: waits(root, x, x + WIDE, y), "waits to start"
    told = set()
    for kind, texture in glyphs.TEXTURES.items():
        if kind in found and texture.words not in told:
            told.add(texture.words)
            yield lambda root, x, y, kind=kind: stay(root, kind, x, y, WIDE), texture.words  # type: ignore[misc]


def _events(lanes: Sequence[Lane]) -> Iterator[Entry]:
    if any(event.by for lane in lanes for event in lane.events):
        yield lambda root, x, y: arrow(root, x + WIDE / 2, y - 8, y + 8), "makes way for this STAT"
    happened = {event.what for lane in lanes for event in lane.events}
    for what in What:
        if what in happened:
            words = _NUMBERED.get(what, what.value)
            yield lambda root, x, y, what=what: sign(root, what, x + WIDE / 2, y, glyphs.INK, 2), words  # type: ignore[misc]


def _engine(steps: Sequence[Step]) -> Iterator[Entry]:
    for verb, fill in VERBS if steps else ():
        yield _bar(12, fill), f"engine: {verb}"
    for field, fill in LEVELS:
        if any(getattr(step.level, field) for step in steps):
            yield _bar(12, fill), f"pool: {field}"
