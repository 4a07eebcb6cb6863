"""A picture of a trace: a lane for each request, time in milliseconds, as SVG that reads on paper and without colours.

Built as a tree and not spliced from text; no style or script, so that it shows wherever an image does. STAT has the one strong
colour, and is darker than all else in grey too.
"""

from __future__ import annotations

import itertools
import math
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from engine import glyphs, legend, svg
from engine.glyphs import FAINT, INK, PAPER, QUIET, RULE, STAT
from engine.happening import What
from engine.lanes import Lane, Row, Seen, Stay, seen
from engine.request import Priority
from engine.trace import Kind, Step, Trace

WIDTH, LEFT, RIGHT, TOP = 1280.0, 232.0, 22.0, 76.0
EDGE, LANE, ENGINE_LANE, POOL, FOOT = 16.0, 36.0, 24.0, 34.0, 40.0
_BAR, _SIGNS = 11.0, 28.5  # from the top of a lane: the middle of what it computes, and of the signs below that
MOST_LANES = 60
_LONGEST = 31  # letters of a name that fit, whatever they are
_FINE = 8000  # bars up to which every step is drawn apart
_REACH = 8.0  # from the middle of a bar to where arrows end
_PARTS = (("began", "scheduled"), ("scheduled", "ran"), ("ran", "ended"))
TITLES = {"mixed": "Steps of a mixed load", "stat": "STAT beside a running load"}


@dataclass(frozen=True, slots=True)
class _Axis:
    """From seconds to places on paper."""

    origin: float
    end: float

    def __call__(self, at: float) -> float:
        return LEFT + (max(at, self.origin) - self.origin) / max(self.end - self.origin, 1e-9) * (WIDTH - LEFT - RIGHT)

    @property
    def ticks(self) -> Iterator[float]:
        """Milliseconds after the origin at round distances."""
        span = max((self.end - self.origin) * 1e3, 1e-6)
        raw = span / 9
        unit = 10 ** math.floor(math.log10(raw))
        step = next(unit * times for times in (1, 2, 5, 10) if unit * times >= raw)
        return (n * step for n in range(int(span / step) + 1))


def draw(trace: Trace, title: str, about: str = "", last: float | None = None) -> str:
    """The picture of everything the trace still holds, or of its last so many seconds; `about` stands under the title."""
    found = seen(trace, last)
    shown, measured = found.lanes[:MOST_LANES], [step for step in found.steps if step.level.used + step.level.free]
    top = TOP + ENGINE_LANE + (POOL * (1 + bool(measured[-1].level.arena_total)) if measured else 0.0) + 6
    bottom = top + LANE * len(shown)
    entries = legend.entries(found.steps, shown)
    root = _root(bottom + FOOT + legend.height(entries), title, words(found))
    svg.text(root, EDGE, 26, title, font_weight="bold", font_size=16)
    svg.text(root, EDGE, 46, about, fill=QUIET)
    if not found.lanes:
        svg.text(root, EDGE, TOP, "no step has been recorded")
        return ET.tostring(root, encoding="unicode") + "\n"
    axis = _Axis(found.begin, found.end)
    _grid(root, axis, TOP - 8, bottom)
    _engine(root, axis, found.steps)
    _pool(root, axis, measured, TOP + ENGINE_LANE)
    _lanes(root, axis, shown, top)
    more = f"{len(found.lanes) - len(shown)} more lanes not shown" if len(found.lanes) > len(shown) else ""
    svg.text(root, EDGE, bottom + 14, more, fill=QUIET)
    legend.draw(root, entries, EDGE, WIDTH - 2 * EDGE, bottom + FOOT)
    return ET.tostring(root, encoding="unicode") + "\n"


def words(found: Seen) -> str:
    """The picture in words."""
    steps = [step for step in found.steps if step.rows]
    if not steps:
        return "No step has been recorded."
    tokens: Counter[Kind] = Counter()
    happened: Counter[What] = Counter()
    for lane in found.lanes:
        for row in lane.counted:
            tokens[Kind(row.mark.kind)] += row.mark.tokens
        happened.update(event.what for event in lane.events)
    spent = [sum(getattr(step.times, end) - getattr(step.times, start) for step in steps) for start, end in _PARTS]
    kinds = ", ".join(f"{tokens[kind]:,} as {kind.name.lower()}" for kind in Kind if tokens[kind])
    events = ", ".join(f"{what.value} {happened[what]}" for what in What if happened[what])
    return (
        f"{len(found.lanes)} lanes in {len(steps)} steps over {(found.end - found.begin) * 1e3:,.0f} ms, at most "
        f"{max(step.rows for step in steps)} rows in one step. Tokens computed: {kinds}. "
        f"Time in schedule {spent[0] * 1e3:,.1f} ms, run {spent[1] * 1e3:,.1f} ms, postprocess {spent[2] * 1e3:,.1f} ms. "
        f"What happened, and how often: {events or 'nothing'}."
    )


