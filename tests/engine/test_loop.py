"""The engine's thread: every request ends exactly once, and the thread never dies unseen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import pytest

from engine.batch import Batch, RowOutput
from engine.config import EngineConfig
from engine.engine import Engine
from engine.errors import EngineFailed, EngineStopped, InvalidRequest, RequestTooLarge
from engine.fingerprint import Deployment
from engine.loop import EngineLoop
from engine.request import REFERENCE, Branch, Generate, NextToken, Outcome, Priority, Score, Sharing
from engine.tokenizers.vocab_json import from_symbols
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


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def loop_for(runner: Gate | Plain, **settings: Any) -> EngineLoop:
    tokenizer = from_symbols({"bos": 1, "A": 3})
    engine = Engine(scheduler(CONFIG), runner, DEPLOYMENT, tokenizer, batch_invariant=True)
    loop = EngineLoop(engine, **settings)
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
    engine = Engine(scheduler(CONFIG), Plain(), DEPLOYMENT, from_symbols({"bos": 1}), batch_invariant=True)
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


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), MemoryError(), RuntimeError("x")])
@pytest.mark.parametrize("where", ["schedule", "run", "postprocess"])
def test_whatever_ends_the_thread_every_open_request_is_told(
    error: BaseException, where: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raising(*_: object) -> None:
        raise error

    loop, ended = loop_for(Plain()), Waiting()
    monkeypatch.setattr(loop.engine.runner if where == "run" else loop.engine.scheduler, where, raising)
    handles = [loop.submit(LONG, priority=Priority.ROUTINE, on_outcome=ended) for _ in range(3)]
    outcomes = ended.all(3)
    assert sorted(outcome.handle for outcome in outcomes) == handles
    assert {type(outcome.error) for outcome in outcomes} == {EngineFailed}
    assert (loop.healthy, loop.ready, loop.stats()["ready"], loop.stats()["failed"]) == (False, False, 0, 3)
    assert type(error).__name__ in loop.complaint
    assert "the engine loop failed" in caplog.text


def test_an_error_without_words_of_its_own_is_reported_all_the_same() -> None:
    class Speechless(Exception):
        def __str__(self) -> str:
            raise ValueError

    def broken(batch: Batch) -> list[RowOutput]:
        raise Speechless

    loop, ended = loop_for(Plain(broken)), Waiting()
    loop.submit(LONG, priority=Priority.ROUTINE, on_outcome=ended)
    assert "Speechless" in str(ended.all(1)[0].error)


def test_a_callback_that_wants_to_exit_stops_nobody(loop: EngineLoop) -> None:
    def leave(_: Outcome) -> None:
        raise SystemExit

    ended = Waiting()
    loop.submit(Score((1, 2)), priority=Priority.STAT, on_outcome=leave)
    loop.submit(Score((1, 2)), priority=Priority.STAT, on_outcome=ended)
    assert ended.all(1)[0].state == "finished"
    assert (loop.healthy, loop.stats()["callbacks_failed"]) == (True, 1)


UNREADABLE: list[Any] = [
    *(None, Score(None), Score(5), Score(("A", "C")), Generate((1,), limit="many")),  # type: ignore[arg-type]
    *(NextToken((1, 2, 3) * 9, sharing=Sharing("laboratory", salt)) for salt in (5, b"a", ["a"], "\ud800")),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("request_", UNREADABLE)
def test_a_request_that_cannot_be_read_is_refused_alone(loop: EngineLoop, request_: Any) -> None:
    refused, ended = Waiting(), Waiting()
    loop.submit(LONG, priority=Priority.ROUTINE, on_outcome=ended)
    loop.submit(request_, priority=Priority.STAT, on_outcome=refused)
    assert isinstance(refused.all(1)[0].error, InvalidRequest)
    assert ended.all(1)[0].state == "finished"
    assert loop.healthy


def test_a_step_that_does_not_end_makes_the_loop_not_ready_until_it_does(caplog: pytest.LogCaptureFixture) -> None:
    model, clock, ended = Gate(), Clock(), Waiting()
    loop = loop_for(model, step_limit=0.04, monotonic=clock)
    loop.submit(Score((1, 2, 3)), priority=Priority.ROUTINE, on_outcome=ended)
    assert model.entered.acquire(timeout=WAIT)
    assert loop.ready
    clock.now += 12.0
    assert (loop.healthy, loop.ready, loop.complaint) == (True, False, "step 1 has run for 12 s")
    while loop.stats()["watchdog_trips"] == 0:
        threading.Event().wait(0.005)
    model.open.release()
    ended.all(1)
    assert loop.ready
    assert loop.stats()["watchdog_trips"] == 1
    assert "step 1 has run for 12 s, more than 0.04 s: run of 1 row, 2 tokens, of request 1" in caplog.text
    assert "step 1 ended after 12.0 s" in caplog.text
    assert loop.stop(drain=True, timeout=WAIT)


def lose_a_block(engine: Engine) -> None:
    engine.scheduler.pool.allocate(1)  # a block that no sequence holds


def promise_too_much(engine: Engine) -> None:
    engine.scheduler.ledger.promised += 8


def keep_a_promise_to_nobody(engine: Engine) -> None:
    engine.scheduler.ledger.promised -= 1


def lose_a_request(engine: Engine) -> None:
    engine.submit(99, Score((1, 2, 3)), Priority.ROUTINE)
    engine.scheduler._waiting.take(engine.scheduler._by_handle[99])


@pytest.mark.parametrize("spoil", [lose_a_block, promise_too_much, keep_a_promise_to_nobody, lose_a_request])
def test_wrong_accounts_of_blocks_stop_the_loop(spoil: Callable[[Engine], None]) -> None:
    model, ended = Gate(), Waiting()
    loop = loop_for(model, check_every=1)
    loop.submit(LONG, priority=Priority.ROUTINE, on_outcome=ended)
    assert model.entered.acquire(timeout=WAIT)
    spoil(loop.engine)
    model.open.release(200)
    assert "BlockAccounting" in str(ended.all(1)[0].error)
    assert not loop.ready


def test_progress_is_known_while_a_request_runs(gate: tuple[Gate, EngineLoop]) -> None:
    model, loop = gate
    ended = Waiting()
    handle = loop.submit(Score((1,) * 101), priority=Priority.ROUTINE, on_outcome=ended)
    seen = []
    for _ in range(4):
        assert model.entered.acquire(timeout=WAIT)
        seen.append(loop.progress(handle))
        model.open.release()
    ended.all(1)
    assert seen == [(0, 100), (32, 100), (64, 100), (96, 100)]
    assert loop.progress(handle) is None


def test_who_asks_hears_of_progress_at_most_as_often_as_he_said() -> None:
    model, clock, ended = Gate(), Clock(), Waiting()
    heard: list[tuple[int, int]] = []
    loop = loop_for(model, monotonic=clock)
    loop.submit(
        Score((1,) * 101), priority=Priority.ROUTINE, on_outcome=ended, progress_every=5.0, on_progress=lambda *p: heard.append(p)
    )
    for _ in range(4):
        assert model.entered.acquire(timeout=WAIT)
        clock.now += 3.0
        model.open.release()
    ended.all(1)
    assert heard == [(64, 100)]
    assert loop.stop(drain=True, timeout=WAIT)


def test_a_listener_that_raises_stops_nobody() -> None:
    def leave(*_: int) -> None:
        raise SystemExit

    loop, ended = loop_for(Plain()), Waiting()
    loop.submit(LONG, priority=Priority.ROUTINE, on_outcome=ended, progress_every=0.0, on_progress=leave)
    assert ended.all(1)[0].state == "finished"
    assert loop.healthy
    assert loop.stop(drain=True, timeout=WAIT)


def test_an_idle_loop_takes_no_steps(gate: tuple[Gate, EngineLoop]) -> None:
    _, loop = gate
    before = loop.stats()
    threading.Event().wait(0.05)
    assert (before["steps"], loop.stats()["steps"]) == (0, 0)


def test_figures_and_progress_may_be_asked_for_while_requests_come_and_go(loop: EngineLoop) -> None:
    window, ended, over = (1, *range(2, 9)) * 6, Waiting(), threading.Event()

    def ask() -> None:
        while not over.is_set():
            loop.stats()
            loop.progress(5)

    with ThreadPoolExecutor(1) as executor:
        asking = executor.submit(ask)
        for place in range(300):
            at = 2 + place % 40
            alternate = Score((place % 7, *window), REFERENCE, Branch(at, (9, *window[at:])))
            loop.submit(alternate, priority=Priority(place % 4), on_outcome=ended)
        ended.all(300)
        over.set()
        asking.result(WAIT)


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
    assert (stats["blocks_used"], stats["blocks_total"], stats["healthy"], stats["ready"]) == (2, 8, 1, 1)
    assert stats["tokens"] >= 6
    assert stats["tokens_per_second"] > 0


def test_what_is_no_longer_trusted_is_forgotten_between_two_steps(loop: EngineLoop) -> None:
    window = Score(tuple(index % 11 for index in range(100)), REFERENCE)
    reused = []
    for span in (None, None, (2e9,), (0.0, 1.0), ()):
        if span is not None:
            loop.forget_cached(*span)
        found: SimpleQueue[Outcome] = SimpleQueue()
        loop.submit(window, priority=Priority.ROUTINE, on_outcome=found.put)
        reused.append(found.get(timeout=60).reused)
    assert reused == [0, 96, 96, 96, 0]
    assert loop.stats()["cache_forgotten"] == 6


def test_an_engine_that_stands_still_while_work_is_open_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadlock must not spin unseen with every light green."""
    engine = Engine(scheduler(CONFIG), Plain(), DEPLOYMENT, from_symbols({"bos": 1}), batch_invariant=True)
    monkeypatch.setattr(engine.scheduler, "_next", lambda: None)
    engine.submit(1, Score((1, 2, 3)), Priority.ROUTINE)
    with pytest.raises(EngineFailed, match="1 requests wait"):
        for _ in range(200):
            engine.step()


