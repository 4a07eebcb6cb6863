"""Results for people and for programs: a table, one JSON object, and files under `benchmarks/results/`."""

from __future__ import annotations

import json
from collections.abc import Mapping

from benchmarks import machine, svg
from benchmarks.measured import LATE, Bar, Measured
from benchmarks.ours import config_hash
from benchmarks.peer import ROOT

RESULTS = ROOT / "benchmarks" / "results"


def as_object(result: Measured, on: Mapping[str, object]) -> dict[str, object]:
    """What `--json` prints last. A figure that was not measured is absent."""
    return {
        "name": result.name,
        "machine": dict(on),
        "figures": {key: round(value, 6) for key, value in result.figures.items()},
        "config": config_hash(),
        "precision": result.precision,
        "commit": machine.commit(),
        "rounds": result.rounds,
        "late": result.late,
        "absolutes": [
            {
                "label": bar.label,
                "value": bar.value,
                "unit": bar.unit,
                "seconds": list(bar.runs),
                "core_seconds": bar.cores,
                "late": bar.late,
            }
            for bar in result.bars
        ],
        "settings": result.settings,
        "notes": result.notes,
    }


def table(result: Measured, on: Mapping[str, object]) -> str:
    """Title, machine, absolutes with ratios, figures, notes."""
    width = max((len(bar.label) for bar in result.bars), default=0)
    lines = [f"{result.title}, {result.precision}", machine.in_words(dict(on)), f"{rounds(result)}"]
    lines += ["", *(_line(bar, width) for bar in result.bars)]
    key_width = max((len(key) for key in result.figures), default=0)
    lines += ["", *(f"  {key:<{key_width}}  {figure(result, key)}" for key in result.figures)]
    lines += ["", *(f"  · {note}" for note in result.notes)]
    lines += [f"  · {name}: {settings}" for name, settings in result.settings.items()]
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def rounds(result: Measured) -> str:
    """How the medians came about."""
    return "one round" if result.rounds == 1 else f"medians of {result.rounds} alternating rounds"


def figure(result: Measured, key: str) -> str:
    """A figure in the digits that mean something."""
    return f">{LATE:.0f}" if key in result.late else f"{result.figures[key]:.4g}"


def keep(result: Measured, on: Mapping[str, object]) -> list[str]:
    """Write table, object and picture for machine, precision and commit; the names of the files."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    stem = f"{result.name}-{result.precision}"
    files = {
        f"{stem}.json": json.dumps(as_object(result, on), indent=1) + "\n",
        f"{stem}.txt": table(result, on),
        f"{stem}.svg": svg.picture(result, f"{machine.in_words(dict(on))} · {rounds(result)} · {machine.commit()}"),
    }
    for name, content in files.items():
        (RESULTS / name).write_text(content, encoding="utf-8")
    return [f"benchmarks/results/{name}" for name in files]


def _line(bar: Bar, width: int) -> str:
    value = f"{'<' if bar.late else ''}{bar.value:,.4g}"
    ratio = "" if bar.ratio is None else f"   ours is {'>' if bar.late else ''}{bar.ratio:.2f} times as fast"
    cores = f", {bar.cores:.1f} core seconds" if bar.cores else ""
    return f"  {bar.label:<{width}}  {value:>10} {bar.unit}{cores}{ratio}"
