"""`preempted`: sequences that were frozen, abandoned, sent away and resumed at points drawn at random, compared bit by bit with the
same request alone in a fresh process.
"""

from __future__ import annotations

import dataclasses
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from benchmarks import models, progress, workloads
from benchmarks.measured import Bar, Measured
from benchmarks.options import Options
from benchmarks.peer import ROOT, Precision
from benchmarks.preempting import Point, Told, Way, bits, every_kind, outside, play, settings
from engine import EngineConfig, Priority
from engine.request import PRIVATE, Embed, Request

if TYPE_CHECKING:
    from engine import Engine
    from engine.runner import Runner

SEQUENCES, QUICK = 10_000, 1_000
_WIDE = models.Shape("preempted", hidden=96, layers=4, heads=4, kv_heads=2, head_dim=24, intermediate=128, context=2048, seed=5)
SHAPES = (_WIDE, dataclasses.replace(_WIDE, name="preempted-sw", window=48))
LISTS = [every_kind(seed, workloads.BASES, 24 + 4 * seed) for seed in range(20)]
CLASSES = (Priority.ASAP, Priority.URGENT, Priority.ROUTINE)
_BASE = EngineConfig(blocks=96, block_size=16, self_test=False, poison_free_blocks=True)
Oracle = list[list[str]]  # hexadecimal bits by list and place


@dataclass(frozen=True, slots=True)
class Drawn:
    """One life: which requests, with whom they share, and where they meet STAT."""

    which: int
    places: tuple[int, ...]
    classes: tuple[Priority, ...]
    shared: bool
    config: EngineConfig
    point: Point

    def lower(self) -> list[Request]:
        """The requests in the order in which they come."""
        found = [LISTS[self.which][place] for place in self.places]
        return found if self.shared else [_unshared(one) for one in found]


def _unshared(request: Request) -> Request:
    return request if isinstance(request, Embed) else dataclasses.replace(request, sharing=PRIVATE)


def draw(generator: random.Random, layers: int) -> Drawn:
    """A point over (chunk, layer, way, shared or not, class)."""
    which, way = generator.randrange(len(LISTS)), generator.choice(list(Way))
    places = generator.sample(range(len(LISTS[which])), k=generator.randint(3, len(LISTS[which])))
    chunk, budget = generator.choice((16, 32, 48)), generator.choice((64, 128, 256))
    layer = generator.randrange(1, layers) if way.within else 0
    return Drawn(
        which,
        tuple(places),
        tuple(generator.choice(CLASSES) for _ in places),
        generator.random() < 0.5,
        dataclasses.replace(_BASE, chunk=chunk, token_budget=budget, blocks=generator.choice((40, 64, 96))),
        Point(way, generator.randint(1 if way.within else 2, 9), layer),
    )


def preempted(options: Options) -> Measured:
    """Lives with each model in turn, until so many sequences have been preempted."""
    wanted = QUICK if options.quick else SEQUENCES
    result = Measured("preempted", "Sequences that were preempted, against the same alone", options.precision, 1)
    ways: Counter[Way] = Counter()
    wrong = other = lives = 0
    for number, shape in enumerate(SHAPES):
        engine, oracle = _engine(shape, options.precision), alone(shape, options.precision)
        generator = random.Random(number)
        progress.stage(f"preempting, {shape.name}")
        while ways.total() < wanted * (number + 1) // len(SHAPES):
            drawn, lives = draw(generator, shape.layers), lives + 1
            told = live(engine, drawn)
            met = told.preempted()
            differing = differences(told, drawn, oracle)
            wrong, other = wrong + len(differing & met.keys()), other + len(differing - met.keys())
            ways[drawn.point.way] += len(met)
    result.figures |= {"preempted_sequences": ways.total(), "bit_differences": wrong, "bit_differences_beside": other}
    for way in Way:
        result.figures[f"sequences_{way.value}"] = ways[way]
        result.bars.append(Bar(way.value, ways[way], "sequences"))
    result.notes.append(f"{lives:,} lives of up to {len(LISTS[0])} requests of every kind, with and without a sliding window")
    return result


def live(engine: Engine, drawn: Drawn) -> Told:
    """One life on the runner of an engine, with a scheduler of its own."""
    from engine.blocks import BlockPool
    from engine.freezing import FreezingScheduler

    lower = drawn.lower()
    config = settings(drawn.point.way, lower, drawn.config)
    with outside(drawn.point.way, cast("Runner", engine.runner).arena) as beyond:
        policy = FreezingScheduler(config, BlockPool(config.blocks), engine.scheduler.limits, lambda: 0.0, beyond)
        return play(engine.runner.run, policy, list(zip(lower, drawn.classes, strict=True)), drawn.point)


def differences(told: Told, drawn: Drawn, oracle: Oracle) -> set[int]:
    """Those of lower work that have not the bits of one alone, or none at all."""
    expected = dict(enumerate(oracle[drawn.which][place] for place in drawn.places))
    return {handle for handle, wanted in expected.items() if handle not in told.outcomes or bits(told.outcomes[handle]) != wanted}


def alone(shape: models.Shape, precision: Precision) -> Oracle:
    """The bits of every request of every list alone, caches off, in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.preempted", str(models.folder(shape)), precision, str(len(LISTS))]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: Oracle = json.loads(run.stdout)
    return found


def _engine(shape: models.Shape, precision: Precision) -> Engine:
    from engine import load

    return load(models.folder(shape), config=dataclasses.replace(_BASE, precision=precision))


def _oracle(folder: Path, precision: Precision, lists: int) -> Oracle:
    from engine import load
    from engine.blocks import BlockPool
    from engine.scheduler import Scheduler

    engine = load(folder, config=dataclasses.replace(_BASE, precision=precision))

    def one(request: Request) -> str:
        policy = Scheduler(_BASE, BlockPool(_BASE.blocks), engine.scheduler.limits, lambda: 0.0)
        policy.add(0, _unshared(request), Priority.ROUTINE, 0.0)
        while policy.has_work:
            batch = policy.schedule(0.0)
            for outcome in policy.postprocess(batch, engine.runner.run(batch)):
                return bits(outcome)
        raise RuntimeError("a request alone did not end")

    return [[one(request) for request in asked] for asked in LISTS[:lists]]


def main(arguments: Sequence[str]) -> None:
    """Print what `alone` reads."""
    folder, precision, lists = arguments
    print(json.dumps(_oracle(Path(folder), precision, int(lists))))  # type: ignore[arg-type]


if __name__ == "__main__":
    from engine import isa

    isa.pin("auto")
    main(sys.argv[1:])