def test_a_loop_that_was_stopped_leaves_no_thread_behind() -> None:
    """One that outlives `stop` may be the last to hold the engine, and free its tensors while the interpreter ends: an abort."""
    before = set(threading.enumerate())
    stopped = loop_for(Plain())
    assert stopped.stop(drain=True, timeout=30)
    assert set(threading.enumerate()) <= before


def test_a_callback_may_stop_the_loop_that_calls_it() -> None:
    stopped, answers = loop_for(Plain()), SimpleQueue()
    stopped.submit(
        Score((1, 2, 3)), priority=Priority.ROUTINE, on_outcome=lambda _: answers.put(stopped.stop(drain=True, timeout=30))
    )
    assert answers.get(timeout=60) is True


def test_a_loop_whose_thread_could_not_start_still_answers_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine has no room for one more thread, after two of three."""
    waiting, loop = (
        Waiting(),
        EngineLoop(Engine(scheduler(CONFIG), Plain(), DEPLOYMENT, from_symbols({"bos": 1}), batch_invariant=True)),
    )

    def full() -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(loop._thread, "start", full)
    with pytest.raises(RuntimeError, match="new thread"):
        loop.start()
    loop.submit(Score((1, 2, 3)), priority=Priority.ROUTINE, on_outcome=waiting)
    assert loop.stop(drain=True, timeout=WAIT)
    assert isinstance(waiting.all(1)[0].error, EngineStopped)


def test_any_thread_may_ask_when_requests_will_end_while_the_engine_runs(loop: EngineLoop) -> None:
    ended, seen = Waiting(), set()
    for _ in range(60):
        loop.submit(LONG, priority=Priority.ROUTINE, on_outcome=ended)
    while len(ended.outcomes) < 60:
        seen |= loop.forecasts().keys()
    assert seen <= set(range(1, 61))
    assert loop.forecasts() == {}


def test_a_due_time_reaches_the_scheduler(gate: tuple[Gate, EngineLoop]) -> None:
    model, loop = gate
    handle = loop.submit(LONG, priority=Priority.STAT, on_outcome=Waiting(), due=123.0)
    assert model.entered.acquire(timeout=WAIT)
    assert [one.due for one in loop.engine.scheduler._slots.of_stat() if one.handle == handle] == [123.0]
