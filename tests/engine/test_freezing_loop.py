"""Threads beside a pass: a STAT request, or a cancellation, is heard after the layer that runs."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterator

import pytest

from engine.batch import Batch, RowOutput
from engine.lanes import Stay, lanes
from engine.loop import EngineLoop
from engine.perfetto import chrome
from engine.request import Generate, Priority, Score
from engine.trace import Part, Trace
from tests.engine.driving import echo
from tests.engine.test_loop import WAIT, Clock, Waiting, loop_for

LAYERS = 4


class Layers:
    """A model of four layers, each of which ends when it is told to."""

    def __init__(self) -> None:
        self.entered, self.open = threading.Semaphore(0), threading.Semaphore(0)
        self._next = [0, 0]  # layer of a pass that was stopped, and of one beside it

    def run(self, batch: Batch) -> list[RowOutput] | None:
        first = self._next[batch.beside] if batch.resumes else 0
        for layer in range(first, LAYERS if batch.rows else 0):
            if (batch.signal.steered or (batch.stoppable and batch.signal.raised)) and layer > first:
                self._next[batch.beside] = layer
                return None
            self.entered.release()
            assert self.open.acquire(timeout=WAIT)
            batch.signal.layers += 1
        return echo(batch)


@pytest.fixture
def layers() -> Iterator[tuple[Layers, EngineLoop, Waiting]]:
    """A loop whose routine request is in the first layer of its first pass."""
    found, ended = Layers(), Waiting()
    loop = loop_for(found)
    loop.engine.trace = Trace()
    loop.submit(Score((1,) * 30), priority=Priority.ROUTINE, on_outcome=ended)
    assert found.entered.acquire(timeout=WAIT)
    yield found, loop, ended
    found.open.release(1000)
    assert loop.stop(drain=True, timeout=WAIT)


def test_stat_starts_after_the_layer_that_runs_and_ends_first(layers: tuple[Layers, EngineLoop, Waiting]) -> None:
    model, loop, ended = layers
    loop.submit(Generate((1, 2), 2), priority=Priority.STAT, on_outcome=ended)
    model.open.release(1 + 2 * LAYERS + LAYERS - 1)
    assert [outcome.handle for outcome in ended.all(2)] == [2, 1]
    stats = loop.stats()
    assert (stats["layers_until_start"], stats["freezes"], stats["evictions"], stats["abandoned_passes"]) == (1, 1, 0, 0)
    assert (stats["tokens"], stats["tokens_chunk"], stats["tokens_decode"]) == (29 + 3, 29 + 2, 1)
    assert stats["step_seconds_le_inf"] == stats["steps"] == 3


def test_a_trace_shows_the_pass_that_stood_still_and_counts_it_once(layers: tuple[Layers, EngineLoop, Waiting]) -> None:
    model, loop, ended = layers
    loop.submit(Score((1, 2)), priority=Priority.STAT, on_outcome=ended)
    model.open.release(3 * LAYERS)
    ended.all(2)
    assert loop.stop(drain=True, timeout=WAIT)
    trace = loop.engine.trace
    assert [step.part for step in trace.steps if step.numbers] == [Part.STOPPED, Part.BESIDE, Part.RESUMED]
    routine = lanes(trace)[0]
    assert (len(routine.stays(Stay.FROZEN)), len(routine.counted), routine.again) == (1, 1, [])
    assert chrome(trace, "").count("stands still after layer 1") == 1


def test_a_cancelled_row_goes_when_the_pass_has_ended(layers: tuple[Layers, EngineLoop, Waiting]) -> None:
    model, loop, ended = layers
    assert loop.cancel(1)
    model.open.release(2 * LAYERS)
    assert ended.all(1)[0].state == "cancelled"
    assert loop.stats()["freezes"] == 0


def test_promoted_from_another_thread_it_starts_after_the_layer_that_runs(layers: tuple[Layers, EngineLoop, Waiting]) -> None:
    model, loop, ended = layers
    waits = loop.submit(Score((1,) * 30), priority=Priority.ROUTINE, on_outcome=ended)
    assert loop.reclass(waits, Priority.STAT)
    model.open.release(3 * LAYERS)
    assert [outcome.handle for outcome in ended.all(2)] == [waits, 1]
    stats = loop.stats()
    assert (stats["layers_until_start"], stats["freezes"], stats["ended_stat"]) == (1, 1, 1)
    assert not loop.reclass(waits, Priority.ROUTINE)


def test_held_from_another_thread_it_rests_until_it_is_released(layers: tuple[Layers, EngineLoop, Waiting]) -> None:
    model, loop, ended = layers
    rests = loop.submit(Score((1,) * 30), priority=Priority.ROUTINE, on_outcome=ended)
    assert not loop.engine.scheduler.signal.raised
    assert loop.hold(rests)
    assert loop.engine.scheduler.signal.raised
    other = loop.submit(Score((1, 2)), priority=Priority.ROUTINE, on_outcome=ended)
    model.open.release(1000)
    assert {outcome.handle for outcome in ended.all(2)} == {1, other}
    assert (loop.stats()["on_hold"], loop.stats()["waiting"]) == (1, 0)
    assert loop.release(rests)
    assert [outcome.handle for outcome in ended.all(3)][2] == rests
    assert not loop.hold(rests)


def test_what_rests_when_the_loop_ends_is_cancelled_and_told(layers: tuple[Layers, EngineLoop, Waiting]) -> None:
    model, loop, ended = layers
    rests = loop.submit(Score((1,) * 30), priority=Priority.ROUTINE, on_outcome=ended)
    assert loop.hold(rests)
    model.open.release(2 * LAYERS)
    assert loop.stop(drain=True, timeout=WAIT)
    assert {outcome.handle: outcome.state for outcome in ended.outcomes} == {1: "finished", rests: "cancelled"}


def test_a_stat_that_computes_beside_a_pass_is_cancelled_after_the_layer_that_runs(
    layers: tuple[Layers, EngineLoop, Waiting],
) -> None:
    model, loop, ended = layers
    stat = loop.submit(Score((1, 2)), priority=Priority.STAT, on_outcome=ended)
    model.open.release(1)
    assert model.entered.acquire(timeout=WAIT)  # the first layer of STAT
    assert loop.cancel(stat)
    model.open.release(1)
    assert [(outcome.handle, outcome.state) for outcome in ended.all(1)] == [(stat, "cancelled")]
    assert loop.engine.layers <= 2
    model.open.release(LAYERS - 1)
    assert [outcome.state for outcome in ended.all(2)] == ["cancelled", "finished"]
    assert loop.engine.layers == LAYERS + 1
    assert (loop.stats()["freezes"], loop.stats()["abandoned_passes"]) == (1, 1)


def test_a_stat_that_computes_is_held_after_the_layer_that_runs_and_others_in_its_pass_lose_nothing(
    layers: tuple[Layers, EngineLoop, Waiting],
) -> None:
    model, loop, ended = layers
    handles = [loop.submit(Score((1,) * length), priority=Priority.STAT, on_outcome=ended) for length in (40, 12)]
    model.open.release(1)
    assert model.entered.acquire(timeout=WAIT)
    assert loop.hold(handles[0])
    model.open.release(1)
    assert model.entered.acquire(timeout=WAIT)
    assert not loop.engine.scheduler.signal.steered  # it has been heard
    model.open.release(1000)
    assert [outcome.handle for outcome in ended.all(2)] == [handles[1], 1]
    assert loop.engine.layers == 2 * LAYERS
    assert loop.whereabouts(handles[0]).state == "held"
    assert loop.release(handles[0])
    assert ended.all(3)[2].result.logprobs == array("f", [-1.0] * 39)


def test_another_stat_does_not_stop_the_pass_of_one_that_computes(layers: tuple[Layers, EngineLoop, Waiting]) -> None:
    model, loop, ended = layers
    loop.submit(Score((1, 2)), priority=Priority.STAT, on_outcome=ended)
    model.open.release(1)
    assert model.entered.acquire(timeout=WAIT)
    loop.submit(Score((1, 2)), priority=Priority.STAT, on_outcome=ended)
    model.open.release(1000)
    assert [outcome.handle for outcome in ended.all(3)] == [2, 3, 1]
    assert len([step for step in loop.engine.trace.steps if step.part & Part.STOPPED]) == 1


def test_a_routine_request_stops_no_pass(layers: tuple[Layers, EngineLoop, Waiting]) -> None:
    model, loop, ended = layers
    loop.submit(Score((1, 2)), priority=Priority.ASAP, on_outcome=ended)
    assert not loop.engine.scheduler.signal.raised
    model.open.release(2 * LAYERS)
    assert [outcome.handle for outcome in ended.all(2)] == [1, 2]


def test_a_pass_that_stands_still_is_not_taken_for_a_step_that_hangs() -> None:
    """Each part is a step of its own: none takes 30 s, and the pass stands still for 48 s."""
    model, clock, ended = Layers(), Clock(), Waiting()
    loop = loop_for(model, monotonic=clock, step_limit=30.0)
    loop.submit(Score((1,) * 30), priority=Priority.ROUTINE, on_outcome=ended)
    for _ in range(2):
        assert model.entered.acquire(timeout=WAIT)
        loop.submit(Generate((1, 2), 1), priority=Priority.STAT, on_outcome=ended)
        model.open.release(1)
        for _ in range(LAYERS):
            assert model.entered.acquire(timeout=WAIT)
            clock.now += 6.0
            model.open.release(1)
    model.open.release(LAYERS)
    ended.all(3)
    assert loop.stop(drain=True, timeout=WAIT)
    assert (loop.stats()["watchdog_trips"], loop.stats()["freezes"]) == (0, 2)