def _root(height: float, title: str, described: str) -> ET.Element:
    root = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {svg.short(WIDTH)} {svg.short(height)}",
            "role": "img",
            "aria-labelledby": "timeline-title timeline-words",
            "font-family": "system-ui, 'DejaVu Sans', sans-serif",
            "font-size": "12",
            "fill": INK,
        },
    )
    svg.add(root, "title", id="timeline-title").text = title
    svg.add(root, "desc", id="timeline-words").text = described
    definitions = svg.add(root, "defs")
    for stay, texture in glyphs.TEXTURES.items():
        if texture.path:
            svg.tile(definitions, stay.name.lower(), texture.ground, texture.path, texture.ink, texture.width)
    svg.tile(definitions, "again", "none", glyphs.SLANT, PAPER, 1.8)
    svg.add(root, "rect", width=WIDTH, height=height, fill=PAPER)
    return root


def _grid(root: ET.Element, axis: _Axis, top: float, bottom: float) -> None:
    for tick in axis.ticks:
        x = axis(axis.origin + tick / 1e3)
        svg.add(root, "line", x1=x, x2=x, y1=top, y2=bottom, stroke=RULE)
        for y in (top - 5, bottom + 14):
            svg.text(root, x, y, f"{tick:,g}", fill=QUIET, text_anchor="middle", font_size=11)
    svg.text(root, LEFT - 10, top - 5, "milliseconds", fill=QUIET, text_anchor="end", font_size=11)


def _engine(root: ET.Element, axis: _Axis, steps: Sequence[Step]) -> None:
    svg.text(root, LEFT - 10, TOP + 12, "engine", text_anchor="end")
    for (start, end), (_, fill) in zip(_PARTS, legend.VERBS, strict=True):
        spans = ((axis(getattr(step.times, start)), axis(getattr(step.times, end))) for step in steps)
        svg.bars(root, spans, TOP + 2, 12, fill)


def _pool(root: ET.Element, axis: _Axis, steps: Sequence[Step], top: float) -> None:
    """How full pool and arena were, as areas over time."""
    if steps:
        last = steps[-1].level
        total = last.used + last.cached + last.draining + last.free
        _areas(root, axis, steps, total, f"pool, {total:,} blocks", top, legend.LEVELS)
        if last.arena_total:
            name = f"arena, {last.arena_total:,} blocks"
            _areas(root, axis, steps, last.arena_total, name, top + POOL, (("arena", glyphs.fill(Stay.MEMORY)),))


def _areas(
    root: ET.Element, axis: _Axis, steps: Sequence[Step], total: int, name: str, top: float, parts: Sequence[tuple[str, str]]
) -> None:
    high, group = POOL - 10, svg.add(root, "g")
    svg.text(group, LEFT - 10, top + high / 2 + 4, name, text_anchor="end")
    places = [axis(step.times.scheduled) for step in steps] + [WIDTH - RIGHT]
    below = [0.0] * len(steps)
    for field, fill in parts:
        path = ""
        for number, (left, right) in enumerate(itertools.pairwise(places)):
            height = getattr(steps[number].level, field) / total * high
            base = top + high - below[number]
            below[number] += height
            if height:
                path += f"M{svg.short(left)} {svg.short(base - height)}H{svg.short(right)}V{svg.short(base)}H{svg.short(left)}z"
        if path:
            svg.add(group, "path", d=path, fill=fill)
    svg.add(group, "rect", x=LEFT, y=top, width=WIDTH - LEFT - RIGHT, height=high, fill="none", stroke=FAINT, stroke_width=0.6)


def _lanes(root: ET.Element, axis: _Axis, shown: Sequence[Lane], top: float) -> None:
    tops = {lane.handle: top + number * LANE for number, lane in enumerate(shown)}
    for y in tops.values():
        svg.add(root, "line", x1=EDGE, x2=WIDTH - RIGHT, y1=y, y2=y, stroke=RULE)
    for lane in shown:
        _arrows(root, axis, lane, tops)
    fine = sum(len(lane.rows) for lane in shown) <= _FINE
    for lane in shown:
        _lane(root, axis, lane, tops[lane.handle], fine=fine)


def _arrows(root: ET.Element, axis: _Axis, lane: Lane, tops: Mapping[int, float]) -> None:
    """From the STAT request for which it stood still or gave way."""
    for event in lane.events:
        if event.by in tops:
            begin, end = tops[event.by] + _BAR, tops[lane.handle] + _BAR
            group = legend.arrow(root, axis(event.at), begin, end - _REACH if end > begin else end + _REACH)
            group.set("data-arrow", f"{event.by} {lane.handle}")


