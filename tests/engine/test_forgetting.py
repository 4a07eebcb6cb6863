"""What nobody may find: what is private, what has no laboratory to belong to, and what is no longer trusted."""

from __future__ import annotations

import pytest

from engine.config import EngineConfig
from engine.errors import InvalidRequest
from engine.request import REFERENCE, Branch, Generate, Outcome, Priority, Request, Score, Sharing
from engine.scheduler import Scheduler
from tests.engine.driving import echo, scheduler

CONFIG = EngineConfig(slots=1, token_budget=32, chunk=8, grid=4, blocks=20, block_size=8)
WINDOW = tuple(place % 11 for place in range(64))


def run(policy: Scheduler, *requests: Request, steps: int = 400, priority: Priority = Priority.ROUTINE) -> list[Outcome]:
    """Add requests, go so many steps or to the end."""
    for request in requests:
        policy.add(len(policy.seen), request, priority, 0.0)
        policy.seen.append(request)
    found = []
    while policy.has_work and steps:
        batch = policy.schedule(0.0)
        found += policy.postprocess(batch, echo(batch))
        policy.pool.check(policy.tables())
        assert policy.ledger.check()
        steps -= 1
    return found


@pytest.fixture
def policy() -> Scheduler:
    made = scheduler(CONFIG)
    made.seen = []
    return made


@pytest.mark.parametrize("sharing", [Sharing("private", "salt"), Sharing("reference", "salt"), Sharing("laboratory")])
def test_a_salt_stands_with_a_laboratory_and_with_nothing_else(policy: Scheduler, sharing: Sharing) -> None:
    """A private request with a salt would be found by the next, and laboratories without one would find each other's patients."""
    (outcome,) = run(policy, Score(WINDOW, sharing))
    assert (type(outcome.error), len(policy.cache)) == (InvalidRequest, 0)


def test_who_runs_while_all_is_forgotten_leaves_nothing_to_be_found(policy: Scheduler) -> None:
    """Its later blocks continue earlier ones that are no longer trusted."""
    run(policy, Score(WINDOW, REFERENCE), steps=3)
    policy.forget()
    run(policy, Score(WINDOW[:26], REFERENCE))  # the same first three blocks, anew
    (outcome,) = run(policy, Score(WINDOW, REFERENCE))
    assert outcome.reused == 24


def test_who_comes_after_all_is_forgotten_takes_no_trunk_from_before(policy: Scheduler) -> None:
    run(policy, Score(WINDOW, REFERENCE), steps=3)
    policy.forget()
    late = Score(WINDOW, REFERENCE, Branch(20, (1,) * 44))
    outcomes = run(policy, late)
    assert [(outcome.handle, outcome.state) for outcome in outcomes] == [(0, "finished"), (1, "finished")]
    assert policy.tokens == 63 + 63


def test_scores_from_before_are_not_found_under_blocks_from_after(policy: Scheduler) -> None:
    """A trunk that had given way keeps its scores for its waiters, and for nobody else."""
    run(policy, Score(WINDOW, REFERENCE), steps=3)
    run(policy, Score((1, 2, 3)), steps=1, priority=Priority.STAT)
    policy.forget()
    run(policy)
    assert len(policy.cache) == 0


@pytest.mark.parametrize("request_", [Score(WINDOW * 2), Generate(WINDOW, 30)])
def test_giving_way_often_leaves_no_more_behind_than_once(policy: Scheduler, request_: Request) -> None:
    run(policy, request_, steps=4)
    for _ in range(10):
        run(policy, Score((1, 2, 3)), steps=2, priority=Priority.STAT)
    assert len(policy.cache) <= CONFIG.blocks
    assert run(policy)[-1].preempted == 10


@pytest.mark.parametrize("wrong", [Generate((1, 2), 2.5), Score(WINDOW, alternatives=(1,), alternatives_from=1.5)])
def test_a_place_that_is_no_whole_number_is_refused(policy: Scheduler, wrong: Request) -> None:
    """A limit between two tokens would never be reached, and the sequence would outgrow the blocks promised to it."""
    (outcome,) = run(policy, wrong)
    assert isinstance(outcome.error, InvalidRequest)
