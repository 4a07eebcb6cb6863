"""What is there for good is not looked at again by the garbage collector, and what nobody holds is given back."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from engine_queue.pauses import Pauses


class Thing:
    """Something that is in a cycle with itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def pauses() -> Iterator[Pauses]:
    before = list(gc.callbacks)
    yield Pauses()
    gc.callbacks[:] = before
    gc.unfreeze()


def test_what_is_there_when_a_worker_is_ready_is_set_aside(pauses: Pauses) -> None:
    kept = Thing()
    assert any(one is kept for one in gc.get_objects())
    pauses.watch()
    assert not any(one is kept for one in gc.get_objects())
    assert pauses.stats()["set_aside"] > 10_000


def test_what_nobody_holds_any_more_is_given_back_when_engines_have_changed(pauses: Pauses) -> None:
    engine = Thing()
    gone = weakref.ref(engine)
    pauses.watch()
    del engine
    gc.collect()
    assert gone() is not None  # nobody looks at it, or every pause would be as long as before
    pauses.settle()
    assert gone() is None


def test_a_process_that_is_no_worker_sets_nothing_aside(pauses: Pauses) -> None:
    pauses.settle()
    assert (gc.get_freeze_count(), pauses.stats()) == (0, {"longest_pause": 0.0, "set_aside": 0})


def test_the_longest_pause_is_told_until_engines_change(pauses: Pauses) -> None:
    pauses.watch()
    gc.collect()
    assert pauses.longest > 0.0
    pauses.settle()
    assert pauses.longest == 0.0
