"""What `trace` lets an engine do: requests that come, and what people change, each at a cue, so that the same happens in every run.

A cue is a step, something that has happened to a request, or a layer of a pass; the time of a clock decides nothing. After each
step the disk is waited for, since its speed would.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.batch import Batch, RowOutput, Signal
from engine.engine import Engine, Runs
from engine.happening import What
from engine.request import REFERENCE, Branch, Generate, Priority, Request, Sampling, Score
from engine.trace import Trace

_DISK = 10.0  # seconds to wait for it
_PART = 0.4  # of a pool that the longest request of a model without a window may take
Act = Callable[[Engine], object]


@dataclass(frozen=True, slots=True)
class Cue:
    """When something is done: before a step, after something has happened to a request, or in the pass that computes its position
    `at`, after so many layers of what is computed then; `resumed` when that pass goes on after it had been stopped.
    """

    step: int = 0
    what: What | None = None
    handle: int = 0
    at: int | None = None
    layers: int = 0
    resumed: bool = False

    def met(self, step: int, trace: Trace) -> bool:
        """Whether it has come; one within a pass does not come here."""
        if self.at is not None:
            return False
        seen = self.what is None or any(event.what is self.what and event.handle == self.handle for event in trace.events)
        return seen and step >= self.step

    def of(self, batch: Batch) -> bool:
        """Whether it lies in this pass."""
        at = self.at
        if at is None or batch.resumes != self.resumed:
            return False
        return any(row.handle == self.handle and row.start <= at < row.start + len(row.tokens) for row in batch.rows)


@dataclass(frozen=True, slots=True)
class Scene:
    """A cue, and what is done at it."""

    cue: Cue
    acts: Sequence[Act]


@dataclass(frozen=True, slots=True)
class Scenario:
    """Scenes follow each other: none begins before the one above it. `settings` are of `EngineConfig`."""

    settings: dict[str, float]
    scenes: Callable[[Engine], Iterator[Scene]]
    files: bool = False  # whether the engine has a folder for them


class _Counting(Signal):
    """Raised by itself after so many layers, as if somebody had called from outside just then."""

    until = -1
    _layers = 0

    @property
    def layers(self) -> int:
        return self._layers

    @layers.setter
    def layers(self, layers: int) -> None:
        self._layers = layers
        self.raised = self.raised or layers == self.until


class _Stage:
    """A runner whose pass stops where the next cue says."""

    def __init__(self, engine: Engine) -> None:
        self._runner: Runs = engine.runner
        self._signal = _Counting(layers=engine.layers)
        engine.runner, engine.scheduler.signal = self, self._signal
        self.cue = Cue()
        self.reached = False  # the pass was stopped at the cue

    def run(self, batch: Batch) -> list[RowOutput] | None:
        here = self.cue.of(batch)
        self._signal.until = self._signal.layers + self.cue.layers if here else -1
        outputs = self._runner.run(batch)
        self.reached = here and outputs is None
        return outputs


def play(engine: Engine, scenes: Iterator[Scene], trace: Trace) -> None:
    """Do what the scenes say, and step until all has ended. A cue that cannot come any more, on another model, is taken as come."""
    stage, left = _Stage(engine), list(scenes)
    for step in itertools.count():
        while left and (stage.reached or left[0].cue.met(step, trace) or not engine.scheduler.has_work):
            for act in left.pop(0).acts:
                act(engine)
            stage.reached, stage.cue = False, left[0].cue if left else Cue()
            engine.heard()
        if not left and not engine.scheduler.has_work and not engine.scheduler.on_hold:
            return
        engine.step()
        engine.settle(_DISK)


def place(handle: int, priority: Priority, request: Request) -> Act:
    """Submit a request."""
    return lambda engine: engine.submit(handle, request, priority)


class _Sequences:
    """Random bases for a model, the same in every run."""

    def __init__(self, engine: Engine, most: int) -> None:
        self._generator = random.Random(7)  # noqa: S311 — sequences to look at, not secrets
        self._before, self.bases = engine.tokenizer.before, engine.tokenizer.encode("ACGT").ids
        self._most = min(engine.context, most)

    def tokens(self, length: int) -> tuple[int, ...]:
        return (*self._before, *self._generator.choices(self.bases, k=min(length, self._most) - 1))

    def score(self, length: int) -> Score:
        return Score(self.tokens(length))

    def drawn(self, length: int, limit: int) -> Generate:
        return Generate(self.tokens(length), limit, Sampling(temperature=1.0, seed=length))

    def other(self, base: int) -> int:
        return next(other for other in self.bases if other != base)


def _mixed(engine: Engine) -> Iterator[Scene]:
    """Scores and generations, short and long, a window with its alternates, and an urgent request that comes later."""
    made = _Sequences(engine, 512)
    routine, number = Priority.ROUTINE, itertools.count(1)
    window = made.tokens(300)
    first: list[tuple[Priority, Request]] = [(routine, made.score(480))]
    first += [(routine, made.drawn(length, limit)) for length, limit in ((12, 40), (90, 16), (200, 24))]
    first += [(routine, made.score(length)) for length in (60, 350, 150, 30)]
    for at in (120, 150, 180):
        branch = Branch(at, (made.other(window[at]), *window[at + 1 :]))
        first.append((Priority.URGENT, Score(window, REFERENCE, branch)))
    later: list[tuple[int, Priority, Request]] = [
        (3, Priority.STAT, made.drawn(100, 12)),
        (10, routine, made.drawn(40, 20)),
        (14, routine, made.score(250)),
    ]
    yield Scene(Cue(), [place(next(number), *one) for one in first])
    for step, priority, request in later:
        yield Scene(Cue(step), [place(next(number), priority, request)])


def _stat(engine: Engine) -> Iterator[Scene]:
    """STAT in the middle of a chunk, at the limit of freezes, with more blocks than are free, and more of it than slots."""
    limits, config = engine.scheduler.limits, engine.scheduler.config
    made = _Sequences(engine, 1 << 20 if limits.window else int(_PART * config.blocks * config.block_size))
    stat, routine = Priority.STAT, Priority.ROUTINE
    yield Scene(
        Cue(),
        [
            place(1, routine, made.score(1400)),
            place(2, routine, made.drawn(160, 24)),
            place(3, routine, made.drawn(100, 60)),
            place(4, Priority.URGENT, made.drawn(60, 14)),
            place(5, routine, made.score(300)),
            place(6, routine, made.score(120)),
            place(7, routine, Score(made.tokens(1))),  # refused: a score has two tokens at least
        ],
    )
    yield Scene(Cue(handle=1, at=300, layers=2), [place(8, stat, made.score(200))])
    yield Scene(Cue(handle=1, at=300, layers=1, resumed=True), [place(9, stat, made.drawn(24, 6))])
    yield Scene(Cue(what=What.FINISHED, handle=9), [lambda engine: engine.hold(4)])
    yield Scene(Cue(handle=1, at=600, layers=3), [place(10, stat, made.score(900))])
    burst = [place(handle, stat, made.drawn(350, 10)) for handle in range(11, 16)]
    yield Scene(Cue(what=What.FINISHED, handle=10), burst)
    yield Scene(Cue(what=What.FINISHED, handle=11), [lambda engine: engine.cancel(3), lambda engine: engine.reclass(6, stat)])
    yield Scene(Cue(what=What.FINISHED, handle=15), [_lose_files, lambda engine: engine.release(4)])


SCENARIOS = {
    "mixed": Scenario({"slots": 5, "token_budget": 256, "chunk": 128, "blocks": 64}, _mixed),  # so that waiting can be seen
    "stat": Scenario(
        {
            "slots": 4, "token_budget": 512, "chunk": 256, "blocks": 48, "block_size": 32, "swap_blocks": 16, "freezes": 1,
            "frozen_seconds": 60.0, "swap_bandwidth": 1e12, "recompute_rate": 1.0,
        },
        _stat, files=True,
    ),
}  # fmt: skip


def _lose_files(engine: Engine) -> None:
    """What a disk may do: the files that lie there now are gone."""
    for path in Path(engine.scheduler.config.swap_folder).rglob("*.swap"):
        path.unlink()


def warm(engine: Engine) -> None:
    """The first steps of a process load libraries and find memory: they are not what a trace is looked at for."""
    engine.submit(0, Generate(engine.tokenizer.encode("A" * 64).ids, 8), Priority.ROUTINE)
    while engine.scheduler.has_work:
        engine.step()


def chosen(name: str) -> Scenario:
    """One of `SCENARIOS`, whose mapping of settings is the caller's own."""
    found = SCENARIOS[name]
    return dataclasses.replace(found, settings=dict(found.settings))
