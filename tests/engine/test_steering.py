"""Promote, demote, hold and release, in every state of a request: nothing is lost, and the rights change at the next decision."""

from __future__ import annotations

import dataclasses

import pytest

from engine.config import EngineConfig
from engine.request import REFERENCE, Branch, Generate, Priority, Request, Score
from engine.scheduler import Scheduler
from tests.engine.driving import Arrival, drive, echo, finish, scheduler, step
from tests.engine.test_freezing import Played

pytestmark = pytest.mark.undisturbed("counts steps")

CONFIG = EngineConfig(slots=3, token_budget=64, chunk=16, grid=4, blocks=40, block_size=8)
WINDOW = tuple(range(11)) * 5
STATES = ("queued", "running", "in a step", "given way", "waiting at a trunk", "last at a trunk", "branch", "on hold")


def score(length: int) -> Score:
    return Score(tuple(index % 11 for index in range(length)))


def alternate(at: int) -> Score:
    return Score(WINDOW, REFERENCE, Branch(at, ((WINDOW[at] + 1) % 11, 3, 4)))


def started(*requests: Request, steps: int = 2, **settings: object) -> Scheduler:
    """Routine requests that have run for some steps."""
    policy = scheduler(dataclasses.replace(CONFIG, **settings))
    for handle, request in enumerate(requests):
        policy.add(handle, request, Priority.ROUTINE, 0.0)
    for _ in range(steps):
        step(policy)
    return policy


def in_state(state: str) -> tuple[Scheduler, int, Request]:
    """A scheduler, and the handle of a routine request that is in a state."""
    if state in ("waiting at a trunk", "last at a trunk", "branch"):
        policy, handle, request = started(steps=0, slots=1 if state == "branch" else 3), 5, alternate(30)
        if state != "last at a trunk":
            policy.add(4, Score(WINDOW, REFERENCE), Priority.ROUTINE, 0.0)
        policy.add(handle, request, Priority.ROUTINE, 0.0)
        for _ in range(3 if state == "branch" else 1):
            step(policy)
        return policy, handle, request
    policy = started(score(60), score(60), score(60))
    if state == "queued":
        policy.add(3, score(20), Priority.ROUTINE, 0.0)
        return policy, 3, score(20)
    if state == "given way":
        policy.add(9, Generate((1,), 40), Priority.STAT, 0.0)
        step(policy)
        return policy, next(handle for handle in (0, 1, 2) if not policy.runs(handle)), score(60)
    if state == "on hold":
        assert policy.hold(0)
    return policy, 0, score(60)


def ask(policy: Scheduler, state: str, question: str, handle: int, *given: object) -> None:
    """Between two steps, or in the state "in a step" while one computes."""
    if state != "in a step":
        assert getattr(policy, question)(handle, *given)
        return
    batch = policy.schedule(0.0)
    assert getattr(policy, question)(handle, *given)
    policy.postprocess(batch, echo(batch))


def result(request: Request) -> object:
    return drive(CONFIG, echo, [Arrival(0, request)])[0].result


@pytest.mark.parametrize("state", STATES)
def test_held_in_any_state_it_keeps_its_results_and_nothing_else(state: str) -> None:
    """It holds neither slot nor blocks nor promises, others end meanwhile, and later it ends with the result it would have had."""
    policy, handle, request = in_state(state)
    ask(policy, state, "hold", handle)
    assert (policy.runs(handle), policy.on_hold, policy.whereabouts(handle).state) == (False, 1, "held")
    others = finish(policy)
    assert handle not in others
    assert {outcome.state for outcome in others.values()} <= {"finished"}
    assert (policy.pool.available, policy.ledger.promised, policy.has_work) == (CONFIG.blocks, 0, False)
    assert policy.release(handle)
    assert not policy.release(handle)
    outcome = finish(policy)[handle]
    assert all(interruption.until is not None for interruption in outcome.interruptions)
    assert (outcome.state, outcome.result, policy.evictions) == ("finished", result(request), int(state == "given way"))


@pytest.mark.parametrize("state", STATES)
def test_one_on_hold_can_be_cancelled(state: str) -> None:
    policy, handle, _ = in_state(state)
    ask(policy, state, "hold", handle)
    assert policy.cancel(handle)
    assert finish(policy)[handle].state == "cancelled"
    assert (policy.on_hold, policy.pool.available, policy.ledger.promised) == (0, CONFIG.blocks, 0)
    assert not policy.hold(handle)
    assert not policy.release(handle)
    assert not policy.reclass(handle, Priority.STAT)


