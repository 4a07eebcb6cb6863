"""The engine's thread: every request ends exactly once, and the thread never dies unseen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from engine.batch import Batch, RowOutput
from engine.config import EngineConfig
from engine.engine import Engine
from engine.errors import EngineFailed, EngineStopped, RequestTooLarge
from engine.fingerprint import Deployment
from engine.loop import EngineLoop
from engine.request import Generate, Outcome, Priority, Score
from engine.tokenizer import CharacterTokenizer
from tests.engine.driving import echo, scheduler

CONFIG = EngineConfig(slots=2, token_budget=64, chunk=32, blocks=8, block_size=16)
DEPLOYMENT = Deployment("echo", "stub", "none", "fp32", "none", 1, "0", "0", "0", "0")
LONG = Generate((1, 2, 3), limit=120)
WAIT = 20.0


class Waiting:
    """Collects outcomes and waits for a number of them."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self._changed = threading.Condition()

    def __call__(self, outcome: Outcome) -> None:
        with self._changed:
            self.outcomes.append(outcome)
            self._changed.notify_all()

    def all(self, count: int) -> list[Outcome]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.outcomes) >= count, WAIT)
            return self.outcomes


class Gate:
    """A model that computes a step only when told to."""

    def __init__(self) -> None:
        self.entered, self.open = threading.Semaphore(0), threading.Semaphore(0)

    def run(self, batch: Batch) -> list[RowOutput]:
        if batch.rows:
            self.entered.release()
            assert self.open.acquire(timeout=WAIT)
        return echo(batch)


class Plain:
    def __init__(self, run: Callable[[Batch], list[RowOutput]] = echo) -> None:
        self.run = run


def loop_for(runner: Gate | Plain) -> EngineLoop:
    tokenizer = CharacterTokenizer({"bos": 1, "A": 3})
    engine = Engine(scheduler(CONFIG), runner, DEPLOYMENT, tokenizer, batch_invariant=True)
    loop = EngineLoop(engine)
    loop.start()
    return loop


@pytest.fixture
def loop() -> Iterator[EngineLoop]:
    found = loop_for(Plain())
    yield found
    assert found.stop(drain=False, timeout=WAIT)


@pytest.fixture
def gate() -> Iterator[tuple[Gate, EngineLoop]]:
    """A loop whose first step has begun and waits."""
    found = Gate()
    loop = loop_for(found)
    yield found, loop
    found.open.release(1000)
    assert loop.stop(drain=False, timeout=WAIT)


