"""Draws Δ along the locus as SVG: one picture for page, print and PDF, and the same for the width of a telephone."""

import textwrap
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from reports import drawing, locus
from reports.content import Content, Gene, ResultLine
from reports.drawing import INK, LINE, PALE, QUIET, SCORE, TEXT, element, figure, line, number, signed, text
from reports.locus import PAGE, Panel, Point, Sheet
from reports.printable import printable

_LANE, _AXIS = 20.0, 34.0


def picture(content: Content, sheet: Sheet = PAGE) -> str:
    """The picture of a report; empty when its items lie on no contig (sequences, reads)."""
    failed = sum(1 for line in content.results if line.failure)
    return draw(points(content.results), content.genes, failed=failed, sheet=sheet)


def alternative(content: Content) -> str:
    """The picture in words."""
    found = points(content.results)
    return _words(found, locus.panels(found, (), height=100), sum(1 for line in content.results if line.failure))


def points(lines: Sequence[ResultLine]) -> list[Point]:
    """The scored variants among the results."""
    return [
        Point(r.contig, r.position, r.delta, f"{_short(r.ref)}>{_short(r.alt)}") for r in lines if r.contig and r.delta is not None
    ]


def draw(points: Sequence[Point], genes: Sequence[Gene], *, failed: int = 0, sheet: Sheet = PAGE) -> str:
    """The SVG text, or an empty string when there is nothing to draw and nothing failed."""
    if not points and not failed:
        return ""
    plot = 240.0 if len({p.contig for p in points}) == 1 else 160.0
    drawn = locus.panels(points, genes, height=plot, sheet=sheet)
    heights = [plot + panel.lanes * _LANE + _AXIS for panel in drawn]
    legend = textwrap.wrap(_legend(drawn, _beyond(points, drawn)), sheet.letters)
    top = 7 + len(legend) * TEXT
    height, words = top + sum(heights) + (24 if not drawn else 0), _words(points, drawn, failed)
    root = drawing.root("locus", "Change in log-likelihood along the locus", sheet, height, words)
    drawing.legend(root, legend)
    if not drawn:
        text(root, sheet.width / 2, top + 12, "No variant could be scored.", anchor="middle")
    for panel, height in zip(drawn, heights, strict=True):
        _draw_panel(element(root, "g", transform=f"translate(0 {number(top)})"), panel, plot)
        top += height
    return ET.tostring(root, encoding="unicode")


def _draw_panel(group: ET.Element, panel: Panel, plot: float) -> None:
    sheet = panel.sheet
    for tick in panel.y.ticks:
        y = panel.y(tick)
        line(group, sheet.left, y, sheet.end, y, stroke=QUIET if tick == 0 else LINE, width=1)
        text(group, sheet.left - 8, y + 4, figure(tick, panel.y.step), anchor="end", fill=QUIET)
    if len(panel.points) > sheet.sticks:
        _density(group, panel)
    else:
        _sticks(group, panel)
    _labels(group, panel)
    for lane, gene in panel.genes:
        _gene(group, panel, gene, plot + lane * _LANE)
    _positions(group, panel, plot + panel.lanes * _LANE)


def _sticks(group: ET.Element, panel: Panel) -> None:
    few = len(panel.points) <= panel.sheet.lollipops
    zero = panel.y(0)
    for point in panel.points:
        x, y = panel.x(point.position), panel.y(point.delta)
        mark = element(group, "g")
        if few:
            element(mark, "title").text = f"{point.contig}:{point.position:,} {point.name} Δ {signed(point.delta, 0.01)}"
        line(mark, x, zero, x, y, stroke="#94a3b2" if few else PALE, width=1.4 if few else 0.8)
        element(mark, "circle", cx=number(x), cy=number(y), r="4" if few else "1.6", fill=SCORE)


