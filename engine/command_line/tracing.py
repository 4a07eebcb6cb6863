"""`trace`: a scenario played on a model, its steps as a Chrome trace and as a picture, and a row for each request."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine import timeline
from engine.command_line import scenarios
from engine.engine import Engine
from engine.happening import What
from engine.lanes import Lane, Stay, lanes
from engine.perfetto import chrome
from engine.trace import Trace

_ABOUT = "mixed: short and long requests, a window and its alternates; stat: freezes, swaps, holds, all that STAT and people do"


def add_options(command: argparse.ArgumentParser) -> None:
    """What `trace` may be told."""
    command.add_argument("--scenario", choices=tuple(scenarios.SCENARIOS), default="mixed", help=_ABOUT)
    command.add_argument(
        "--out",
        type=Path,
        help="write a Chrome trace (JSON), for https://ui.perfetto.dev or chrome://tracing, and a picture (SVG) beside it; a name "
        "that ends in .json is the trace alone",
    )
    command.add_argument("--svg", type=Path, help="write the picture there")


def read(options: argparse.Namespace) -> None:
    """Nothing but the engine's settings: what is asked of it is built in."""
    scenario = scenarios.chosen(options.scenario)
    options.settings = scenario.settings
    options.folder = None
    if scenario.files:
        options.folder = tempfile.TemporaryDirectory(prefix="engine-trace-")
        options.settings["swap_folder"] = options.folder.name


def run(engine: Engine, asked: None, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Play the scenario, write what was asked for, and tell of each lane."""
    scenarios.warm(engine)
    trace = engine.trace = Trace()
    try:
        scenarios.play(engine, scenarios.SCENARIOS[options.scenario].scenes(engine), trace)
    finally:
        engine.close()
        if options.folder is not None:
            options.folder.cleanup()
    for path in _places(options):
        path.write_text(_written(path, trace, engine, options), encoding="utf-8")
    for lane in lanes(trace):
        yield _row(lane)


def _places(options: argparse.Namespace) -> Iterator[Path]:
    out, svg = options.out, options.svg
    if out is not None and out.suffix == ".json":
        yield out
    elif out is not None:
        yield out.with_name(out.name + ".json")
        svg = svg or out.with_name(out.name + ".svg")
    if svg is not None:
        yield svg


def _written(path: Path, trace: Trace, engine: Engine, options: argparse.Namespace) -> str:
    if path.suffix == ".json":
        return chrome(trace, f"model {options.model.name}, fingerprint {engine.fingerprint}")
    config = engine.scheduler.config
    about = f"{options.model.name} on {config.threads} threads · {config.slots} slots, steps of {config.token_budget} tokens"
    about += f", a pool of {config.blocks:,} blocks, an arena of {config.arena_blocks:,}"
    return timeline.draw(trace, timeline.TITLES[options.scenario], about)


def _row(lane: Lane) -> dict[str, Any]:
    rows, stood = lane.rows, lane.stays(Stay.FROZEN)
    waited = round((rows[0].step.times.scheduled - lane.placed) * 1e3, 1) if lane.placed is not None and rows else None
    return {
        "request": lane.name,
        "tokens": sum(row.mark.tokens for row in lane.counted),
        "steps": len(lane.counted),
        "waited_ms": waited,
        "served_ms": round((rows[-1].step.times.ran - rows[0].step.times.scheduled) * 1e3, 1) if rows else None,
        "frozen_ms": round(sum(span.end - span.begin for span in stood) * 1e3, 1),
        "computed_again": lane.count(What.AGAIN),
        "swapped": lane.count(What.DRAINS),
        "state": lane.state,
    }
