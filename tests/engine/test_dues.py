"""Due times of STAT: who waits goes in their order, at a trunk as well, and lower work pauses for who would end too late."""

from __future__ import annotations

import math
import random

import pytest

from engine.errors import InvalidRequest
from engine.request import REFERENCE, Branch, Generate, Priority, Score
from tests.engine.test_policy import CONFIG, Run, blocks, score, stays

pytestmark = pytest.mark.undisturbed("counts steps")

WINDOW = tuple(range(11)) * 5


def full(dues: list[float], **settings: object) -> tuple[Run, list[int]]:
    """One STAT request that holds the only slot, and as many that wait as there are due times."""
    run = Run(slots=1, **settings)
    run.add(stays(1, 6), Priority.STAT)
    run.step()
    return run, [run.add(blocks(1), Priority.STAT, due) for due in dues]


def order(run: Run, handles: list[int]) -> list[int]:
    """In which they started."""
    run.finish()
    return sorted(handles, key=lambda handle: run.first[handle])


def test_who_is_due_first_starts_first_and_who_came_first_of_those_due_at_once() -> None:
    run, waiting = full([math.inf, 50.0, 40.0, 50.0, 30.0, math.inf])
    assert [waiting.index(handle) for handle in order(run, waiting)] == [4, 2, 1, 3, 0, 5]


@pytest.mark.parametrize("seed", range(5))
def test_whoever_comes_and_goes_the_next_is_always_the_one_due_first(seed: int) -> None:
    chance, (run, _) = random.Random(seed), full([])
    due = {run.add(stays(1, 2), Priority.STAT, (at := chance.choice((20.0, 30.0, 40.0, math.inf)))): at for _ in range(8)}
    for _ in range(60):
        waiting = [handle for handle in due if handle not in run.first and handle in run.policy._by_handle]
        run.step()
        started = [handle for handle in waiting if handle in run.first]
        assert all(due[one] == min(due[other] for other in waiting) for one in started)
        if len(due) < 40 and chance.random() < 0.5:
            at = run.now + chance.choice((5.0, 50.0))
            due[run.add(stays(1, 2), Priority.STAT, at)] = at
        if waiting and chance.random() < 0.2:
            run.policy.cancel(chance.choice(waiting))
    assert len(run.first) > 20


def test_below_stat_due_times_order_nothing() -> None:
    run = Run(slots=1)
    run.add(stays(1, 4))
    run.step()
    waiting = [run.add(blocks(1), Priority.URGENT, due) for due in (90.0, 10.0)]
    assert order(run, waiting) == waiting


def test_with_another_due_time_it_takes_another_place() -> None:
    run, (first, second, third) = full([30.0, 40.0, 50.0])
    assert run.policy.reclass(third, Priority.STAT, 20.0)
    assert run.policy.reclass(first, Priority.STAT, 45.0)
    assert order(run, [first, second, third]) == [third, second, first]


def test_promoted_it_goes_among_stat_by_its_due_time() -> None:
    run, (first, second) = full([30.0, 50.0])
    promoted = run.add(blocks(1))
    assert run.policy.reclass(promoted, Priority.STAT, 40.0)
    assert order(run, [first, second, promoted]) == [first, promoted, second]


def test_released_it_is_the_first_of_those_due_as_early() -> None:
    run = Run(slots=1)
    held = run.add(stays(3, 20), Priority.STAT, 60.0)
    run.step(3)
    assert run.policy.hold(held)
    earlier, same = run.add(stays(1, 3), Priority.STAT, 50.0), run.add(stays(1, 3), Priority.STAT, 60.0)
    assert run.policy.release(held)
    run.finish()
    assert list(run.outcomes) == [earlier, held, same]


def test_a_trunk_is_due_when_the_first_of_stat_is_that_waits_at_it() -> None:
    run, (other,) = full([40.0])
    late = run.add(Score(WINDOW, REFERENCE, Branch(40, (3, *WINDOW[41:]))), Priority.STAT, 50.0)
    run.add(Score(WINDOW, REFERENCE, Branch(30, (3, *WINDOW[31:]))), due=10.0)  # routine: its time is nobody's
    (trunk,) = run.policy.trunks
    assert trunk.due == 50.0
    early = run.add(Score(WINDOW, REFERENCE, Branch(20, (3, *WINDOW[21:]))), Priority.STAT, 30.0)
    assert (trunk.due, run.policy._waiting.first()) == (30.0, trunk)
    assert run.policy.reclass(early, Priority.STAT, 60.0)
    assert (trunk.due, run.policy._waiting.first().handle) == (50.0, other)
    assert run.policy.cancel(late)
    assert trunk.due == 60.0
    assert run.finish()[early].state == "finished"


# Lower work pauses.


def crowded(due: float) -> tuple[Run, int]:
    """Two slots and STAT in one of them for twenty steps, routine work in the other; a STAT request of twenty steps waits."""
    run = Run(slots=2, blocks=60, token_budget=16, freezes=0)
    run.add(stays(3, 20), Priority.STAT)
    run.add(stays(3, 20), Priority.STAT)
    run.step(2)
    return run, run.add(stays(3, 20), Priority.STAT, run.now + due)


@pytest.mark.parametrize(("due", "pressed"), [(20.0, True), (45.0, False), (math.inf, False)])
def test_who_waits_for_others_of_stat_is_looked_at_with_the_time_until_they_have_ended(due: float, pressed: bool) -> None:
    """A step lasts a second, the first of those who run ends after eighteen more, and twenty are its own."""
    run, _ = crowded(due)
    run.step()
    assert run.policy._slots.pressed is pressed
    assert run.policy.dues.pressed == int(pressed)


def test_a_due_time_that_has_passed_leaves_it_first_and_lower_work_paused_until_it_has_ended() -> None:
    run = Run(slots=3, blocks=60, lower_share=0.0)
    lower = run.add(stays(8, 60))
    run.step(2)
    late = run.add(Generate((1,), 30), Priority.STAT, run.now + 2.0)
    run.step(4)
    before = run.policy.progress(lower)
    run.step(10)
    assert (run.now > 14.0, run.policy.progress(lower), run.policy._slots.pressed) == (True, before, True)
    run.finish()
    assert (run.outcomes[late].state, next(iter(run.outcomes))) == ("finished", late)


def test_who_ended_too_late_is_counted_and_who_did_not_is_not() -> None:
    run = Run()
    run.policy.dues._clock = lambda: run.now
    for due in (3.0, 200.0, math.inf):
        run.add(stays(2, 10), Priority.STAT, due)
    run.add(stays(2, 10), due=3.0)
    cancelled = run.add(stays(2, 10), Priority.STAT, 3.0)
    run.step(5)
    run.policy.cancel(cancelled)
    run.finish()
    assert run.policy.dues.late == 1


@pytest.mark.parametrize("due", [math.nan, "tomorrow", None])
def test_what_is_no_time_is_refused_alone(due: object) -> None:
    run = Run()
    handle = run.add(score(9), Priority.STAT, due)
    run.step()
    assert isinstance(run.outcomes[handle].error, InvalidRequest)
    assert "due time" in str(run.outcomes[handle].error)


def test_what_is_no_time_changes_no_due_time() -> None:
    run = Run()
    handle = run.add(score(9), Priority.STAT, 30.0)
    assert run.policy.reclass(handle, Priority.STAT, math.nan)
    assert [one.due for one in run.policy._waiting.of_stat()] == [30.0]
    assert run.policy.config == CONFIG
