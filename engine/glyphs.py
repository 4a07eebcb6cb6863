"""How a timeline looks: a shape for each thing that may happen, a pattern for each stay, a height for each kind of work.

Shapes follow one grammar, so that a few of them are enough to read all: a ring or dot is a life, a triangle to the right computes,
to the left gives way, down leaves the pool, up comes back, with a line below it is the disk; hollow begins and filled is done.
Nothing is told by colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.happening import What
from engine.lanes import Stay
from engine.trace import Kind

SIZE = 8.0  # of a sign, in pixels of the picture
INK, QUIET, EDGE, FAINT, RULE, PAPER = "#0f172a", "#475569", "#64748b", "#94a3b8", "#e2e8f0", "#ffffff"
STAT, CALM = "#b91c1c", "#9fb3c8"


@dataclass(frozen=True, slots=True)
class Look:
    """Height and darkness differ too, so that kinds can be told apart in grey."""

    fill: str
    height: float
    words: str


LOOKS = {
    Kind.CHUNK: Look(CALM, 15, "chunk of a prompt or a score"),
    Kind.DECODE: Look(CALM, 6, "one token, then the next is drawn"),
    Kind.TRUNK: Look("#64809c", 15, "trunk that alternates share"),
    Kind.BRANCH: Look(CALM, 10, "branch: an alternate"),
}
AGAIN = "url(#again)"  # over work that is done once more


@dataclass(frozen=True, slots=True)
class Shape:
    """A path in a square of `SIZE` around the origin; hollow ones are drawn as lines."""

    path: str
    hollow: bool = False


def _ring(radius: float) -> str:
    return f"M{-radius} 0a{radius} {radius} 0 1 0 {2 * radius} 0a{radius} {radius} 0 1 0 {-2 * radius} 0z"


_RIGHT, _LEFT = "M-3-3.5L3.5 0L-3 3.5z", "M3-3.5L-3.5 0L3 3.5z"
_DOWN, _UP = "M-3.5-3L0 3L3.5-3z", "M-3.5 3L0-3L3.5 3z"
_DOWN_DISK, _UP_DISK = "M-3.5-3.5L0 1L3.5-3.5z", "M-3.5 1L0-3.5L3.5 1z"
_DISK, _DISK_BAR = "M-4 3.2H4", "M-4 2.4H4V4H-4z"
_CROSS = "M-3-3L3 3M-3 3L3-3"

SHAPES = {
    What.PLACED: Shape(_ring(3), hollow=True),
    What.STARTS: Shape(_RIGHT),
    What.GOES_ON: Shape(_RIGHT, hollow=True),
    What.AGAIN: Shape("M2.9-1.2A3.1 3.1 0 1 0 3 1.2M3.4-3.6V-.9H.7", hollow=True),
    What.STOPPED: Shape("M-3-3.5H-1V3.5H-3zM1-3.5H3V3.5H1z"),
    What.RESUMED: Shape("M-3.5-3.5H-2V3.5H-3.5zM-1-3.5L4 0L-1 3.5z"),
    What.ABANDONED: Shape("M-3.5-3.5H3.5V3.5H-3.5zM-3.5-3.5L3.5 3.5M-3.5 3.5L3.5-3.5", hollow=True),
    What.CAPPED: Shape("M-3-3.5H3L-3 3.5H3z", hollow=True),
    What.SENT_AWAY: Shape(_LEFT),
    What.GIVEN_UP: Shape(_LEFT, hollow=True),
    What.DRAINS: Shape(_DOWN, hollow=True),
    What.IN_MEMORY: Shape(_DOWN),
    What.TO_DISK: Shape(_DOWN_DISK + _DISK, hollow=True),
    What.ON_DISK: Shape(_DOWN_DISK + _DISK_BAR),
    What.FROM_DISK: Shape(_UP_DISK + _DISK, hollow=True),
    What.READ: Shape(_UP_DISK + _DISK_BAR),
    What.LOST: Shape("M-3.5-3L0 3L3.5-3zM-4 3.5L4-4", hollow=True),
    What.RETURNS: Shape(_UP, hollow=True),
    What.IN_POOL: Shape(_UP),
    What.RECLASSED: Shape("M0-4L4 0L0 4L-4 0z"),
    What.ON_HOLD: Shape("M-3-3H3V3H-3z"),
    What.RELEASED: Shape("M-3-3H3V3H-3z", hollow=True),
    What.CANCEL: Shape(_CROSS, hollow=True),
    What.FINISHED: Shape(_ring(3)),
    What.FAILED: Shape(_ring(3) + "M-2.1-2.1L2.1 2.1", hollow=True),
    What.CANCELLED: Shape(_ring(3.4) + "M-2.3-2.3L2.3 2.3M-2.3 2.3L2.3-2.3", hollow=True),
}
_NUMBERED = (What.STOPPED, What.RESUMED)


def number(what: What, count: int) -> str:
    """What stands beside a sign: the layer of a pass."""
    return str(int(count)) if what in _NUMBERED else ""


@dataclass(frozen=True, slots=True)
class Texture:
    """How a stay looks: lines in a tile of 6 by 6 on a ground; without a path a dashed outline."""

    words: str
    ground: str = PAPER
    path: str = ""
    ink: str = EDGE
    width: float = 1.0


SLANT = "M-1 7L7-1M-1 1L1-1M5 7L7 5"
_DOTS = "M1.5 1.5h.01M4.5 4.5h.01"
_BETWEEN = Texture("between memory and disk", "#f1f5f9", SLANT + _DOTS, EDGE, 1.2)

TEXTURES = {
    Stay.FROZEN: Texture("stands still between two layers", RULE, "M1.5 0V6M4.5 0V6", "#334155", 1.2),
    Stay.DRAINS: Texture("drains to memory", PAPER, "M-1-1L7 7M-1 5L1 7M5-1L7 1", INK, 1.6),
    Stay.MEMORY: Texture("lies in memory", PAPER, SLANT, EDGE, 0.9),
    Stay.WRITES: _BETWEEN,
    Stay.READS: _BETWEEN,
    Stay.DISK: Texture("lies on disk", "#f1f5f9", _DOTS, "#334155", 1.8),
    Stay.HELD: Texture("on hold", PAPER, "M0 1.5H6M0 4.5H6", FAINT, 1.0),
    Stay.ASIDE: Texture("gave its blocks away"),
}


def fill(stay: Stay) -> str:
    """What a stay is filled with, where the patterns are defined under its name."""
    return f"url(#{stay.name.lower()})" if TEXTURES[stay].path else TEXTURES[stay].ground


def places(wanted: Sequence[float], widths: Sequence[float], low: float, high: float) -> list[float]:
    """Where the middles of signs stand that want to stand at ascending `wanted` and are so wide: as near as they can without
    touching, between `low` and `high`; closer than they are wide only where there is no room for all.
    """
    room = high - low
    shrink = min(1.0, room / sum(widths)) if widths else 1.0
    steps, total = [], 0.0  # of each sign, the middle when all stand in one row
    for width in widths:
        steps.append(total + width * shrink / 2)
        total += width * shrink
    groups: list[tuple[float, int]] = []  # of signs that touch: the mean of where the row wants to begin, and how many
    for want, step in zip(wanted, steps, strict=True):
        mean, count = want - step, 1
        while groups and groups[-1][0] >= mean:
            before, many = groups.pop()
            mean, count = (before * many + mean * count) / (many + count), count + many
        groups.append((mean, count))
    begins = [min(max(mean, low), high - total) for mean, count in groups for _ in range(count)]
    return [begin + step for begin, step in zip(begins, steps, strict=True)]