def test_requests_from_several_threads_end_once_each(loop: EngineLoop) -> None:
    ended = Waiting()

    def place() -> None:
        for length in range(2, 22):
            loop.submit(Score((1,) * length), priority=Priority.ROUTINE, on_outcome=ended)

    threads = [threading.Thread(target=place) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    outcomes = ended.all(80)
    assert sorted(outcome.handle for outcome in outcomes) == list(range(1, 81))
    assert {outcome.state for outcome in outcomes} == {"finished"}


def test_a_refusal_arrives_as_an_outcome(loop: EngineLoop) -> None:
    ended = Waiting()
    loop.submit(Score((1,) * 400), priority=Priority.STAT, on_outcome=ended)
    (outcome,) = ended.all(1)
    assert isinstance(outcome.error, RequestTooLarge)
    assert (outcome.state, outcome.started_at) == ("failed", None)


def test_a_callback_that_raises_stops_nobody(loop: EngineLoop, caplog: pytest.LogCaptureFixture) -> None:
    ended = Waiting()
    loop.submit(Score((1, 2)), priority=Priority.STAT, on_outcome=lambda outcome: outcome.nothing)
    loop.submit(Score((1, 2)), priority=Priority.STAT, on_outcome=ended)
    assert ended.all(1)[0].state == "finished"
    assert loop.healthy
    assert "callback of request 1 raised" in caplog.text


def test_a_slow_callback_holds_up_no_step(loop: EngineLoop) -> None:
    release, ended = threading.Event(), Waiting()
    loop.submit(Score((1, 2)), priority=Priority.STAT, on_outcome=lambda _: void(release.wait(WAIT)))
    loop.submit(LONG, priority=Priority.STAT, on_outcome=ended)
    while loop.stats()["finished"] < 2:
        threading.Event().wait(0.005)
    assert ended.outcomes == []
    release.set()
    assert ended.all(1)[0].state == "finished"


def void(_: object) -> None:
    return None


def test_cancelling_ends_waiting_and_running_requests(gate: tuple[Gate, EngineLoop]) -> None:
    model, loop = gate
    ended = Waiting()
    handles = [loop.submit(LONG, priority=Priority.ROUTINE, on_outcome=ended) for _ in range(3)]
    assert model.entered.acquire(timeout=WAIT)
    assert all(loop.cancel(handle) for handle in handles)
    model.open.release(3)
    assert {outcome.state for outcome in ended.all(3)} == {"cancelled"}
    assert not loop.cancel(handles[0])


def test_stopping_with_drain_finishes_the_work() -> None:
    loop, ended = loop_for(Plain()), Waiting()
    for _ in range(5):
        loop.submit(LONG, priority=Priority.ROUTINE, on_outcome=ended)
    assert loop.stop(drain=True, timeout=WAIT)
    assert [outcome.state for outcome in ended.outcomes] == ["finished"] * 5
    assert not loop.healthy


def test_stopping_without_drain_cancels_the_work(gate: tuple[Gate, EngineLoop]) -> None:
    model, loop = gate
    ended = Waiting()
    for _ in range(3):
        loop.submit(LONG, priority=Priority.ROUTINE, on_outcome=ended)
    assert model.entered.acquire(timeout=WAIT)
    assert not loop.stop(drain=False, timeout=0.01)
    model.open.release()
    assert loop.stop(drain=False, timeout=WAIT)
    assert [outcome.state for outcome in ended.outcomes] == ["cancelled"] * 3


def test_a_stopped_loop_refuses_and_says_so(loop: EngineLoop) -> None:
    assert loop.stop(drain=True, timeout=WAIT)
    ended = Waiting()
    loop.submit(LONG, priority=Priority.STAT, on_outcome=ended)
    assert isinstance(ended.all(1)[0].error, EngineStopped)


def test_a_loop_that_was_never_started_still_answers() -> None:
    engine = Engine(scheduler(CONFIG), Plain(), DEPLOYMENT, CharacterTokenizer({"bos": 1}), batch_invariant=True)
    loop, ended = EngineLoop(engine), Waiting()
    loop.submit(LONG, priority=Priority.STAT, on_outcome=ended)
    assert loop.stop(drain=False, timeout=WAIT)
    assert isinstance(ended.all(1)[0].error, EngineStopped)


def test_an_engine_that_fails_fails_every_request_and_is_not_healthy(caplog: pytest.LogCaptureFixture) -> None:
    def broken(batch: Batch) -> list[RowOutput]:
        raise MemoryError("no memory")

    loop, ended = loop_for(Plain(broken)), Waiting()
    loop.submit(LONG, priority=Priority.ROUTINE, on_outcome=ended)
    assert isinstance(ended.all(1)[0].error, EngineFailed)
    loop.submit(LONG, priority=Priority.ROUTINE, on_outcome=ended)
    assert isinstance(ended.all(2)[1].error, EngineFailed)
    assert not loop.healthy
    assert "the engine loop failed" in caplog.text
    assert loop.stop(drain=True, timeout=WAIT)


def test_an_idle_loop_takes_no_steps(gate: tuple[Gate, EngineLoop]) -> None:
    _, loop = gate
    before = loop.stats()
    threading.Event().wait(0.05)
    assert (before["steps"], loop.stats()["steps"]) == (0, 0)


def test_stats_say_what_runs_and_what_waits(gate: tuple[Gate, EngineLoop]) -> None:
    model, loop = gate
    for _ in range(3):
        loop.submit(Generate((1, 2, 3), limit=50), priority=Priority.ROUTINE, on_outcome=Waiting())
    for _ in range(5):
        assert model.entered.acquire(timeout=WAIT)
        model.open.release()
    assert model.entered.acquire(timeout=WAIT)
    stats = loop.stats()
    assert (stats["running"], stats["waiting"], stats["queued"]) == (2, 1, 3)
    assert (stats["blocks_used"], stats["blocks_total"], stats["healthy"]) == (8, 8, 1)
    assert stats["tokens"] >= 6
    assert stats["tokens_per_second"] > 0
