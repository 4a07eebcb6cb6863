"""What a STAT request had to wait for, in layers: lower work, others of STAT and its trunk are told apart."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.batch import Row
from engine.loop import EngineLoop
from engine.metrics import StartMeter
from engine.request import REFERENCE, Branch, Priority, Request, Score
from tests.engine.test_freezing_loop import LAYERS, Layers
from tests.engine.test_loop import WAIT, Waiting, loop_for

pytestmark = pytest.mark.undisturbed("counts the layers of a stub")

WINDOW = (1, *range(3, 7)) * 8
STAT, LOWER = [1, 0, 9, Priority.STAT, 0], [2, 0, 9, Priority.ROUTINE, 0]  # rows as `trace.marks` gives them


def alternate(at: int) -> Score:
    return Score(WINDOW, REFERENCE, Branch(at, (5, *WINDOW[at + 1 :])))


class Watched:
    """A loop whose layers end one by one."""

    def __init__(self) -> None:
        self.model, self.ended, self.count = Layers(), Waiting(), 0
        self.loop: EngineLoop = loop_for(self.model)

    def submit(self, request: Request, priority: Priority) -> None:
        """Ask, once a layer runs where one does."""
        self.loop.submit(request, priority=priority, on_outcome=self.ended)
        self.count += 1

    def begun(self) -> None:
        """The next layer has begun."""
        assert self.model.entered.acquire(timeout=WAIT)

    def figures(self) -> tuple[float, ...]:
        """When everybody has ended: layers of lower work, of other STAT, and of a trunk."""
        self.model.open.release(1000)
        self.ended.all(self.count)
        stats = self.loop.stats()
        return tuple(stats[name] for name in ("layers_until_start", "layers_behind_stat", "layers_at_trunk"))


@pytest.fixture
def watched() -> Iterator[Watched]:
    found = Watched()
    yield found
    found.model.open.release(1000)
    assert found.loop.stop(drain=True, timeout=WAIT)


def test_beside_lower_work_it_waits_for_the_layer_that_runs(watched: Watched) -> None:
    watched.submit(Score((1,) * 30), Priority.ROUTINE)
    watched.begun()
    watched.submit(Score((1, 2)), Priority.STAT)
    assert watched.figures() == (1, 0, 0)


def test_who_comes_while_another_of_stat_computes_waits_for_that_and_for_no_lower_work(watched: Watched) -> None:
    watched.submit(Score((1,) * 30), Priority.STAT)
    watched.begun()
    watched.model.open.release(1)
    watched.begun()
    watched.submit(Score((1, 2)), Priority.STAT)
    assert watched.figures() == (0, LAYERS - 1, 0)


def test_lower_work_between_two_of_stat_is_not_hidden_among_theirs() -> None:
    """It came in the third layer of a pass of STAT, and one of lower work went before it all the same."""
    meter = StartMeter()
    meter.begin([Row(1, 0, (), ())], 0, 0, lambda handle: None)
    meter.computed(0, LAYERS, STAT)
    meter.placed(9, 2)
    meter.computed(LAYERS, LAYERS + 3, LOWER)
    meter.begin([Row(9, 0, (), ())], LAYERS + 3, 0, lambda handle: None)
    assert (meter.worst, meter.behind) == (3, LAYERS - 2)


def test_whoever_waits_through_very_many_passes_of_stat_waits_for_stat() -> None:
    meter = StartMeter()
    meter.placed(9, 0)
    for number in range(1000):
        meter.computed(number * LAYERS, (number + 1) * LAYERS, STAT)
    meter.begin([Row(9, 0, (), ())], 1000 * LAYERS, 0, lambda handle: None)
    assert (meter.worst, meter.behind) == (0, 1000 * LAYERS)


def test_at_a_trunk_of_its_own_the_first_layer_of_that_is_its_start(watched: Watched) -> None:
    watched.submit(Score((1,) * 30), Priority.ROUTINE)
    watched.begun()
    watched.submit(alternate(20), Priority.STAT)
    assert watched.figures() == (1, 0, 1 + LAYERS)


def test_who_joins_the_trunk_that_another_of_stat_computes_is_told_apart(watched: Watched) -> None:
    """The trunk takes two steps of 32 tokens at most; the second alternate comes in the second layer of the first."""
    watched.submit(alternate(38), Priority.STAT)
    watched.begun()
    watched.model.open.release(1)
    watched.begun()
    watched.submit(alternate(36), Priority.STAT)
    until, behind, trunk = watched.figures()
    assert (until, behind) == (0, LAYERS - 1)
    assert trunk == 2 * LAYERS


def test_a_capped_start_counts_for_none() -> None:
    meter = StartMeter()
    meter.placed(9, 0)
    meter.begin([Row(9, 0, (), ())], 50, 1, lambda handle: None)
    assert (meter.worst, meter.behind, meter.at_trunk) == (0, 0, 0)
