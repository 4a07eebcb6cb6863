"""Drift as pictures: shares of bins beside those of the reference, and the distance of each window with its gate. Plain SVG."""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from drift.models import FrozenReference, Window

WIDTHS = WIDE, NARROW = 760, 360
_HEIGHT, _LEFT, _TOP, _BOTTOM = 190, 44, 14, 26
_UNKNOWN = ("few", "gap")


def distribution(reference: FrozenReference, window: Window, width: int = WIDE) -> str:
    """A bar for each bin with the share of this window; the line is the share of the reference."""
    now, then = _shares(window.counts), _shares(reference.counts)
    most = max(*now, *then, 1e-9)
    root = _svg(width, f"Shares of {len(now)} bins on {window.day} against the reference. The table below has every figure.")
    step, floor = (width - _LEFT - 8) / len(now), _HEIGHT - _BOTTOM
    for place, (share, frozen) in enumerate(zip(now, then, strict=True)):
        x = _LEFT + place * step
        _rect(root, x, floor - share / most * (floor - _TOP), step * 0.8, share / most * (floor - _TOP), "median")
        y = floor - frozen / most * (floor - _TOP)
        _line(root, x, y, x + step, y, "limit")
    _text(root, _LEFT - 6, _TOP + 8, f"{100 * most:.1f} %", "end")
    _text(root, _LEFT - 6, floor, "0 %", "end")
    for place, edge in ((1, reference.edges[0]), (len(now) - 1, reference.edges[-1])):
        _text(root, _LEFT + place * step, _HEIGHT - 8, f"{edge:.4g}", "start" if place == 1 else "end")
    return ET.tostring(root, encoding="unicode")


def history(windows: Sequence[Window], width: int = WIDE) -> str:
    """The merged distance of each window, oldest first; a hollow mark where too little is known; the line is the gate."""
    most = max(*(max(one.merged, one.gate) for one in windows), 0.05) * 1.1
    root = _svg(width, f"Distance of {len(windows)} windows with the gate of a call. The table below has every figure.")
    step, floor = (width - _LEFT - 16) / max(len(windows), 1), _HEIGHT - _BOTTOM
    for place, one in enumerate(windows):
        x, scale = _LEFT + (place + 0.5) * step, (floor - _TOP) / most
        _line(root, x - step / 2, floor - one.gate * scale, x + step / 2, floor - one.gate * scale, "limit")
        mark = {"cx": f"{x:.1f}", "cy": f"{floor - one.merged * scale:.1f}", "r": "3.5"}
        ET.SubElement(root, "circle", {**mark, "class": "unknown" if one.verdict in _UNKNOWN else "median"})
    _text(root, _LEFT - 6, _TOP + 8, f"{most:.2f}", "end")
    _text(root, _LEFT - 6, floor, "0", "end")
    _text(root, _LEFT, _HEIGHT - 8, str(windows[0].day), "start")
    if len(windows) > 1:
        _text(root, width - 8, _HEIGHT - 8, str(windows[-1].day), "end")
    return ET.tostring(root, encoding="unicode")


def _shares(counts: Sequence[int]) -> list[float]:
    return [count / max(sum(counts), 1) for count in counts]


def _svg(width: int, alternative: str) -> ET.Element:
    style = f"turnaround drift {'wide-picture' if width == WIDE else 'narrow'}"
    return ET.Element("svg", {"viewBox": f"0 0 {width} {_HEIGHT}", "class": style, "role": "img", "aria-label": alternative})


def _rect(root: ET.Element, x: float, y: float, width: float, height: float, style: str) -> None:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{width:.1f}", "height": f"{height:.1f}"}
    ET.SubElement(root, "rect", {**place, "class": style})


def _line(root: ET.Element, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
    ET.SubElement(root, "line", {"x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}", "class": style})


def _text(root: ET.Element, x: float, y: float, words: str, anchor: str) -> None:
    made = ET.SubElement(root, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "class": "axis", "text-anchor": anchor})
    made.text = words