def _density(group: ET.Element, panel: Panel) -> None:
    half = locus.COLUMN / 2
    for column in locus.columns(panel):
        top, bottom = panel.y(column.high), panel.y(column.low)
        box = {"x": number(column.x - half), "width": number(locus.COLUMN)}
        element(group, "rect", y=number(top), height=number(max(bottom - top, 1)), fill=PALE, **box)
        element(group, "rect", y=number(panel.y(column.median) - 1), height="2", fill=SCORE, **box)
    line(group, panel.sheet.left, panel.y(0), panel.sheet.end, panel.y(0), stroke=QUIET, width=1)


def _labels(group: ET.Element, panel: Panel) -> None:
    for label in panel.labels:
        x, y = panel.x(label.point.position), panel.y(label.point.delta)
        element(group, "circle", cx=number(x), cy=number(y), r="4.5", fill=INK)
        halo = {"stroke": "#ffffff", "stroke-width": "3", "stroke-linejoin": "round", "paint-order": "stroke"}
        text(group, label.x, label.y, label.text, anchor=label.anchor, **halo)


def _gene(group: ET.Element, panel: Panel, gene: Gene, top: float) -> None:
    left, right = max(panel.x(gene.start), panel.sheet.left), min(panel.x(gene.end), panel.sheet.end)
    width = number(max(right - left, 1))
    element(group, "rect", x=number(left), y=number(top + 3), width=width, height="14", rx="3", fill="#d5e5e3")
    words = f"{printable(gene.name)} →" if gene.strand == "+" else f"← {printable(gene.name)}"
    if len(words) * locus.CHARACTER + 8 <= right - left:
        text(group, (left + right) / 2, top + 14, words, anchor="middle")


def _positions(group: ET.Element, panel: Panel, y: float) -> None:
    sheet = panel.sheet
    line(group, sheet.left, y, sheet.end, y, stroke="#94a3b2", width=1)
    for tick in panel.x.ticks:
        x = panel.x(tick)
        line(group, x, y, x, y + 4, stroke="#94a3b2", width=1)
        words = f"{int(tick):,}"
        half = len(words) * locus.CHARACTER / 2
        if half <= x <= sheet.width - half:
            text(group, x, y + 15, words, anchor="middle", fill=QUIET)
    text(group, sheet.left, y + 28, f"position on {printable(panel.contig)}", fill=QUIET)


def _legend(drawn: Sequence[Panel], beyond: int) -> str:
    words = "Δ log-likelihood, alt − ref, in nats (lower: less expected by the model)"
    if any(len(panel.points) > panel.sheet.sticks for panel in drawn):
        words += "; bars: range, dark: median of each column"
    return f"{words}; {_beyond_words(beyond)}" if beyond else words


def _beyond(points: Sequence[Point], drawn: Sequence[Panel]) -> int:
    return len({p.contig for p in points}) - len(drawn)


def _beyond_words(beyond: int) -> str:
    return f"{beyond} more contig{' is' if beyond == 1 else 's are'} in the table only"


def _words(points: Sequence[Point], drawn: Sequence[Panel], failed: int) -> str:
    """The text alternative."""
    parts = [f"{_variants(points)} scored, {failed:,} failed."]
    for panel in drawn:
        positions, deltas = [p.position for p in panel.points], [p.delta for p in panel.points]
        parts.append(
            f"{printable(panel.contig)}: {_variants(deltas)} at {min(positions):,} to {max(positions):,}, "
            f"Δ from {signed(min(deltas), 0.01)} to {signed(max(deltas), 0.01)} nats."
        )
    if beyond := _beyond(points, drawn):
        parts.append(f"{_beyond_words(beyond)}.")
    return " ".join([*parts, "The table of results says the same."])


def _variants(some: Sequence[object]) -> str:
    return "1 variant" if len(some) == 1 else f"{len(some):,} variants"


def _short(allele: str) -> str:
    return allele if len(allele) <= 8 else f"{allele[:6]}…"
