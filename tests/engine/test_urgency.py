"""A waiting STAT request does not wait for others, and nobody pays more for it than he must.

Each test is a fault that users of other engines reported.
"""

from __future__ import annotations

import dataclasses
import itertools
import random

import pytest

from engine.config import EngineConfig
from engine.request import Embed, Generate, Priority, Request, Score
from engine.scheduler import Scheduler
from tests.engine.driving import Arrival, drive, echo, finish, scheduler, step

CONFIG = EngineConfig(slots=3, token_budget=64, chunk=16, grid=4, blocks=24, block_size=8)


def score(length: int) -> Score:
    return Score(tuple(index % 11 for index in range(length)))


def started(*requests: Request, config: EngineConfig = CONFIG, steps: int = 2) -> Scheduler:
    """Routine requests that have run for some steps."""
    policy = scheduler(config)
    for handle, request in enumerate(requests):
        policy.add(handle, request, Priority.ROUTINE, 0.0)
    for _ in range(steps):
        step(policy)
    return policy


def test_an_urgent_request_does_not_wait_for_a_slot() -> None:
    policy = started(score(60), score(60), score(60))
    policy.add(9, score(10), Priority.STAT, 0.0)
    assert 9 in step(policy)
    assert policy.evictions == 1


def test_an_urgent_request_does_not_wait_for_blocks() -> None:
    policy = started(score(100), config=dataclasses.replace(CONFIG, blocks=14))
    policy.add(9, score(60), Priority.STAT, 0.0)
    assert [row.handle for row in policy.schedule(0.0).rows] == [9]


def test_no_more_are_sent_away_than_needed() -> None:
    policy = started(score(40), score(60), score(50), config=dataclasses.replace(CONFIG, blocks=20))
    policy.add(9, score(12), Priority.STAT, 0.0)
    finish(policy)
    assert policy.evictions == 1


def test_who_turns_out_needless_stays() -> None:
    """The cheapest would go first, and is not enough; with the next, it would not have been needed."""
    policy = started(score(30), score(100), steps=1)
    policy.add(9, score(97), Priority.STAT, 0.0)
    assert [row.handle for row in policy.schedule(0.0).rows] == [9, 0]
    assert policy.evictions == 1


def test_the_lowest_class_goes_first_and_in_it_who_has_computed_least() -> None:
    policy = started(score(90), config=dataclasses.replace(CONFIG, blocks=40), steps=3)
    policy.add(1, score(60), Priority.URGENT, 0.0)
    step(policy)
    policy.add(2, score(90), Priority.ROUTINE, 0.0)
    step(policy)
    policy.add(9, score(10), Priority.STAT, 0.0)
    assert [row.handle for row in policy.schedule(0.0).rows] == [9, 1]  # what is computed beside it is not its pace
    assert policy.evictions == 1
    assert policy.progress(2) == (0, 89)


@pytest.mark.parametrize(("length", "beside"), [(49, 12), (9, 4)])
def test_stat_sets_the_pace_of_its_steps_and_others_go_on_beside_it(length: int, beside: int) -> None:
    """A quarter of its tokens, and one cell of the grid at least."""
    policy = started(score(200), score(200), config=dataclasses.replace(CONFIG, token_budget=200, chunk=64, blocks=80))
    policy.add(9, score(length), Priority.STAT, 0.0)
    urgent, other = policy.schedule(0.0).rows
    assert (urgent.handle, len(urgent.tokens), len(other.tokens)) == (9, length - 1, beside)


def test_beside_a_steady_stat_every_lower_sequence_has_its_turn() -> None:
    """One cell of the grid a step is left for seven that draw a token each, and a prompt does not keep it for itself."""
    lower = [*(Generate((1, 2), limit=60) for _ in range(7)), score(64)]
    policy = started(*lower, config=dataclasses.replace(CONFIG, slots=9, blocks=90))
    before = [policy.progress(handle)[0] for handle in range(8)]
    policy.add(9, Generate((1,), limit=40), Priority.STAT, 0.0)
    for _ in range(10):
        step(policy)
    assert policy.progress(9) == (10, 40)
    assert all(now > 3 + earlier for earlier, now in zip(before, (policy.progress(h)[0] for h in range(8)), strict=True))


def test_nobody_goes_when_all_together_would_not_be_enough() -> None:
    policy = scheduler(dataclasses.replace(CONFIG, blocks=14))
    policy.add(0, score(60), Priority.STAT, 0.0)
    policy.add(1, score(40), Priority.ROUTINE, 0.0)
    step(policy)
    policy.add(9, score(100), Priority.STAT, 0.0)
    step(policy)
    assert policy.evictions == 0
    assert all(outcome.state == "finished" for outcome in finish(policy).values())


