"""A picture of a trace: a lane for each request, time in milliseconds, as SVG that reads on paper and without colours.

Built as a tree and not spliced from text; no style or script, so that it shows wherever an image does.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from engine.swap.content import OUT
from engine.trace import Kind, Lane, Mark, Step, Trace, lanes

WIDTH, LEFT, RIGHT, TOP = 1080.0, 220.0, 20.0, 62.0
LANE, ENGINE_LANE, FOOT = 15.0, 20.0, 40.0
MOST_LANES = 60
_FINE = 8000  # bars up to which every step is drawn apart
INK, QUIET, RULE, PAPER, FROZEN, MOVED = "#0f172a", "#475569", "#dfe5eb", "#ffffff", "#38bdf8", "#c2281d"


@dataclass(frozen=True, slots=True)
class _Look:
    """Height and darkness differ too, so that kinds can be told apart in grey."""

    fill: str
    height: float
    words: str


_LOOKS = {
    Kind.CHUNK: _Look("#2563a8", 11, "chunk of a prompt or a score"),
    Kind.DECODE: _Look("#e08a1e", 5, "one token, then the next is drawn"),
    Kind.TRUNK: _Look("#1b2a41", 11, "trunk: what alternates have in common"),
    Kind.BRANCH: _Look("#4fa98c", 8, "branch: an alternate"),
}
_VERBS = (("schedule", "#b03a48"), ("run", "#b9c4d0"), ("postprocess", "#7a4fa3"))


@dataclass(frozen=True, slots=True)
class _Axis:
    """From seconds to places on paper."""

    origin: float
    end: float

    def __call__(self, at: float) -> float:
        return LEFT + (at - self.origin) / max(self.end - self.origin, 1e-9) * (WIDTH - LEFT - RIGHT)

    @property
    def ticks(self) -> Iterator[float]:
        """Milliseconds after the origin at round distances."""
        span = max((self.end - self.origin) * 1e3, 1e-6)
        raw = span / 9
        unit = 10 ** math.floor(math.log10(raw))
        step = next(unit * times for times in (1, 2, 5, 10) if unit * times >= raw)
        return (n * step for n in range(int(span / step) + 1))


def draw(trace: Trace, title: str) -> str:
    """The picture of everything the trace still holds."""
    steps, found = trace.steps, [lane for lane in lanes(trace) if lane.rows]
    shown = found[:MOST_LANES]
    height = TOP + ENGINE_LANE + LANE * len(shown) + FOOT
    root = _root(height, title, words(steps, found))
    if not steps:
        _text(root, LEFT, TOP, "no step has been recorded")
        return ET.tostring(root, encoding="unicode")
    axis = _Axis(min(_beginnings(steps, shown)), max(step.times.ended for step in steps))
    _text(root, 8, 18, title, weight="bold", size="13")
    _legend(root)
    _grid(root, axis, height - FOOT, left_out=len(found) - len(shown))
    _engine(root, axis, steps)
    fine = sum(len(lane.rows) for lane in shown) <= _FINE
    for place, lane in enumerate(shown):
        _lane(root, axis, lane, TOP + ENGINE_LANE + place * LANE, fine=fine)
    return ET.tostring(root, encoding="unicode") + "\n"


def words(steps: Sequence[Step], found: Sequence[Lane]) -> str:
    """The picture in words."""
    if not steps:
        return "No step has been recorded."
    tokens: Counter[Kind] = Counter()
    for lane in found:
        for _, mark in lane.counted:
            tokens[Kind(mark.kind)] += mark.tokens
    spent = [sum(getattr(step.times, end) - getattr(step.times, start) for step in steps) for start, end in _PARTS]
    whole = steps[-1].times.ended - steps[0].times.began
    kinds = ", ".join(f"{tokens[kind]:,} as {kind.name.lower()}" for kind in Kind if tokens[kind])
    most = max(len(step.numbers) // len(Mark._fields) for step in steps)
    return (
        f"{len(found)} lanes in {len(steps)} steps over {whole * 1e3:,.0f} ms, at most {most} rows in one step. "
        f"Tokens computed: {kinds}. "
        f"Time in schedule {spent[0] * 1e3:,.1f} ms, run {spent[1] * 1e3:,.1f} ms, postprocess {spent[2] * 1e3:,.1f} ms."
    )


_PARTS = (("began", "scheduled"), ("scheduled", "ran"), ("ran", "ended"))


def _beginnings(steps: Sequence[Step], shown: Sequence[Lane]) -> Iterator[float]:
    yield steps[0].times.began
    yield from (lane.placed for lane in shown if lane.placed is not None)


def _root(height: float, title: str, described: str) -> ET.Element:
    root = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {_n(WIDTH)} {_n(height)}",
            "role": "img",
            "aria-labelledby": "timeline-title timeline-words",
            "font-family": "system-ui, 'DejaVu Sans', sans-serif",
            "font-size": "11",
            "fill": INK,
        },
    )
    _add(root, "title", id="timeline-title").text = title
    _add(root, "desc", id="timeline-words").text = described
    _add(root, "rect", width=_n(WIDTH), height=_n(height), fill=PAPER)
    return root


def _legend(root: ET.Element) -> None:
    x = 8.0
    for look in _LOOKS.values():
        _add(root, "rect", x=_n(x), y=_n(36 - look.height / 2), width="18", height=_n(look.height), fill=look.fill)
        _text(root, x + 23, 40, look.words, fill=QUIET)
        x += 38 + 5.9 * len(look.words)
    for name, fill in _VERBS:
        _add(root, "rect", x=_n(x), y="31", width="10", height="10", fill=fill)
        _text(root, x + 14, 40, name, fill=QUIET)
        x += 26 + 5.9 * len(name)


def _grid(root: ET.Element, axis: _Axis, bottom: float, left_out: int) -> None:
    for tick in axis.ticks:
        x = axis(axis.origin + tick / 1e3)
        _add(root, "line", x1=_n(x), x2=_n(x), y1=_n(TOP - 6), y2=_n(bottom), stroke=RULE)
        _text(root, x, bottom + 14, f"{tick:g}", fill=QUIET, anchor="middle")
    _text(root, WIDTH - RIGHT, bottom + 30, "ms since the first request", fill=QUIET, anchor="end")
    more = f"{left_out} more lanes not shown · " if left_out > 0 else ""
    _text(
        root,
        8,
        bottom + 30,
        f"{more}thin line: waits, light blue: its pass stands still · • finished · × failed or cancelled · ▲ computed again "
        "· red ▾ swapped out, ▴ in",
        fill=QUIET,
    )


def _engine(root: ET.Element, axis: _Axis, steps: Sequence[Step]) -> None:
    _text(root, LEFT - 8, TOP + 12, "engine: schedule, run, postprocess", anchor="end")
    for (start, end), (_, fill) in zip(_PARTS, _VERBS, strict=True):
        spans = ((axis(getattr(step.times, start)), axis(getattr(step.times, end))) for step in steps)
        _bars(root, spans, TOP + 3, 11, fill)


def _lane(root: ET.Element, axis: _Axis, lane: Lane, top: float, *, fine: bool) -> None:
    middle = top + LANE / 2
    group = _add(root, "g")
    _add(group, "title").text = _said(lane)
    _text(group, LEFT - 8, middle + 4, lane.name, anchor="end")
    come = lane.rows[0][0].times.scheduled if lane.placed is None else lane.placed
    ends = {"x1": _n(axis(come)), "x2": _n(axis(lane.rows[-1][0].times.ran))}
    _add(group, "line", **ends, y1=_n(middle), y2=_n(middle), stroke=QUIET)  # seen wherever no bar covers it
    for kind, look in _LOOKS.items():
        rows = [step for step, mark in lane.rows if mark.kind == kind]
        spans = ((axis(a), axis(b)) for a, b in (_apart(rows) if fine else _joined(rows)))
        _bars(group, spans, middle - look.height / 2, look.height, look.fill)
    stood = ((axis(stopped), axis(resumed)) for stopped, resumed in lane.stood)
    _bars(group, stood, middle - 1.5, 3, FROZEN)
    for step, _ in lane.again:
        x = axis(step.times.scheduled)
        _add(group, "path", d=f"M{_n(x - 4)} {_n(middle + 6)}h8l-4 -8z", fill=INK)
    for at, what in lane.swaps:
        down, x = what == OUT, axis(at)
        shape = f"M{_n(x - 3)} {_n(top + 1)}h6l-3 5z" if down else f"M{_n(x - 3)} {_n(top + 6)}h6l-3 -5z"
        _add(group, "path", d=shape, fill=MOVED)
    if lane.ended is not None:
        _text(group, axis(lane.ended) + 2, middle + 4, "•" if lane.state == "finished" else "×")


def _said(lane: Lane) -> str:
    tokens = sum(mark.tokens for _, mark in lane.counted)
    ran = lane.rows[-1][0].times.ran - lane.rows[0][0].times.scheduled
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


def _bars(root: ET.Element, spans: Iterable[tuple[float, float]], top: float, height: float, fill: str) -> None:
    """All bars of one colour as one path; the thinnest can still be seen."""
    bars = "".join(f"M{_n(a)} {_n(top)}h{_n(max(b - a, 0.25))}v{_n(height)}h-{_n(max(b - a, 0.25))}z" for a, b in spans)
    if bars:
        _add(root, "path", d=bars, fill=fill)


def _add(parent: ET.Element, tag: str, **attributes: str) -> ET.Element:
    return ET.SubElement(parent, tag, attributes)


def _text(
    parent: ET.Element, x: float, y: float, words: str, *, fill: str = INK, anchor: str = "start", weight: str = "", size: str = ""
) -> None:
    attributes = {"x": _n(x), "y": _n(y), "fill": fill, "text-anchor": anchor}
    attributes |= {key: value for key, value in (("font-weight", weight), ("font-size", size)) if value}
    ET.SubElement(parent, "text", attributes).text = words


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
