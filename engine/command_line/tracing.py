"""`trace`: a small mixed workload through a model, its steps as a Chrome trace and as a picture, and a row for each request."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine import timeline
from engine.engine import Engine
from engine.request import REFERENCE, Branch, Generate, Priority, Request, Sampling, Score
from engine.swap.content import OUT
from engine.trace import Lane, Trace, chrome, lanes

SETTINGS = {"slots": 5, "token_budget": 256, "chunk": 128}  # few slots and small steps, so that waiting can be seen
Arrival = tuple[int, Priority, Request]  # before which step


def add_options(command: argparse.ArgumentParser) -> None:
    """What `trace` may be told, and the settings of its engine."""
    command.add_argument("--out", type=Path, help="write a Chrome trace (JSON), for https://ui.perfetto.dev or chrome://tracing")
    command.add_argument("--svg", type=Path, help="write a picture")
    command.set_defaults(settings=SETTINGS)


def read(options: argparse.Namespace) -> None:
    """Nothing: the workload is built in."""


def run(engine: Engine, asked: None, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Serve the workload, write what was asked for, and tell of each lane."""
    warm(engine)
    trace = engine.trace = Trace()
    serve(engine, list(workload(engine)))
    if options.out is not None:
        options.out.write_text(chrome(trace, f"model {options.model.name}, fingerprint {engine.fingerprint}"), encoding="utf-8")
    if options.svg is not None:
        options.svg.write_text(
            timeline.draw(trace, f"Steps of {options.model.name} on {options.threads} threads"), encoding="utf-8"
        )
    for lane in lanes(trace):
        yield _row(lane)


def _row(lane: Lane) -> dict[str, Any]:
    first, last = lane.rows[0][0].times, lane.rows[-1][0].times
    waited = None if lane.placed is None else round((first.scheduled - lane.placed) * 1e3, 1)
    return {
        "request": lane.name,
        "tokens": sum(mark.tokens for _, mark in lane.rows),
        "steps": len(lane.rows),
        "waited_ms": waited,
        "served_ms": round((last.ran - first.scheduled) * 1e3, 1),
        "computed_again": len(lane.again),
        "swapped": sum(what == OUT for _, what in lane.swaps),
        "state": lane.state,
    }


def workload(engine: Engine) -> Iterator[Arrival]:
    """Scores and generations, short and long, a window with its alternates, and an urgent request that comes later."""
    generator = random.Random(7)  # noqa: S311 — sequences to look at, not secrets
    bases = engine.tokenizer.encode("ACGT").ids
    most = min(engine.context, 512)

    def tokens(length: int) -> tuple[int, ...]:
        return (*engine.tokenizer.before, *generator.choices(bases, k=min(length, most) - 1))

    def drawn(length: int, limit: int) -> Generate:
        return Generate(tokens(length), limit, Sampling(temperature=1.0, seed=length))

    window = tokens(300)
    yield 0, Priority.ROUTINE, Score(tokens(480))
    for length, limit in ((12, 40), (90, 16), (200, 24)):
        yield 0, Priority.ROUTINE, drawn(length, limit)
    for length in (60, 350, 150, 30):
        yield 0, Priority.ROUTINE, Score(tokens(length))
    for at in (120, 150, 180):
        yield 0, Priority.URGENT, Score(window, REFERENCE, Branch(at, (_other(window[at], bases), *window[at + 1 :])))
    yield 3, Priority.STAT, drawn(100, 12)
    yield 10, Priority.ROUTINE, drawn(40, 20)
    yield 14, Priority.ROUTINE, Score(tokens(250))


def _other(base: int, bases: tuple[int, ...]) -> int:
    return next(other for other in bases if other != base)


def serve(engine: Engine, arrivals: list[Arrival]) -> None:
    """Submit each request before its step, and step until all have ended."""
    step = 0
    waiting = list(enumerate(arrivals, start=1))
    while waiting or engine.scheduler.has_work:
        for handle, (_, priority, request) in [one for one in waiting if one[1][0] <= step]:
            engine.submit(handle, request, priority)
        waiting = [one for one in waiting if one[1][0] > step]
        engine.step()
        step += 1


def warm(engine: Engine) -> None:
    """The first steps of a process load libraries and find memory: they are not what a trace is looked at for."""
    engine.submit(0, Generate(engine.tokenizer.encode("A" * 64).ids, 8), Priority.ROUTINE)
    while engine.scheduler.has_work:
        engine.step()
