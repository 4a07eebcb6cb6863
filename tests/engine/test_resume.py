"""Exact resume: stopped, or sent away, at every layer of every chunk and at every position that is drawn, each kind of request has
the bits of one that was alone in a fresh process, and no log-probability is lost or comes twice.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.preempting import Point, Told, Way, every_kind, outside, play, settings
from engine.config import EngineConfig, Kernels, Precision
from engine.limits import Limits
from engine.request import Priority, Score
from engine.runner import Runner
from tests.engine.checkpoints import Shape, write_checkpoint
from tests.engine.conftest import model
from tests.engine.driving import Arrival, bits, drive, scheduler

ROOT = Path(__file__).resolve().parents[2]
BASE = EngineConfig(blocks=60, block_size=16, chunk=16, token_budget=256, poison_free_blocks=True)
LAYERS = Shape().layers
LOWER = every_kind(6, range(11), 50)
CLASSES = (Priority.ROUTINE, Priority.URGENT, Priority.ASAP)
WINDOWS = (None, 40)
FAST = [(window, "native", precision) for window in WINDOWS for precision in ("fp32", "bf16")]
PLAIN = [(window, "reference", precision) for window in WINDOWS for precision in ("fp32", "bf16")]
ORACLE = """
import json, sys
from pathlib import Path
from engine import isa
isa.pin("auto")
from engine.runner import Runner
from tests.engine.conftest import model
from tests.engine.driving import alone, bits
from tests.engine.test_resume import BASE, LOWER
found = {}
for place in sys.argv[1:]:
    folder, kernels, precision = place.split("|")
    runner = Runner(model(Path(folder), kernels, precision), BASE)
    found[place] = [bits(alone(BASE, runner.run, request)).hex() for request in LOWER]
print(json.dumps(found))
"""


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[int | None, Path]:
    """A model that sees everything, and one with a sliding window."""
    return {window: write_checkpoint(tmp_path_factory.mktemp("resume"), Shape(window=window, seed=5)) for window in WINDOWS}


@pytest.fixture(scope="session")
def oracle(folders: dict[int | None, Path]) -> dict[str, list[bytes]]:
    """Each request alone, caches off, in a process of its own, by model, kernels and precision."""
    names = [_name(folders, *which) for which in FAST + PLAIN]
    command = [sys.executable, "-c", ORACLE, *names]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {name: [bytes.fromhex(one) for one in values] for name, values in json.loads(run.stdout).items()}


def _name(folders: dict[int | None, Path], window: int | None, kernels: str, precision: str) -> str:
    return f"{folders[window]}|{kernels}|{precision}"


@functools.cache
def runner_of(folder: Path, kernels: Kernels, precision: Precision) -> Runner:
    return Runner(model(folder, kernels, precision), BASE)


def told(runner: Runner, window: int | None, point: Point) -> Told:
    limits = Limits(vocabulary=11, context=512, window=window)
    lower = [(request, CLASSES[place % 3]) for place, request in enumerate(LOWER)]
    with outside(point.way, runner.arena) as beyond:
        return play(runner.run, scheduler(settings(point.way, LOWER, BASE), limits, outside=beyond), lower, point)


def everywhere(runner: Runner, window: int | None, way: Way, *, every: bool) -> Iterator[Told]:
    """A life for each point; with `every` for each layer of each pass, else for one layer of each second pass."""
    for step in itertools.count(1 if way.within else 2, 1 if every else 2):  # before the first pass nobody has anything to lose
        layers = range(1, LAYERS) if way.within else range(1)
        for layer in layers if every else layers[step // 2 % len(layers) :][:1]:
            found = told(runner, window, Point(way, step, layer))
            if not found.reached:
                return
            yield found


def _reached(way: Way, lives: list[Told]) -> int:
    """What is peculiar to a way, over all its points."""
    policies = [life.policy for life in lives]
    figures = {
        Way.FROZEN: sum(policy.freezes for policy in policies),
        Way.ABANDONED: sum(policy.abandoned_passes for policy in policies),
        Way.RECOMPUTED: sum(policy.recomputed_tokens for policy in policies),
        Way.CACHED: sum(policy.reused_tokens for policy in policies),
        Way.SWAPPED: sum(policy.swapping.blocks_in for policy in policies),
        Way.FILED: sum(policy.swapping.files_read for policy in policies),
    }
    return figures[way]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The slow kernels once with a window and once without; with `--every-point` all of them."""
    if "oracle" in metafunc.fixturenames:
        every = metafunc.config.getoption("--every-point", default=False)
        metafunc.parametrize(("window", "kernels", "precision"), FAST + (PLAIN if every else [PLAIN[0], PLAIN[-1]]))


@pytest.mark.parametrize("way", Way)
def test_preempted_anywhere_each_has_the_bits_of_one_alone(
    request: pytest.FixtureRequest,
    folders: dict[int | None, Path],
    oracle: dict[str, list[bytes]],
    window: int | None,
    kernels: Kernels,
    precision: Precision,
    way: Way,
) -> None:
    every = kernels == "native" or request.config.getoption("--every-point", default=False)
    lives = list(everywhere(runner_of(folders[window], kernels, precision), window, way, every=every))
    for life in lives:
        assert [bits(life.outcomes[place]) for place in range(len(LOWER))] == oracle[_name(folders, window, kernels, precision)]
    preempted = {handle for life in lives for handle in life.preempted()}
    assert len(preempted) >= len(LOWER) - 4  # but for alternates that wait while their trunk runs
    assert len(lives) >= (5 * (LAYERS - 1 if way.within else 1) if every else 3)
    assert _reached(way, lives) > 0


@pytest.mark.parametrize("way", Way)
def test_a_long_score_under_a_sliding_window_is_preempted_in_any_chunk(folders: dict[int | None, Path], way: Way) -> None:
    """Small chunks of one that is long, in half of the blocks that it fills; what it would find again has left the window."""
    runner, tokens = runner_of(folders[40], "native", "fp32"), tuple((at * at + at // 7) % 11 for at in range(480))
    expected = bits(drive(BASE, runner.run, [Arrival(0, Score(tokens))])[0])  # no limits: nothing slides
    config = dataclasses.replace(settings(way, [], BASE), long=64, long_chunk=16, chunk=64, blocks=16, slots=2)
    limits = Limits(vocabulary=11, context=512, window=40)
    for step in range(2, 28, 3):
        point = Point(way, step, 1 + step % (LAYERS - 1) if way.within else 0)
        with outside(way, runner.arena) as beyond:
            policy = scheduler(config, limits, outside=beyond)
            life = play(runner.run, policy, [(Score(tokens), Priority.ROUTINE)], point)
        assert bits(life.outcomes[0]) == expected, point
        assert life.preempted()
