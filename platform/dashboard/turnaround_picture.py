"""The parts of an order's way as bars: the median, the 90th percentile behind it, by the wall clock and net. Plain SVG."""

import math
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from dashboard.wording import duration, span
from orders.turnaround import Line, Quantile

WIDTH, LEFT, RIGHT, ROW, BAR = 760, 150, 110, 46, 13
_TICKS = (1, 10, 60, 600, 3600, 6 * 3600, 86_400, 7 * 86_400, 30 * 86_400, 365 * 86_400)


def draw(lines: Sequence[Line]) -> str:
    """A row for each part that an order came into, on one logarithmic axis."""
    shown = [line for line in lines if line.orders and line.wall[1].seconds is not None]
    longest = max((one.seconds or 0.0 for line in shown for one in line.wall), default=0.0)
    end = next((tick for tick in _TICKS if tick >= longest), max(longest, 1.0))
    height = ROW * len(shown) + 34
    root = ET.Element(
        "svg", {"viewBox": f"0 0 {WIDTH} {height}", "class": "turnaround", "role": "img", "aria-label": alternative(shown)}
    )
    for tick in (one for one in _TICKS if one <= end):
        _line(root, _x(tick, end), 4, _x(tick, end), height - 26, "grid")
        _text(root, _x(tick, end), height - 10, duration(tick) if tick < 7200 else _long(tick), "axis", anchor="middle")
    for number, line in enumerate(shown):
        top = number * ROW + 8
        _text(root, LEFT - 10, top + 19, line.name, "name", anchor="end")
        for place, (kind, figures) in enumerate((("wall", line.wall), ("net", line.net))):
            _bar(root, kind, figures, top + place * (BAR + 4), end)
    return ET.tostring(root, encoding="unicode")


def alternative(lines: Sequence[Line]) -> str:
    """The picture for somebody who does not see it."""
    said = [f"{line.name}: median {_said(line.wall[0])}, 90 % within {_said(line.wall[1])}" for line in lines]
    return "Turnaround by wall clock. " + ("; ".join(said) or "no order") + ". The table below has every figure."


def _bar(root: ET.Element, kind: str, figures: tuple[Quantile, Quantile], top: float, end: float) -> None:
    median, most = (_x(one.seconds or 0.0, end) for one in figures)
    _box(root, LEFT, top, most - LEFT, f"{kind} p90")
    if not figures[0].at_least:
        _box(root, LEFT, top, median - LEFT, f"{kind} median")
    _text(root, most + 6, top + BAR - 2, f"{kind} {_said(figures[1])}", "figure", anchor="start")


def _x(seconds: float, end: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * math.log1p(max(seconds, 0.0)) / math.log1p(end)


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
