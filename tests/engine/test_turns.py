"""Several engines in one process: one step at a time, STAT of any before everything else, and nobody waits for ever."""

from __future__ import annotations

import dataclasses
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from engine.batch import Batch, RowOutput
from engine.errors import EngineFailed
from engine.loading import load
from engine.loop import EngineLoop
from engine.request import Generate, Priority, Score
from engine.turns import PATIENCE, Seat, Turns
from tests.engine.checkpoints import Shape, write_checkpoint
from tests.engine.conftest import CONFIG
from tests.engine.driving import bits
from tests.engine.test_freezing_loop import LAYERS, Layers
from tests.engine.test_loop import WAIT, Plain, Waiting, loop_for

ROUTINE, STAT = Priority.ROUTINE, Priority.STAT


class Told(Layers):
    """Layers that end when they are told to, written down in the order in which they begin, whatever engine they are of."""

    def __init__(self, name: str, log: list[str]) -> None:
        super().__init__()
        self.name, self.log = name, log

    def run(self, batch: Batch) -> list[RowOutput] | None:
        before = batch.signal.layers if batch.signal else 0
        outputs = super().run(batch)
        self.log.extend(self.name * ((batch.signal.layers if batch.signal else 0) - before))
        return outputs


@dataclass
class Pair:
    """Two engines of one process."""

    log: list[str] = field(default_factory=list)  # of layers, as their parts of a pass end
    ended: Waiting = field(default_factory=Waiting)
    turns: Turns = field(default_factory=Turns)

    def __post_init__(self) -> None:
        self.models = [Told(name, self.log) for name in "AB"]
        self.loops = [loop_for(model, turns=self.turns) for model in self.models]

    def go(self, layers: int = 10_000) -> None:
        for model in self.models:
            model.open.release(layers)


