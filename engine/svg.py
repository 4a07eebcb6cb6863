"""What pictures are made of: elements of SVG, with attributes as keywords, and numbers as short as they can be."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable

_AS_THEY_ARE = ("viewBox", "patternUnits", "textLength", "lengthAdjust")
_THINNEST = 0.25  # pixels that can still be seen


def add(parent: ET.Element, tag: str, **attributes: str | float) -> ET.Element:
    """A child, whose attributes have dashes where their keywords have underscores."""
    named = {name if name in _AS_THEY_ARE else name.replace("_", "-"): value for name, value in attributes.items()}
    return ET.SubElement(parent, tag, {name: value if isinstance(value, str) else short(value) for name, value in named.items()})


def text(parent: ET.Element, x: float, y: float, words: str, **attributes: str | float) -> None:
    """Words, if there are any."""
    if words:
        add(parent, "text", x=x, y=y, **attributes).text = words


def said(parent: ET.Element, words: str) -> None:
    """What whoever points at it is told."""
    ET.SubElement(parent, "title").text = words


def bars(parent: ET.Element, spans: Iterable[tuple[float, float]], top: float, height: float, fill: str) -> None:
    """All bars of one colour as one path."""
    path = "".join(
        f"M{short(begin)} {short(top)}h{short(width)}v{short(height)}h-{short(width)}z"
        for begin, width in ((begin, max(end - begin, _THINNEST)) for begin, end in spans)
    )
    if path:
        add(parent, "path", d=path, fill=fill)


def tile(parent: ET.Element, name: str, ground: str, path: str, ink: str, width: float) -> None:
    """A pattern of 6 by 6 that `url(#name)` fills with."""
    pattern = add(parent, "pattern", id=name, width=6, height=6, patternUnits="userSpaceOnUse")
    add(pattern, "rect", width=6, height=6, fill=ground)
    add(pattern, "path", d=path, stroke=ink, stroke_width=width, stroke_linecap="round", fill="none")


def short(value: float) -> str:
    """With two decimals at most."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
