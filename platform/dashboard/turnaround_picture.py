"""The parts of an order's way as bars: the median, the 90th percentile behind it, by the wall clock and net. Plain SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from dashboard.wording import duration, span
from orders.turnaround import Line, Quantile

BAR, ROOM = 13, 44  # of a bar; between two marks of the axis


@dataclass(frozen=True)
class Layout:
    """Where things stand on a wide or a narrow page, in units of the picture."""

    style: str
    width: int
    left: int
    right: int
    row: int
    head: int  # from the top of a row to its first bar: a narrow page has the name above the bars


WIDE = Layout("wide-picture", 760, 150, 110, 46, 0)
NARROW = Layout("narrow", 360, 4, 96, 62, 18)
_TICKS = (1, 10, 60, 600, 3600, 6 * 3600, 86_400, 7 * 86_400, 30 * 86_400, 365 * 86_400)


def draw(lines: Sequence[Line], at: Layout = WIDE) -> str:
    """A row for each part that an order came into, on one logarithmic axis."""
    shown = [line for line in lines if line.orders and line.wall[1].seconds is not None]
    longest = max((one.seconds or 0.0 for line in shown for one in line.wall), default=0.0)
    end = next((tick for tick in _TICKS if tick >= longest), max(longest, 1.0))
    height = at.row * len(shown) + 34
    style, box = f"turnaround {at.style}", f"0 0 {at.width} {height}"
    root = ET.Element("svg", {"viewBox": box, "class": style, "role": "img", "aria-label": alternative(shown)})
    for tick in _ticks(end, at):
        _line(root, _x(tick, end, at), 4, _x(tick, end, at), height - 26, "grid")
        _text(root, _x(tick, end, at), height - 10, duration(tick) if tick < 7200 else _long(tick), "axis", anchor="middle")
    for number, line in enumerate(shown):
        top = number * at.row + 8
        beside = (at.left - 10, top + 19, "end") if not at.head else (at.left, top + 11, "start")
        _text(root, beside[0], beside[1], line.name, "name", anchor=beside[2])
        for place, (kind, figures) in enumerate((("wall", line.wall), ("net", line.net))):
            _bar(root, kind, figures, top + at.head + place * (BAR + 4), end, at)
    return ET.tostring(root, encoding="unicode")


def _ticks(end: float, at: Layout) -> list[float]:
    """The marks of the axis that have room beside each other, from the end backwards."""
    found: list[float] = []
    for tick in reversed([one for one in _TICKS if one <= end]):
        if not found or _x(found[-1], end, at) - _x(tick, end, at) >= ROOM:
            found.append(float(tick))
    return found


def alternative(lines: Sequence[Line]) -> str:
    """The picture for somebody who does not see it."""
    said = [f"{line.name}: median {_said(line.wall[0])}, 90 % within {_said(line.wall[1])}" for line in lines]
    return "Turnaround by wall clock. " + ("; ".join(said) or "no order") + ". The table below has every figure."


def _bar(root: ET.Element, kind: str, figures: tuple[Quantile, Quantile], top: float, end: float, at: Layout) -> None:
    median, most = (_x(one.seconds or 0.0, end, at) for one in figures)
    _box(root, at.left, top, most - at.left, f"{kind} p90")
    if not figures[0].at_least:
        _box(root, at.left, top, median - at.left, f"{kind} median")
    _text(root, most + 6, top + BAR - 2, f"{kind} {_said(figures[1])}", "figure", anchor="start")


def _x(seconds: float, end: float, at: Layout) -> float:
    return at.left + (at.width - at.left - at.right) * math.log1p(max(seconds, 0.0)) / math.log1p(end)


def _said(one: Quantile) -> str:
    if one.seconds is None:
        return "unknown"
    return f"≥ {span(one.seconds)}" if one.at_least else span(one.seconds)


def _long(seconds: float) -> str:
    return f"{seconds / 3600:.0f} h" if seconds < 86_400 else f"{seconds / 86_400:.0f} d"


def _box(root: ET.Element, x: float, y: float, width: float, style: str) -> None:
    ET.SubElement(
        root, "rect", {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{max(width, 1):.1f}", "height": str(BAR), "class": style}
    )


def _line(root: ET.Element, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
    ET.SubElement(root, "line", {"x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}", "class": style})


def _text(root: ET.Element, x: float, y: float, words: str, style: str, *, anchor: str) -> None:
    made = ET.SubElement(root, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "class": style, "text-anchor": anchor})
    made.text = words