@pytest.mark.parametrize("state", STATES)
def test_promoted_in_any_state_it_ends_before_all_lower_work_that_takes_as_long(state: str) -> None:
    policy, handle, request = in_state(state)
    ask(policy, state, "reclass", handle, Priority.STAT)
    policy.release(handle)
    assert policy.described(handle)[0] == Priority.STAT
    outcomes = finish(policy)
    assert next(one for one in outcomes if one != 9) == handle
    assert outcomes[handle].result == result(request)


@pytest.mark.parametrize("state", STATES)
def test_demoted_in_any_state_it_loses_its_rights_at_the_next_decision(state: str) -> None:
    """It is the first to go when STAT comes, and sends nobody away."""
    policy, handle, request = in_state(state)
    ask(policy, state, "reclass", handle, Priority.STAT)
    assert policy.reclass(handle, Priority.ROUTINE)
    policy.release(handle)
    assert policy.described(handle)[0] == Priority.ROUTINE
    before = policy.evictions
    outcomes = finish(policy)
    assert policy.evictions == before
    assert outcomes[handle].result == result(request)


def test_promoted_to_stat_while_it_waits_it_sends_lower_work_away() -> None:
    policy = started(score(60), score(60), score(60), score(30))
    assert policy.reclass(3, Priority.STAT)
    assert policy.schedule(0.0).rows[0].handle == 3
    assert policy.evictions == 1


def test_a_demoted_stat_that_waits_sends_nobody_away() -> None:
    policy = started(score(60), score(60), score(60))
    policy.add(9, score(30), Priority.STAT, 0.0)
    assert policy.reclass(9, Priority.URGENT)
    assert [row.handle for row in policy.schedule(0.0).rows] == [0, 1, 2]
    assert policy.evictions == 0


def test_promoted_inside_a_pass_that_stands_still_its_row_goes_on_with_the_pass() -> None:
    played = Played(score(60), score(40))
    played.stat(9, Generate((1, 2), 3))
    assert played.policy.reclass(1, Priority.STAT)
    assert [[row.handle for row in played.step().rows] for _ in range(4)] == [[9], [9], [9], [0, 1]]
    assert list(played.finish())[:2] == [9, 1]


@pytest.mark.parametrize("abandoned", [False, True])
def test_held_inside_a_pass_that_stands_still_its_row_goes_when_the_pass_has_ended(abandoned: bool) -> None:
    played = Played(score(90), score(60), blocks=20 if abandoned else 24)
    assert played.policy.hold(1)
    assert played.policy.on_hold == 0
    played.stat(9, score(150 if abandoned else 9))
    played.step()
    if not abandoned:
        played.step()
    assert (played.policy.on_hold, played.policy.abandoned_passes) == (1, int(abandoned))
    assert {0, 9} == played.finish().keys()
    assert played.policy.release(1)
    assert played.finish()[1].result == result(score(60))


def test_released_before_the_pass_has_ended_it_never_rested() -> None:
    played = Played(score(60), score(40))
    assert played.policy.hold(1)
    assert played.policy.release(1)
    assert played.step().resumes
    assert (played.policy.on_hold, {0, 1} <= played.finish().keys()) == (0, True)


def test_a_stat_alternate_leaves_the_trunk_of_lower_waiters_where_it_is_sooner_alone() -> None:
    """The trunk is long and goes slowly; promoted, the alternate would wait for the rest of it."""
    window = tuple(place * place % 11 for place in range(400))
    policy = started(Score(window, REFERENCE), steps=0, blocks=120, long=200, long_chunk=4)
    policy.add(1, Score(window, REFERENCE, Branch(150, (3, 4))), Priority.ROUTINE, 0.0)
    step(policy)
    assert policy.reclass(1, Priority.STAT)
    assert {handle: outcome.state for _ in range(12) for handle, outcome in step(policy).items()} == {1: "finished"}
    assert finish(policy)[0].state == "finished"


def test_who_comes_again_to_its_trunk_is_served_once() -> None:
    policy, handle, request = in_state("waiting at a trunk")
    for _ in range(3):
        assert policy.hold(handle)
        assert policy.release(handle)
    assert finish(policy)[handle].result == result(request)


def test_a_static_batch_keeps_its_members() -> None:
    policy = started(score(10), score(30), score(20), score(20), steps=1, mode="static")
    assert not policy.hold(1)
    assert policy.hold(3)
    assert finish(policy).keys() == {0, 1, 2}
