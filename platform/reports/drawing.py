"""What the pictures share: one sheet of plain SVG, elements, lines, letters, and numbers as an axis shows them.

Presentation attributes only: no style attribute, no style or script element, so that a strict content security policy and
the PDF compiler both take it. Built as a tree, never spliced from text, so that no name can break out of its place.
"""

import math
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from reports.locus import Sheet

INK, QUIET, LINE, SCORE, PALE = "#0f172a", "#475569", "#dfe5eb", "#0f766e", "#9fb8b5"
TEXT = 15.0  # height of a line of the legend


def root(name: str, called: str, sheet: Sheet, height: float, words: str) -> ET.Element:
    """An empty picture with its title and, in words, what it shows; `name` tells it from others of its page."""
    title, description = f"{name}-title-{sheet.name}", f"{name}-words-{sheet.name}"  # both widths stand in one page
    made = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": sheet.name,
            "viewBox": f"0 0 {number(sheet.width)} {number(height)}",
            "role": "img",
            "aria-labelledby": f"{title} {description}",
            "font-family": "system-ui, 'DejaVu Sans', 'DejaVu Sans Mono'",
            "font-size": "11",
            "fill": INK,
        },
    )
    element(made, "title", id=title).text = called
    element(made, "desc", id=description).text = words
    element(made, "rect", width=number(sheet.width), height=number(height), fill="#ffffff")  # legible on a dark page, too
    return made


def legend(parent: ET.Element, lines: Sequence[str]) -> None:
    """The words above a picture."""
    for place, words in enumerate(lines):
        text(parent, 4, 14 + place * TEXT, words, fill=QUIET)


def figure(value: float, step: float) -> str:
    """A figure of the axis: as `signed`, and with a power of ten where that would be too wide."""
    if 0.001 <= step < 10_000:
        return signed(value, step)
    if value == 0:
        return "0"
    digits, power = f"{value:.1e}".split("e")
    return f"{digits.removesuffix('.0')}e{int(power)}".replace("-", "−")


def signed(value: float, step: float) -> str:
    """With as many decimals as a step of the axis has, and a true minus sign."""
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value + 0.0:.{decimals}f}".replace("-", "−")


def line(parent: ET.Element, x1: float, y1: float, x2: float, y2: float, *, stroke: str, width: float) -> None:
    """A straight line."""
    ends = {"x1": number(x1), "y1": number(y1), "x2": number(x2), "y2": number(y2)}
    element(parent, "line", **ends, stroke=stroke, **{"stroke-width": number(width)})


def text(parent: ET.Element, x: float, y: float, words: str, *, anchor: str = "start", **attributes: str) -> None:
    """A line of text; `anchor` is what stands at `x`."""
    element(parent, "text", x=number(x), y=number(y), **{"text-anchor": anchor, **attributes}).text = words


def element(parent: ET.Element, tag: str, **attributes: str) -> ET.Element:
    """A new element at the end of its parent."""
    return ET.SubElement(parent, tag, attributes)


def number(value: float) -> str:
    """A number as short as the eye needs; never exponent form."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