def test_equals_do_not_send_each_other_away_and_back() -> None:
    policy = scheduler(dataclasses.replace(CONFIG, slots=1))
    for handle in range(4):
        policy.add(handle, score(60), Priority.STAT, 0.0)
    outcomes = finish(policy)
    assert (policy.evictions, list(outcomes), policy.tokens) == (0, [0, 1, 2, 3], 4 * 59)


def test_who_comes_back_has_room_for_all_it_needs_and_is_not_sent_away_at_once_again() -> None:
    """Were only its next chunk promised to it, it would return while the urgent one still runs, and be sent away at every step."""
    policy = started(score(100), config=dataclasses.replace(CONFIG, blocks=14), steps=4)
    policy.add(9, Generate((1,) * 20, limit=30), Priority.STAT, 0.0)
    outcomes = finish(policy)
    assert (policy.evictions, outcomes[0].preempted, list(outcomes)) == (1, 1, [9, 0])


def test_what_gave_way_loses_no_output_and_goes_on_from_its_own_blocks() -> None:
    policy = started(Generate((1, 2, 3), limit=40), Generate((4, 5), limit=40), Generate((6,), limit=40), steps=20)
    policy.add(9, score(10), Priority.STAT, 0.0)
    step(policy)
    before = policy.tokens
    outcomes = finish(policy)
    alone = [drive(CONFIG, echo, [Arrival(0, Generate(prompt, limit=40))])[0] for prompt in ((1, 2, 3), (4, 5), (6,))]
    assert [outcomes[handle].result for handle in range(3)] == [outcome.result for outcome in alone]
    (given_way,) = [outcome for outcome in outcomes.values() if outcome.preempted]
    assert given_way.reused == 16
    assert policy.tokens - before < 3 * 40 - 3 * 19 + 16


def test_sums_and_alternatives_begin_anew_and_are_right() -> None:
    tokens = tuple(random.Random(1).choices(range(11), k=60))
    for request in (Embed(tokens), Score(tokens, alternatives=(1, 2), alternatives_from=5)):
        policy = started(request, score(60), score(60))
        for handle in (7, 8, 9):
            policy.add(handle, score(100), Priority.STAT, 0.0)
        outcome = finish(policy)[0]
        assert outcome.preempted == 1
        assert outcome.result == drive(CONFIG, echo, [Arrival(0, request)])[0].result


def test_throughput_does_not_collapse_after_giving_way() -> None:
    """Forty urgent ones while three routine ones run: each sends away at most one, and little is computed twice."""
    policy = started(score(400), score(400), score(400), config=dataclasses.replace(CONFIG, blocks=170, resume_margin=0), steps=8)
    for handle in range(10, 50):
        policy.add(handle, score(9), Priority.STAT, 0.0)
        step(policy)
        step(policy)  # whoever was sent away comes back meanwhile
    finish(policy)
    assert 5 < policy.evictions <= 40
    assert policy.tokens - 3 * 399 - 40 * 8 <= policy.evictions * CONFIG.block_size


def test_the_low_class_progresses_under_a_steady_urgent_load() -> None:
    """One of STAT computes in every step, and takes the whole of its budget."""
    policy, outcomes = started(score(90), score(90), config=dataclasses.replace(CONFIG, token_budget=16)), {}
    for handle in itertools.count(10):
        policy.add(handle, score(13), Priority.STAT, 0.0)
        outcomes |= step(policy)
        assert policy._slots.has_stat or handle in outcomes
        if {0, 1} <= outcomes.keys():
            break
        assert handle < 200


@pytest.mark.parametrize("state", ["queued", "running", "in a step", "given way", "waiting at a trunk", "branch"])
def test_cancelling_leaks_no_block_in_any_state(state: str) -> None:
    from engine.request import REFERENCE, Branch

    policy = started(score(60), score(60), score(60), config=dataclasses.replace(CONFIG, blocks=40))
    window = tuple(range(11)) * 4
    policy.add(3, score(20), Priority.ROUTINE, 0.0)
    if state == "given way":
        policy.add(9, score(100), Priority.STAT, 0.0)
        step(policy)
    if state in ("waiting at a trunk", "branch"):
        policy.add(5, Score(window, REFERENCE, Branch(30, window[:10])), Priority.STAT, 0.0)
        for _ in range(1 if state.startswith("waiting") else 3):
            step(policy)
    handle = {"queued": 3, "waiting at a trunk": 5, "branch": 5}.get(state, 0)
    if state == "given way":
        handle = next(h for h in (0, 1, 2) if policy.progress(h) == (0, 59))
    if state == "in a step":
        batch = policy.schedule(0.0)
        assert policy.cancel(handle)
        policy.postprocess(batch, echo(batch))
    else:
        assert policy.cancel(handle)
    policy.pool.check(policy.tables())
    outcomes = finish(policy)
    assert handle not in outcomes or outcomes[handle].state == "cancelled"
    assert (policy.pool.available, policy.ledger.promised) == (40, 0)
