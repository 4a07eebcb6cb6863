"""`scheduler`: processor time of a decision with the model stubbed, by the number of sequences that generate."""

from __future__ import annotations

import dataclasses

import numpy as np

from benchmarks.measured import Bar, Measured, median
from benchmarks.options import Options
from benchmarks.ours import default
from benchmarks.stub import Stub
from engine import EngineConfig, Generate

RUNNING = (16, 64, 256, 1024)
_PROMPTS = (64, 192)  # tokens, so that blocks fill up at different steps
_STEPS, _QUICK_STEPS = 1024, 256


def scheduler(options: Options) -> Measured:
    """Medians over the steps in which every sequence draws its next token."""
    steps = _QUICK_STEPS if options.quick else _STEPS
    result = Measured("scheduler", "Scheduling alone: processor time per step", "none", 1)
    for running in RUNNING:
        schedule, both = decisions(running, steps)
        result.figures[f"median_us_{running}"] = both
        result.figures[f"schedule_us_{running}"] = schedule
        result.bars.append(Bar(f"{running} running", both, "µs for schedule() and postprocess()"))
        result.bars.append(Bar(f"{running} running", schedule, "µs for schedule() alone"))
    result.notes.append(f"median_us is schedule() with postprocess(), schedule_us the first alone; {steps} steps, no model")
    return result


def decisions(running: int, steps: int) -> tuple[float, float]:
    """Median microseconds of `schedule` and of both calls, while `running` sequences generate."""
    generator = np.random.default_rng(running)
    lengths = generator.integers(*_PROMPTS, running).tolist()
    config = _config(running, steps)
    stub = Stub(config)
    warm = -(-sum(lengths) // config.token_budget) + 2 * _PROMPTS[1] // config.grid  # until the last prompt is behind it
    stub.add([Generate(tuple(generator.integers(4, 8, length).tolist()), limit=steps + 2 * warm) for length in lengths])
    while any(len(row.tokens) > 1 for row in stub.step().rows):
        pass
    timed = [stub.timed_step() for _ in range(steps)]
    if any(len(batch.rows) != running for _, _, batch in timed):
        raise RuntimeError("not every sequence was running")
    return median([first for first, _, _ in timed]) * 1e6, median([both for _, both, _ in timed]) * 1e6


def _config(running: int, steps: int) -> EngineConfig:
    """The default, with room for so many sequences to the end beside what is kept for STAT."""
    config = default("fp32")
    blocks = running * -(-(_PROMPTS[1] + 4 * steps) // config.block_size)
    return dataclasses.replace(config, slots=running + config.reserve_slots, blocks=max(config.blocks, blocks))
