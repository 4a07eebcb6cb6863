"""One picture a workload: a bar for each contestant with its absolute figure and the ratio to ours, as plain SVG.

Colours come from the page's scheme where it has one, and stay readable on white and on black where it has none.
"""

from __future__ import annotations

from html import escape

from benchmarks.comparing import OURS
from benchmarks.measured import Bar, Measured

WIDTH, LABELS, FIGURES = 760, 190, 230  # the columns of names and of figures stand left and right of the bars
TOP, ROW, HEIGHT = 62, 30, 18
_STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#1c2126}.title{font-size:16px;font-weight:600}.small{font-size:12px;fill:#5a646e}"
    ".ours{fill:#0b6e99}.other{fill:#9aa5b1}.axis{stroke:#9aa5b1}"
    "@media(prefers-color-scheme:dark){text{fill:#e6e9ec}.small{fill:#a8b1bb}.ours{fill:#4fb3df}.other{fill:#69737e}}"
)


def picture(result: Measured, below: str) -> str:
    """The whole document. Bars of different units stand in groups with scales of their own."""
    units = list(dict.fromkeys(bar.unit for bar in result.bars))
    parts, at = [], TOP
    for unit in units:
        bars = [bar for bar in result.bars if bar.unit == unit]
        parts.append(_text(LABELS, at, unit, "small"))
        largest = max((bar.value for bar in bars), default=0.0) or 1.0
        for place, bar in enumerate(bars):
            parts.append(_bar(bar, at + 10 + place * ROW, largest))
        bottom = at + 10 + len(bars) * ROW
        parts.append(f'<path class="axis" d="M{LABELS} {at + 6}V{bottom - 6}"/>')
        at = bottom + 24
    height = at + 12
    title = f"{result.title}, {result.precision}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="title">\n'
        f'<title id="title">{escape(title)}</title>\n<style>{_STYLE}</style>\n{_text(12, 26, title, "title")}\n'
        + "\n".join(parts)
        + f"\n{_text(12, height - 10, below, 'small')}\n</svg>\n"
    )


def _bar(bar: Bar, top: float, largest: float) -> str:
    room = WIDTH - LABELS - FIGURES
    length = max(1.0, room * bar.value / largest)
    kind = "ours" if bar.label == OURS else "other"
    figure = f"{bar.value:,.0f}" if bar.value >= 1000 else f"{bar.value:.3g}"
    words = f"{'<' if bar.late else ''}{figure}"
    if bar.ratio is not None:
        words += f" · ours is {'>' if bar.late else ''}{bar.ratio:.2f} times as fast"
    base = top + HEIGHT - 4
    return (
        f'<text x="{LABELS - 10}" y="{base}" text-anchor="end">{escape(bar.label)}</text>'
        f'<rect class="{kind}" x="{LABELS}" y="{top}" width="{length:.1f}" height="{HEIGHT}" rx="2"/>'
        f"{_text(LABELS + length + 8, base, words, 'small')}"
    )


def _text(x: float, y: float, words: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.0f}" y="{y:.0f}">{escape(words)}</text>'