def until(condition: Callable[[], object]) -> None:
    for _ in range(int(WAIT / 0.002)):
        if condition():
            return
        threading.Event().wait(0.002)
    raise AssertionError("it did not happen")


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Routine work of A is in the first layer of its first pass."""
    made = Pair()
    made.loops[0].submit(Score((1,) * 30), priority=ROUTINE, on_outcome=made.ended)
    assert made.models[0].entered.acquire(timeout=WAIT)
    yield made
    made.go()
    assert all(loop.stop(drain=True, timeout=WAIT) for loop in made.loops)


def interrupted(loop: EngineLoop) -> bool:
    return loop.engine.scheduler.signal.raised


def test_stat_of_another_engine_starts_after_the_layer_that_runs_and_the_pass_goes_on_from_there(pair: Pair) -> None:
    a, b = pair.loops
    b.submit(Generate((1, 2), 2), priority=STAT, on_outcome=pair.ended)
    until(lambda: interrupted(a))
    pair.go()
    pair.ended.all(2)
    assert "".join(pair.log) == "A" + "B" * 2 * LAYERS + "A" * (LAYERS - 1)
    assert (a.stats()["steps"], a.stats()["tokens"], a.stats()["abandoned_passes"]) == (1, 29, 0)


def test_a_routine_step_of_another_engine_waits_for_the_end_of_the_pass(pair: Pair) -> None:
    a, b = pair.loops
    b.submit(Score((1, 2)), priority=Priority.ASAP, on_outcome=pair.ended)
    until(lambda: b._seat.asks is not None)
    assert not interrupted(a)
    pair.go()
    pair.ended.all(2)
    assert "".join(pair.log) == "A" * LAYERS + "B" * LAYERS


def test_stat_that_comes_to_an_engine_which_waits_for_its_turn_does_not_wait(pair: Pair) -> None:
    a, b = pair.loops
    b.submit(Score((1,) * 30), priority=ROUTINE, on_outcome=pair.ended)
    until(lambda: b._seat.asks is ROUTINE)
    b.submit(Score((1, 2)), priority=STAT, on_outcome=pair.ended)
    until(lambda: interrupted(a))
    pair.go()
    pair.ended.all(3)
    assert "".join(pair.log).startswith("A" + "B" * LAYERS)


def test_an_engine_that_fails_leaves_the_others_their_turns(caplog: pytest.LogCaptureFixture) -> None:
    def broken(batch: Batch) -> list[RowOutput]:
        raise MemoryError("no memory")

    turns, failed, ended = Turns(), Waiting(), Waiting()
    bad, good = loop_for(Plain(broken), turns=turns), loop_for(Plain(), turns=turns)
    bad.submit(Score((1, 2)), priority=ROUTINE, on_outcome=failed)
    assert isinstance(failed.all(1)[0].error, EngineFailed)
    good.submit(Score((1, 2)), priority=ROUTINE, on_outcome=ended)
    assert ended.all(1)[0].state == "finished"
    assert (bad.healthy, good.healthy) == (False, True)
    assert "the engine loop failed" in caplog.text
    assert all(loop.stop(drain=True, timeout=WAIT) for loop in (bad, good))


def test_an_engine_that_hangs_does_not_hang_the_others() -> None:
    pair = Pair(turns=Turns(limit=0.02))
    a, b = pair.loops
    a.submit(Score((1,) * 30), priority=ROUTINE, on_outcome=pair.ended)
    assert pair.models[0].entered.acquire(timeout=WAIT)
    pair.models[1].open.release(LAYERS)
    b.submit(Score((1, 2)), priority=ROUTINE, on_outcome=pair.ended)
    pair.ended.all(1)
    assert (a.stats()["finished"], b.stats()["finished"]) == (0, 1)
    pair.go()
    assert pair.ended.all(2)[1].state == "finished"
    assert all(loop.stop(drain=True, timeout=WAIT) for loop in pair.loops)


def test_stopping_one_engine_waits_for_no_pass_of_another(pair: Pair) -> None:
    a, b = pair.loops
    b.submit(Score((1,) * 30), priority=ROUTINE, on_outcome=pair.ended)
    until(lambda: b._seat.asks is not None)
    stopping = threading.Thread(target=b.stop, kwargs={"drain": False, "timeout": WAIT})
    stopping.start()
    until(lambda: interrupted(a))
    pair.models[0].open.release(1)
    assert [outcome.state for outcome in pair.ended.all(1)] == ["cancelled"]
    stopping.join(WAIT)
    assert not b.healthy
    assert a.stats()["finished"] == 0


class Street:
    """Seats that ask again as soon as they have had their turn; a turn takes what it costs on a clock of their own."""

    def __init__(self) -> None:
        self.now, self.order = 0.0, list[str]()
        self.turns = Turns(limit=1e9, clock=lambda: self.now)

    def run(self, seats: dict[str, tuple[Priority, float]], turns: int) -> str:
        """Who had the turns, in order."""
        made = {name: self.turns.seat(lambda: None) for name in seats}
        first = self.turns.seat(lambda: None)
        self.turns.take(first, STAT)
        threads = [threading.Thread(target=self._ask, args=(name, made, *seats[name], turns)) for name in seats]
        for thread in threads:
            thread.start()
        until(lambda: all(seat.asks is not None for seat in made.values()))
        self.turns.leave(first)
        for thread in threads:
            thread.join(WAIT)
        return "".join(self.order[:turns])

    def _ask(self, name: str, made: dict[str, Seat], priority: Priority, cost: float, turns: int) -> None:
        while len(self.order) < turns:
            with made[name].turn(lambda: priority):
                self.order.append(name)
                self.now += cost
        made[name].leave()


def test_engines_of_one_class_share_the_time_and_not_the_steps() -> None:
    order = Street().run({"A": (ROUTINE, 8.0), "B": (ROUTINE, 1.0), "C": (ROUTINE, 2.0)}, 60)
    spent = [order.count("A") * 8, order.count("B"), order.count("C") * 2]
    assert max(spent) - min(spent) <= 8


def test_one_that_had_nothing_to_do_has_saved_nothing_up() -> None:
    street = Street()
    street.run({"A": (ROUTINE, 1.0)}, 50)
    street.order.clear()
    seats = {"A": (ROUTINE, 1.0), "B": (ROUTINE, 1.0)}
    assert street.run(seats, 10).count("A") == 5


def test_a_higher_class_goes_first_but_nobody_is_passed_over_for_ever() -> None:
    order = Street().run({"A": (Priority.ASAP, 1.0), "B": (ROUTINE, 1.0)}, 3 * PATIENCE)
    assert [len(turns) for turns in order.split("B")][:2] == [PATIENCE, PATIENCE]


def test_nobody_goes_before_stat_however_often_he_was_passed_over() -> None:
    assert Street().run({"A": (STAT, 1.0), "B": (ROUTINE, 1.0)}, 3 * PATIENCE) == "A" * 3 * PATIENCE


def test_two_models_in_one_process_give_the_bits_that_each_gives_alone(tmp_path: Path) -> None:
    config = dataclasses.replace(CONFIG, threads=1, self_test=False, kernels="reference", freezes=10**6, frozen_seconds=1e9)
    folders = [write_checkpoint(tmp_path / name, Shape(seed=seed)) for name, seed in (("a", 1), ("b", 2))]
    draw = random.Random(7)
    asked = [Score(tuple(draw.choices(range(11), k=length))) for length in (300, 40, 25, 260, 90, 33, 120, 10)]

    def answers(turns: Turns | None, *, mixed: bool) -> list[list[object]]:
        loops = [EngineLoop(load(folder, config=config), turns=turns) for folder in folders]
        ended = [[Waiting() for _ in asked] for _ in loops]
        for loop in loops if mixed else ():
            loop.start()
        for number, request in enumerate(asked):
            for loop, waiting in zip(loops, ended, strict=True):
                priority = STAT if mixed and number % 3 else ROUTINE
                loop.submit(request, priority=priority, on_outcome=waiting[number])
        for loop in loops if not mixed else ():
            loop.start()
            assert loop.stop(drain=True, timeout=WAIT)
        found = [[bits(one.all(1)[0]) for one in waiting] for waiting in ended]
        assert all(loop.stop(drain=True, timeout=WAIT) for loop in loops)
        return found

    assert answers(Turns(), mixed=True) == answers(None, mixed=False)
