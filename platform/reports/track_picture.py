"""Draws a track: for each base a bar for the reference and a mark for the alternate, the change set off; and its table."""

import math
import textwrap
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from reports import drawing, wording
from reports.drawing import INK, LINE, PALE, QUIET, SCORE, TEXT, element, line, number, text
from reports.locus import PAGE, Scale, Sheet, step
from reports.result_table import Table
from reports.track_bases import Base, Strand

CHANCE = math.log(0.25)  # nats a base, of a model that knows nothing
_PLOT, _AXIS = 130.0, 46.0
_LETTERS = 6.5  # width from which a column has room for one
_LEGEND = (
    "Log-likelihood of each base in nats. Bars: reference. Marks: alternate. Behind the change both go on with the same bases. "
    "Dashed: chance. The band is the change."
)


def picture(strand: Strand, sheet: Sheet = PAGE) -> str:
    """The SVG text of one strand."""
    legend = textwrap.wrap(_LEGEND, sheet.letters)
    top = 7 + len(legend) * TEXT
    called = f"Reference and alternate base by base, {strand.name} strand"
    root = drawing.root(f"track-{strand.name}", called, sheet, top + _PLOT + _AXIS, alternative(strand))
    drawing.legend(root, legend)
    group = element(root, "g", transform=f"translate(0 {number(top)})")
    y = _scale(strand.bases)
    wide = (sheet.end - sheet.left) / max(len(strand.bases), 1)
    changed = [place for place, base in enumerate(strand.bases) if base.changed]
    band = {"x": number(sheet.left + changed[0] * wide), "width": number(len(changed) * wide)}
    element(group, "rect", y="0", height=number(_PLOT + 26), fill="#d5e5e3", **band)
    for tick in y.ticks:
        line(group, sheet.left, y(tick), sheet.end, y(tick), stroke=QUIET if tick == 0 else LINE, width=1)
        text(group, sheet.left - 8, y(tick) + 4, drawing.figure(tick, y.step), anchor="end", fill=QUIET)
    for place, base in enumerate(strand.bases):
        _draw(group, base, sheet.left + place * wide, wide, y)
    _chance(group, sheet, y)
    _positions(group, strand, sheet, wide)
    return ET.tostring(root, encoding="unicode")


def alternative(strand: Strand) -> str:
    """The picture in words."""
    apart = [(abs(base.difference), base) for base in strand.bases if base.difference is not None]
    largest = max(apart, key=lambda one: one[0], default=None)
    said = f"{len(strand.bases)} places around the change, {strand.name} strand."
    if largest is not None and largest[0]:
        said += f" The largest difference is {wording.signed(largest[1].difference)} nats at {largest[1].position:,}."
    return f"{said} The table says the same."


def table(strand: Strand) -> Table:
    """Every place with both values and their difference."""
    rows = tuple(
        (
            f"{base.position:,}" if base.position else "–", base.ref or "–", wording.signed(base.ref_value), base.alt or "–",
            wording.signed(base.alt_value), wording.signed(base.difference),
        )
        for base in strand.bases
    )  # fmt: skip
    note = (
        f"Sums over the whole window of {strand.window} bases, of which {len(strand.bases)} places are shown: "
        f"reference {wording.signed(strand.ref_total)}, alternate {wording.signed(strand.alt_total)}."
    )
    columns = ("Position", "Reference", "Its log-likelihood", "Alternate", "Its log-likelihood ", "Difference")
    return Table(f"Base by base, {strand.name} strand", columns, (0, 2, 4, 5), rows, (note,))


def _scale(bases: Sequence[Base]) -> Scale:
    values = [value for base in bases for value in (base.ref_value, base.alt_value) if value is not None]
    low = min([CHANCE * 1.5, *values])
    tick = step(-low / 4)
    return Scale(math.floor(low / tick) * tick, 0.0, _PLOT, 6.0, tuple(-n * tick for n in range(math.floor(-low / tick) + 1)), tick)


def _draw(group: ET.Element, base: Base, x: float, wide: float, y: Scale) -> None:
    if base.ref_value is not None:
        box = {"x": number(x + wide * 0.1), "width": number(wide * 0.8)}
        element(group, "rect", y=number(y(0)), height=number(max(y(base.ref_value) - y(0), 0.5)), fill=PALE, **box)
    if base.alt_value is not None:
        line(group, x, y(base.alt_value), x + wide, y(base.alt_value), stroke=INK, width=1.6)
    if wide >= _LETTERS:
        text(group, x + wide / 2, _PLOT + 11, base.ref or "–", anchor="middle", fill=QUIET, **{"font-size": "9"})
        if base.changed:
            text(group, x + wide / 2, _PLOT + 22, base.alt or "–", anchor="middle", fill=SCORE, **{"font-size": "9"})


def _chance(group: ET.Element, sheet: Sheet, y: Scale) -> None:
    ends = {"x1": number(sheet.left), "x2": number(sheet.end), "y1": number(y(CHANCE)), "y2": number(y(CHANCE))}
    element(group, "line", **ends, stroke=QUIET, **{"stroke-width": "1", "stroke-dasharray": "4 3"})


def _positions(group: ET.Element, strand: Strand, sheet: Sheet, wide: float) -> None:
    """The first, the changed and the last position."""
    known = [(place, base) for place, base in enumerate(strand.bases) if base.position]
    changed = next(((place, base) for place, base in known if base.changed), known[0])
    for anchor, (place, base) in (("start", known[0]), ("middle", changed), ("end", known[-1])):
        text(group, sheet.left + (place + 0.5) * wide, _PLOT + 38, f"{base.position:,}", anchor=anchor, fill=QUIET)
