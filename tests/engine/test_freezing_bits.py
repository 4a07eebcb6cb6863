"""A pass that stood still, at any layer of any step, gives the bits of a request alone in a fresh engine."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence

import pytest

from engine.batch import Batch, RowOutput
from engine.config import EngineConfig
from engine.freezing import FreezingScheduler
from engine.limits import Limits
from engine.request import REFERENCE, Branch, Embed, Generate, Outcome, Priority, Request, Sampling, Score
from engine.runner import Runner
from tests.engine.checkpoints import Shape, write_checkpoint
from tests.engine.conftest import CONFIG, model
from tests.engine.driving import LABORATORY, LIMITS, alone, bits, scheduler

SMALL = dataclasses.replace(CONFIG, chunk=16, token_budget=48, blocks=60, slots=4, frozen_seconds=1e9)
TIGHT = dataclasses.replace(SMALL, chunk=32, token_budget=128, blocks=12)
SLIDING = dataclasses.replace(LIMITS, window=40)
WINDOW = tuple(random.Random(6).choices(range(11), k=100))
LOWER: list[Request] = [
    Score(WINDOW[:71]),
    Generate(WINDOW[:45], limit=4, sampling=Sampling(temperature=1.1, seed=3)),
    Score(WINDOW, LABORATORY),
    *(Score(WINDOW, LABORATORY, Branch(at, ((WINDOW[at] + 1) % 11, *WINDOW[at + 1 :]))) for at in (1, 33, 64)),
    Embed(WINDOW[:50]),
]
STAT: list[Request] = [
    Generate(WINDOW[3:25], limit=3),
    Score(WINDOW, LABORATORY, Branch(33, (0, *WINDOW[34:]))),  # of a window whose trunk may be in the pass
    Score(WINDOW, REFERENCE),
]
Run = Callable[[Batch], list[RowOutput] | None]


class After:
    """A signal that is raised after so many layers of one step."""

    steered = False

    def __init__(self, step: int, layer: int) -> None:
        self.step, self.layer, self.layers, self.begun, self.stops = step, layer, 0, 0, 0
        self.now = 0
        self.policy: FreezingScheduler

    @property
    def raised(self) -> bool:
        return self.now == self.step and self.layers - self.begun == self.layer


def played(
    run: Run,
    signal: After,
    limits: Limits = LIMITS,
    config: EngineConfig = SMALL,
    stat: Sequence[Request] = STAT,
    cancel: int = 10**6,  # nobody
) -> dict[int, Outcome]:
    """The lower requests, and when they are stopped those of STAT; by handle, which is the place in both lists together."""
    policy, outcomes = scheduler(config, limits), {}
    assert isinstance(policy, FreezingScheduler)
    policy.signal, signal.policy = signal, policy  # type: ignore[assignment]
    for handle, request in enumerate(LOWER):
        policy.add(handle, request, Priority.ROUTINE, 0.0)
    while policy.has_work:
        batch = policy.schedule(0.0)
        if not batch.resumes and not batch.beside:
            signal.now, signal.begun = signal.now + 1, signal.layers
        outputs = run(batch)
        outcomes |= {outcome.handle: outcome for outcome in policy.postprocess(batch, outputs)}
        if outputs is None:
            signal.stops += 1
            policy.cancel(cancel)
            for handle, request in enumerate(stat, start=len(LOWER)):
                policy.add(handle, request, Priority.STAT, 0.0)
        policy.pool.check(policy.tables())
        assert policy.ledger.check()
    assert (policy.pool.available, policy.ledger.promised) == (config.blocks, 0)
    assert policy.freezes + policy.abandoned_passes == signal.stops
    assert policy.idle_slot_steps == 0
    return outcomes


def same(outcomes: dict[int, Outcome], expected: list[bytes]) -> bool:
    return all(bits(outcome) == expected[handle] for handle, outcome in outcomes.items() if outcome.state != "cancelled")


@pytest.fixture(scope="module")
def expected(runner: Runner) -> list[bytes]:
    return [bits(alone(CONFIG, runner.run, request)) for request in LOWER + STAT]


@pytest.mark.parametrize("layer", [1, 2, 3])
def test_stopped_after_any_layer_of_any_step_everybody_has_the_bits_of_one_alone(
    runner: Runner, expected: list[bytes], layer: int
) -> None:
    """Chunks of prompts at several positions, decoding, a trunk and its branches, a pooled state."""
    stops = 0
    for step in range(1, 30):
        signal = After(step, layer)
        assert same(played(runner.run, signal), expected), step
        stops += signal.stops
        if not signal.stops:
            break
    assert stops >= 8


@pytest.mark.parametrize("layer", [1, 3])
def test_the_same_under_a_sliding_window(tmp_path_factory: pytest.TempPathFactory, layer: int) -> None:
    folder = write_checkpoint(tmp_path_factory.mktemp("window"), Shape(window=40, seed=3))
    runner = Runner(model(folder, "native"), CONFIG)
    wanted = [bits(alone(CONFIG, runner.run, request)) for request in LOWER + STAT]
    stops = 0
    for step in range(1, 8):
        signal = After(step, layer)
        assert same(played(runner.run, signal, SLIDING), wanted), step
        stops += signal.stops
    assert stops == 7


def test_every_layer_is_computed_once(runner: Runner) -> None:
    signal, passes = After(2, 2), []

    def counted(batch: Batch) -> list[RowOutput] | None:
        passes.append(bool(batch.rows) and not batch.resumes)
        return runner.run(batch)

    played(counted, signal)
    assert signal.layers == sum(passes) * runner.model.layers


def test_cancelled_while_it_stands_still_a_row_harms_nobody(runner: Runner, expected: list[bytes]) -> None:
    for cancel in range(len(LOWER)):
        outcomes = played(runner.run, After(2, 2), cancel=cancel)
        assert same(outcomes, expected)
        assert outcomes[cancel].state in ("cancelled", "finished")


@pytest.mark.parametrize("layer", [1, 3])
def test_abandoned_a_pass_is_computed_again_with_the_same_bits(runner: Runner, expected: list[bytes], layer: int) -> None:
    """The pool is so small that STAT fits only without the blocks of the pass."""
    large = Score(WINDOW + WINDOW[:50])
    wanted = [*expected[: len(LOWER)], bits(alone(CONFIG, runner.run, large))]
    abandoned = 0
    for step in range(1, 9):
        signal = After(step, layer)
        assert same(played(runner.run, signal, config=TIGHT, stat=[large]), wanted), step
        abandoned += signal.policy.abandoned_passes
    assert abandoned >= 4


class Faulty:
    """A runner whose given layer raises once, when a stopped pass has gone on; the first row's company is not to blame."""

    def __init__(self, runner: Runner, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
        self.runner, self.error, self.armed = runner, error, False
        self._layer = runner.model.layer
        monkeypatch.setattr(runner.model, "layer", self._raising)

    def _raising(self, index: int, *rest: object) -> object:
        if self.armed and index == 3:
            self.armed = False
            raise self.error
        return self._layer(index, *rest)

    def run(self, batch: Batch) -> list[RowOutput] | None:
        self.armed = batch.resumes
        return self.runner.run(batch)


@pytest.mark.parametrize("error", [ValueError("broken"), MemoryError()], ids=["raises", "runs out of memory"])
def test_a_pass_that_fails_after_it_stood_still_is_replayed_in_halves(
    runner: Runner, expected: list[bytes], error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    signal = After(2, 2)
    assert same(played(Faulty(runner, error, monkeypatch).run, signal), expected)
    assert signal.stops == 1


def test_control_stat_that_writes_into_a_block_of_the_pass_is_seen(runner: Runner, expected: list[bytes]) -> None:
    """Were it to pass, the tests above would prove nothing."""
    stopped: list[Batch] = []

    def writing(batch: Batch) -> list[RowOutput] | None:
        if batch.beside:
            (row, *_) = stopped[-1].rows
            batch = dataclasses.replace(batch, rows=[dataclasses.replace(one, blocks=row.blocks, first=0) for one in batch.rows])
        else:
            stopped.append(batch)
        return runner.run(batch)

    outcomes = played(writing, After(2, 2), stat=STAT[:1])
    wrong = [h for h, outcome in outcomes.items() if outcome.state == "failed" or bits(outcome) != expected[h]]
    assert 0 in wrong
