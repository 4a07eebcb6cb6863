"""`python -m engine trace`: a small mixed workload through a model, and its steps as a Chrome trace and as a picture."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from engine import timeline
from engine.config import LARGEST_THREADS, EngineConfig
from engine.engine import Engine
from engine.loading import load
from engine.request import REFERENCE, Branch, Generate, Priority, Request, Sampling, Score
from engine.trace import Trace, chrome, lanes

SLOTS, BUDGET, CHUNK = 5, 256, 128  # few slots, small steps: waiting can be seen
Arrival = tuple[int, Priority, Request]  # before which step


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to those of `python -m engine`."""
    parser = commands.add_parser("trace", help="run a small mixed workload and show its steps")
    parser.add_argument("--model", type=Path, required=True, help="folder with config.json, safetensors and vocab.json")
    parser.add_argument("--out", type=Path, help="write a Chrome trace (JSON), for https://ui.perfetto.dev or chrome://tracing")
    parser.add_argument("--svg", type=Path, help="write a picture")
    parser.add_argument("--threads", type=int, default=EngineConfig().threads, help=f"1 to {LARGEST_THREADS}")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Load, run, write; the exit status. Raises what loading and writing raise."""
    engine = load(options.model, config=EngineConfig(slots=SLOTS, token_budget=BUDGET, chunk=CHUNK, threads=options.threads))
    warm(engine)
    trace = engine.trace = Trace()
    serve(engine, list(workload(engine)))
    if options.out is not None:
        about = f"model {options.model.name}, fingerprint {engine.fingerprint}"
        options.out.write_text(chrome(trace, about), encoding="utf-8")
    if options.svg is not None:
        options.svg.write_text(
            timeline.draw(trace, f"Steps of {options.model.name} on {options.threads} threads"), encoding="utf-8"
        )
    found = [lane for lane in lanes(trace) if lane.rows]
    sys.stdout.write(timeline.words(trace.steps, found) + "\n")
    return 0


def workload(engine: Engine) -> Iterator[Arrival]:
    """Scores and generations, short and long, a window with its alternates, and an urgent request that comes later."""
    generator = random.Random(7)  # noqa: S311 — sequences to look at, not secrets
    bases = engine.tokenizer.encode("ACGT").ids
    most = min(engine.context, 512)

    def tokens(length: int) -> tuple[int, ...]:
        return (engine.tokenizer.bos, *generator.choices(bases, k=min(length, most) - 1))

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
    engine.submit(0, Generate((engine.tokenizer.bos,) * 64, 8), Priority.ROUTINE)
    while engine.scheduler.has_work:
        engine.step()
