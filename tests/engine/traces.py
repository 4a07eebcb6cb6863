"""Traces to look at: of a small mixed load on a model that is none, made by hand, and of the scenario `stat` on a random model."""

from __future__ import annotations

import functools
import json
import tempfile
from array import array
from pathlib import Path
from typing import Any

from engine.command_line import scenarios
from engine.config import EngineConfig
from engine.engine import Engine
from engine.loading import load
from engine.perfetto import chrome
from engine.request import REFERENCE, Branch, Generate, Outcome, Priority, Request, Score
from engine.tokenizers.vocab_json import from_symbols
from engine.trace import Mark, Part, Step, Times, Trace
from tests.engine.checkpoints import Shape, write_checkpoint
from tests.engine.driving import scheduler
from tests.engine.test_loop import DEPLOYMENT, Plain

CONFIG = EngineConfig(slots=3, token_budget=64, chunk=32, blocks=16, block_size=16)
WINDOW = (1, *range(3, 7)) * 12
MIXED: list[tuple[Request, Priority]] = [
    (Score((1,) * 101), Priority.ROUTINE),
    (Generate((1, 3, 4), limit=6), Priority.URGENT),
    (Score(WINDOW, REFERENCE, Branch(20, (6,) * 10)), Priority.ASAP),
    (Score(WINDOW, REFERENCE, Branch(30, (6,) * 10)), Priority.ASAP),
    (Score((1,)), Priority.STAT),  # refused
]


def engine(config: EngineConfig = CONFIG, trace: Trace | None = None) -> Engine:
    made = Engine(scheduler(config), Plain(), DEPLOYMENT, from_symbols({"bos": 1}), batch_invariant=True)
    made.trace = trace
    return made


def run(made: Engine, requests: list[tuple[Request, Priority]]) -> list[Outcome]:
    for handle, (request, priority) in enumerate(requests, start=1):
        made.submit(handle, request, priority)
    outcomes = []
    while made.scheduler.has_work:
        outcomes += made.step()
    return outcomes


def mixed() -> Trace:
    trace = Trace()
    run(engine(trace=trace), MIXED)
    return trace


def step(number: int, *rows: Mark, length: float = 0.004, layers: int = 4, part: Part = Part.WHOLE) -> Step:
    """A step that began at `number` hundredths of a second."""
    began = number / 100
    times = Times(began, began + 0.001, began + length, began + length + 0.001)
    return Step(number, times, array("q", sum(rows, ())), layers=layers, part=part)


def chunk(start: int, handle: int = 7, priority: Priority = Priority.ROUTINE) -> Mark:
    """32 tokens of a score."""
    return Mark(handle, start, 32, priority, 0)


@functools.cache
def played() -> Trace:
    """The scenario `stat`, once in a session."""
    return play()


def play() -> Trace:
    """The scenario `stat` on a random model of four layers with a sliding window."""
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "model"
        folder.mkdir()
        write_checkpoint(folder, Shape(context=2048, window=256))
        scenario = scenarios.chosen("stat")
        config = EngineConfig(**scenario.settings, swap_folder=root, kernels="reference", self_test=False)
        made = load(folder, config=config)
        trace = made.trace = Trace()
        scenarios.play(made, scenario.scenes(made), trace)
        made.check()
        made.close()
    return trace


def events(trace: Trace, *phases: str, last: float | None = None) -> list[dict[str, Any]]:
    """Those of its JSON, of some phases or of all."""
    found: list[dict[str, Any]] = json.loads(chrome(trace, "a test", last))["traceEvents"]
    return [event for event in found if not phases or event["ph"] in phases]
