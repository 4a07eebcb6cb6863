"""Where everything in the picture of Δ along the locus goes. Pure arithmetic: points in, places out."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from reports.content import Gene

PANELS = 6  # contigs drawn; the rest is said in words and stands in the table
COLUMN = 2.0  # width of one density column
LANES = 3  # of overlapping genes
CHARACTER = 6.7  # width of one character of a label, generously
_NARROWEST = 40  # bases that a panel shows at least


@dataclass(frozen=True)
class Sheet:
    """What the picture is drawn on, in its own units: a letter is eleven of them high."""

    name: str
    width: float
    left: float  # margin, for the figures of the Δ axis
    right: float
    lollipops: int  # points of a panel up to which heads are drawn
    sticks: int  # and single sticks; above: density
    steps: int  # of the position axis, about
    labels: int  # wanted where one contig is drawn

    @property
    def end(self) -> float:
        """The right edge of the plot."""
        return self.width - self.right

    @property
    def letters(self) -> int:
        """Characters of a line of text from edge to edge."""
        return int((self.width - 8) / CHARACTER)


PAGE = Sheet("page", width=860, left=62, right=16, lollipops=120, sticks=1000, steps=5, labels=5)
# drawn for 390 CSS pixels: the wide picture would shrink there until nobody can read its letters
TELEPHONE = Sheet("telephone", width=340, left=50, right=8, lollipops=40, sticks=300, steps=3, labels=3)


@dataclass(frozen=True)
class Point:
    """One scored variant."""

    contig: str
    position: int
    delta: float
    name: str  # C>T


@dataclass(frozen=True)
class Scale:
    """A linear map from values to places, with round ticks."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    step: float  # between ticks

    def __call__(self, value: float) -> float:
        """The place of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


@dataclass(frozen=True)
class Box:
    """A rectangle that may not overlap another."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        """Whether the two overlap."""
        return self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom


@dataclass(frozen=True)
class Label:
    """Words beside a point."""

    text: str
    x: float
    y: float  # of the base line
    anchor: str
    point: Point


@dataclass(frozen=True)
class Column:
    """Δ of all variants that share one density column."""

    x: float
    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Panel:
    """One contig."""

    sheet: Sheet
    contig: str
    points: tuple[Point, ...]
    x: Scale
    y: Scale
    genes: tuple[tuple[int, Gene], ...]  # with the lane of each
    labels: tuple[Label, ...] = field(default=())

    @property
    def lanes(self) -> int:
        """How many lanes the genes take."""
        return max((lane + 1 for lane, _ in self.genes), default=0)


def panels(points: Sequence[Point], genes: Sequence[Gene], *, height: float, sheet: Sheet = PAGE) -> list[Panel]:
    """One panel per contig, in the order of the file, on one common Δ axis."""
    by_contig: dict[str, list[Point]] = {}
    for point in points:
        by_contig.setdefault(point.contig, []).append(point)
    y = delta_scale([p.delta for p in points], start=height - 30, end=30)
    wanted = sheet.labels if len(by_contig) == 1 else 2
    return [_panel(sheet, contig, here, genes, y, wanted) for contig, here in list(by_contig.items())[:PANELS]]


def delta_scale(deltas: Iterable[float], *, start: float, end: float) -> Scale:
    """The Δ axis: holds zero and every value with little room beyond, round ticks inside."""
    values = [0.0, *deltas]
    low, high = min(values), max(values)
    if low == high:
        low, high = -1.0, 1.0
    tick = step((high - low) / 6)
    first, last = math.floor(low / tick), math.ceil(high / tick)
    room = (high - low) * 0.06
    low, high = max(first * tick, low - room), min(last * tick, high + room)
    return Scale(low, high, start, end, tuple(n * tick for n in range(first, last + 1) if low <= n * tick <= high), tick)


def position_scale(positions: Sequence[int], sheet: Sheet) -> Scale:
    """The position axis: every variant with a margin, whole-number ticks."""
    low, high = min(positions), max(positions)
    margin = max((_NARROWEST - (high - low)) / 2, (high - low) * 0.03)
    start, end = low - margin, high + margin
    tick = max(1, step((end - start) / sheet.steps))
    ticks = range(math.ceil(start / tick), math.floor(end / tick) + 1)
    return Scale(start, end, sheet.left, sheet.end, tuple(n * tick for n in ticks if n * tick >= 1), tick)


def columns(panel: Panel) -> list[Column]:
    """The density form: lowest, median and highest Δ of each column that holds a variant."""
    left = panel.sheet.left
    found: dict[int, list[float]] = {}
    for point in panel.points:
        found.setdefault(int((panel.x(point.position) - left) / COLUMN), []).append(point.delta)
    return [Column(left + (n + 0.5) * COLUMN, min(v), sorted(v)[len(v) // 2], max(v)) for n, v in sorted(found.items())]


def _panel(sheet: Sheet, contig: str, points: list[Point], genes: Sequence[Gene], y: Scale, wanted: int) -> Panel:
    x = position_scale([p.position for p in points], sheet)
    inside = [g for g in genes if g.contig == contig and g.end >= x.low and g.start <= x.high]
    panel = Panel(sheet, contig, tuple(points), x, y, tuple(_lanes(inside)))
    return replace(panel, labels=tuple(_labels(panel, wanted)))


def _lanes(genes: Sequence[Gene]) -> Iterable[tuple[int, Gene]]:
    ends = [-1] * LANES
    for gene in sorted(genes, key=lambda g: (g.start, g.end, g.name)):
        lane = next((n for n, end in enumerate(ends) if gene.start > end), LANES - 1)
        ends[lane] = max(ends[lane], gene.end)
        yield lane, gene


def _labels(panel: Panel, wanted: int) -> Iterable[Label]:
    """The largest |Δ| first; a label that finds no free place is left out, never drawn over another."""
    top = sorted((p for p in panel.points if p.delta), key=lambda p: (-abs(p.delta), p.position, p.name))[:wanted]
    taken = [_head(panel, p) for p in (panel.points if len(panel.points) <= panel.sheet.lollipops else top)]
    for point in top:
        for label in _candidates(panel, point):
            box = _box(label)
            if box.left >= panel.sheet.left and box.right <= panel.sheet.end and not any(box.meets(t) for t in taken):
                taken.append(box)
                yield label
                break


def _candidates(panel: Panel, point: Point) -> Iterable[Label]:
    x, y = panel.x(point.position), panel.y(point.delta)
    value = f"{point.delta:.2f}" if abs(point.delta) >= 0.1 else f"{point.delta:.1g}"
    text = f"{point.position:,} {point.name} {value}".replace("-", "−")
    outward = 1 if point.delta < 0 else -1
    if len(panel.points) > panel.sheet.lollipops:  # beyond the crowd, above or below its own point
        yield from (Label(text, x, y + 4 + outward * away, "middle", point) for away in (15, 27))
        return
    for away in (0, 14, -14, 28):
        for dx, anchor in ((9, "start"), (-9, "end")):
            yield Label(text, x + dx, y + 4 + outward * away, anchor, point)


def _box(label: Label) -> Box:
    width = len(label.text) * CHARACTER
    left = label.x - width * {"start": 0, "middle": 0.5, "end": 1}[label.anchor]
    return Box(left - 2, label.y - 10, left + width + 2, label.y + 3)


def _head(panel: Panel, point: Point) -> Box:
    x, y = panel.x(point.position), panel.y(point.delta)
    return Box(x - 4, y - 4, x + 4, y + 4)


def step(rough: float) -> float:
    """The smallest of 1, 2, 4, 5 × a power of ten that is not below `rough`."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(m * power for m in (1, 2, 4, 5, 10) if m * power >= rough * (1 - 1e-9))
