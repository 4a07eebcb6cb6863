"""Draws how Δ of the common variants of a region is spread, and where those of an order lie in it. One colour, no verdict."""

import textwrap
import xml.etree.ElementTree as ET

from reports import drawing, locus
from reports.content import Common, Content
from reports.drawing import INK, LINE, PALE, QUIET, TEXT, element, figure, line, number, signed, text
from reports.locus import PAGE, Sheet

_BARS, _MARKS, _AXIS = 120.0, 22.0, 34.0  # heights
_APART = 0.5  # of marks that are drawn


def picture(said: Content, sheet: Sheet = PAGE) -> str:
    """The SVG text; empty where there is nothing to compare with."""
    common = said.common
    if common is None or not common.n:
        return ""
    deltas = compared(said)
    x = locus.delta_scale([*_ends(common), *deltas], start=sheet.left, end=sheet.end)
    legend = textwrap.wrap(_legend(common), sheet.letters)
    top = 7 + len(legend) * TEXT
    root = drawing.root("common", "Δ among common variants", sheet, top + _BARS + _MARKS + _AXIS, alternative(said))
    drawing.legend(root, legend)
    group = element(root, "g", transform=f"translate(0 {number(top)})")
    _bars(group, common, x, sheet)
    for place in sorted({round(x(delta) / _APART) for delta in deltas}):
        line(group, place * _APART, _BARS + 4, place * _APART, _BARS + _MARKS - 4, stroke=INK, width=1)
    _axis(group, x, sheet)
    return ET.tostring(root, encoding="unicode")


def alternative(said: Content) -> str:
    """The picture in words."""
    common = said.common
    if common is None or not common.n:
        return ""
    low, high = _ends(common)
    marked = len(compared(said))
    return (
        f"{common.n:,} common variants have a Δ between {signed(low, common.step)} and {signed(high, common.step)} nats. "
        f"{marked:,} of this report {'is' if marked == 1 else 'are'} marked below them. The tables say the same."
    )


def compared(said: Content) -> list[float]:
    """Δ of the variants that have a rank."""
    return [one.delta for one in said.results if one.common_lower is not None and one.delta is not None]


def _ends(common: Common) -> tuple[float, float]:
    return common.low, common.low + common.step * len(common.counts)


def _legend(common: Common) -> str:
    unit = "nat" if common.step == 1 else "nats"
    return f"Bars: {common.n:,} common variants by Δ, in steps of {common.step:g} {unit}. Lines below: variants of this report."


def _bars(group: ET.Element, common: Common, x: locus.Scale, sheet: Sheet) -> None:
    most = max(common.counts)
    for count in (0, most):
        y = _BARS - count / most * (_BARS - 14)
        line(group, sheet.left, y, sheet.end, y, stroke=QUIET if count == 0 else LINE, width=1)
        text(group, sheet.left - 8, y + 4, f"{count:,}", anchor="end", fill=QUIET)
    for place, count in enumerate(common.counts):
        left, right = (x(common.low + common.step * edge) for edge in (place, place + 1))
        height = count / most * (_BARS - 14)
        if count:
            box = {"x": number(left + 0.5), "width": number(max(right - left - 1, 0.5))}
            element(group, "rect", y=number(_BARS - height), height=number(height), fill=PALE, **box)


def _axis(group: ET.Element, x: locus.Scale, sheet: Sheet) -> None:
    y = _BARS + _MARKS
    line(group, sheet.left, y, sheet.end, y, stroke="#94a3b2", width=1)
    for tick in x.ticks:
        line(group, x(tick), y, x(tick), y + 4, stroke="#94a3b2", width=1)
        text(group, x(tick), y + 15, figure(tick, x.step), anchor="middle", fill=QUIET)
    text(group, sheet.left, y + 28, "Δ log-likelihood, alt − ref, in nats", fill=QUIET)