def _lane(root: ET.Element, axis: _Axis, lane: Lane, top: float, *, fine: bool) -> None:
    group, middle, urgent = svg.add(root, "g", data_lane=str(lane.handle)), top + _BAR, lane.priority == Priority.STAT
    svg.said(group, _said(lane))
    marked: dict[str, str | float] = {"fill": STAT, "font_weight": "bold"} if urgent else {}
    if len(lane.name) > _LONGEST:
        marked |= {"textLength": LEFT - 10 - EDGE, "lengthAdjust": "spacingAndGlyphs"}
    svg.text(group, LEFT - 10, middle + 4, lane.name, text_anchor="end", **marked)
    _line(group, axis, lane, middle)
    for span in lane.spans:
        if span.stay in glyphs.TEXTURES:
            shape = legend.stay(group, span.stay, axis(span.begin), middle, axis(span.end) - axis(span.begin))
            svg.said(shape, f"{span.stay.value}, {(span.end - span.begin) * 1e3:,.1f} ms")
    for kind, look in glyphs.LOOKS.items():
        for stat in (False, True):
            rows = [row for row in lane.rows if row.mark.kind == kind and (row.mark.priority == Priority.STAT) == stat]
            _computed(group, axis, rows, middle, look, STAT if stat else look.fill, fine=fine)
    _happened(group, axis, lane, top, STAT if urgent else INK)


def _line(group: ET.Element, axis: _Axis, lane: Lane, middle: float) -> None:
    """From when it starts to its last moment; seen wherever nothing covers it."""
    waits = lane.stays(Stay.WAITS)
    for span in waits:
        legend.waits(group, axis(span.begin), axis(span.end), middle)
    moments = [event.at for event in lane.events] + [at for span in lane.spans for at in (span.begin, span.end)]
    moments += [at for row in lane.rows for at in (row.step.times.scheduled, row.step.times.ran)]
    if lane.rows:
        begin = max([span.end for span in waits], default=min(moments))
        svg.add(group, "line", x1=axis(begin), x2=axis(max(moments)), y1=middle, y2=middle, stroke=FAINT)


def _computed(
    group: ET.Element, axis: _Axis, rows: Sequence[Row], middle: float, look: glyphs.Look, fill: str, *, fine: bool
) -> None:
    top, again = middle - look.height / 2, [row.step for row in rows if row.again]
    svg.bars(group, _places(axis, [row.step for row in rows], fine=fine), top, look.height, fill)
    svg.bars(group, _places(axis, again, fine=fine), top, look.height, glyphs.AGAIN)


def _places(axis: _Axis, steps: Sequence[Step], *, fine: bool) -> Iterator[tuple[float, float]]:
    return ((axis(begin), axis(end)) for begin, end in (_apart(steps) if fine else _joined(steps)))


def _happened(group: ET.Element, axis: _Axis, lane: Lane, top: float, ink: str) -> None:
    """A sign for each thing that happened, under its moment or, where several would touch, beside it with a line to it."""
    widths = [glyphs.SIZE + 3 + 7.0 * len(glyphs.number(event.what, event.count)) for event in lane.events]
    wanted = [axis(event.at) for event in lane.events]
    places = glyphs.places(wanted, widths, LEFT - 4, WIDTH - 4)
    for event, want, place, width in zip(lane.events, wanted, places, widths, strict=True):
        x, y = place - width / 2 + glyphs.SIZE / 2 + 1.5, top + _SIGNS
        if abs(want - x) > 1.0:
            line = f"M{svg.short(want)} {svg.short(top + _BAR + _REACH)}L{svg.short(x)} {svg.short(y - 5.5)}"
            svg.add(group, "path", d=line, stroke=FAINT, stroke_width=0.5, fill="none")
        sign = legend.sign(group, event.what, x, y, ink, event.count)
        sign.set("data-event", event.what.value)
        makes_way = f", for {event.by}" if event.by else ""
        svg.said(sign, f"{(event.at - axis.origin) * 1e3:,.1f} ms: {event.what.value}{makes_way}")


def _said(lane: Lane) -> str:
    tokens = sum(row.mark.tokens for row in lane.counted)
    ran = lane.rows[-1].step.times.ran - lane.rows[0].step.times.scheduled if lane.rows else 0.0
    return f"{lane.name}: {tokens:,} tokens in {len(lane.counted)} steps over {ran * 1e3:,.1f} ms" + (
        f", {lane.state}" if lane.state else ""
    )


def _apart(steps: Iterable[Step]) -> Iterator[tuple[float, float]]:
    return ((step.times.scheduled, step.times.ran) for step in steps)


def _joined(steps: Iterable[Step]) -> Iterator[tuple[float, float]]:
    """Steps that follow each other as one bar."""
    begin = end = number = None
    for step in steps:
        if begin is not None and end is not None and number is not None and step.number != number + 1:
            yield begin, end
            begin = None
        begin = step.times.scheduled if begin is None else begin
        end, number = step.times.ran, step.number
    if begin is not None and end is not None:
        yield begin, end
