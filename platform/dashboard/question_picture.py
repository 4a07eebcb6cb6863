"""What a model thought of each base, as bars: up where it expected the base more than chance would, down where less. Plain SVG.

Letters stand beside the picture and not in it, so that it may be as wide as the page or the sheet.
"""

import math
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from questions.answers import Strand

CHANCE = math.log(0.25)  # nats a base, of a model that knows nothing
BARS = 240
WIDTH, HEIGHT, FLOOR = 720, 96, -4.0  # a bar ends where a base has e^-4


@dataclass(frozen=True)
class Picture:
    """One strand."""

    strand: str
    svg: str
    words: str


def picture(strand: Strand, length: int) -> Picture:
    """The means of at most `BARS` stretches, along the sequence as it was typed."""
    step = -(-length // BARS)
    means = _means(strand, length, step)
    known = [value for value in means if value is not None]
    name = "as typed" if strand.name == "forward" else "reverse complement, drawn along the sequence as typed"
    each = "Each bar is a base" if step == 1 else f"Each bar is the mean of {step} bases"
    mean = f"{strand.per_base:.3f}".replace("-", "−")
    words = f"{name}: mean {mean} nats a base. {each}; above the line likelier than chance (−1.386)."
    return Picture(strand.name, _draw(means, f"{len(known)} bars, {words}"), words)


def _means(strand: Strand, length: int, step: int) -> list[float | None]:
    sums, counts = [0.0] * -(-length // step), [0] * -(-length // step)
    for first, last, value in strand.spans(length):
        for base in range(first - 1, last):
            sums[base // step] += value / (last - first + 1)
            counts[base // step] += 1
    return [total / count if count else None for total, count in zip(sums, counts, strict=True)]


def _draw(means: list[float | None], alternative: str) -> str:
    about = {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "preserveAspectRatio": "none", "role": "img", "aria-label": alternative}
    root = ET.Element("svg", {**about, "class": "per-base"})
    width, line = WIDTH / max(len(means), 1), _y(CHANCE)
    for place, value in enumerate(means):
        if value is not None:
            top, bottom = sorted((_y(value), line))
            ET.SubElement(root, "rect", _box(place * width, top, width * 0.86, max(bottom - top, 0.6), value >= CHANCE))
    ET.SubElement(root, "line", {"x1": "0", "x2": str(WIDTH), "y1": f"{line:.1f}", "y2": f"{line:.1f}"})
    return ET.tostring(root, encoding="unicode")


def _box(left: float, top: float, width: float, height: float, likelier: bool) -> dict[str, str]:
    size = {"x": f"{left:.2f}", "y": f"{top:.1f}", "width": f"{width:.2f}", "height": f"{height:.1f}"}
    return {**size, "class": "up" if likelier else "down"}


def _y(value: float) -> float:
    return HEIGHT * max(value, FLOOR) / FLOOR
