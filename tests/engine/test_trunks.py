"""What windows have in common is computed once, and nobody can tell from the result."""

from __future__ import annotations

import dataclasses
import random

import pytest

from engine.batch import RowOutput
from engine.config import EngineConfig
from engine.errors import RowFailed
from engine.request import PRIVATE, REFERENCE, Branch, Generate, NextToken, Outcome, Priority, Score, Sharing
from engine.scheduler import Scheduler
from tests.engine.driving import Arrival, drive, echo, scheduler

CONFIG = EngineConfig(slots=4, token_budget=64, chunk=16, grid=4, blocks=40, block_size=8)
WINDOW = tuple(random.Random(3).choices(range(11), k=50))


def window(sharing: Sharing = REFERENCE) -> Score:
    return Score(WINDOW, sharing)


def alternate(at: int, sharing: Sharing = REFERENCE, tokens: tuple[int, ...] = WINDOW) -> Score:
    return Score(tokens, sharing, Branch(at, ((tokens[at] + 1) % 11, *tokens[at + 1 :])))


def run(policy: Scheduler, steps: int = 1000) -> dict[int, Outcome]:
    """So many steps, or to the end."""
    found = {}
    while policy.has_work and steps:
        batch = policy.schedule(0.0)
        found |= {outcome.handle: outcome for outcome in policy.postprocess(batch, echo(batch))}
        policy.pool.check(policy.tables())
        assert policy.ledger.check()
        steps -= 1
    return found


def added(*requests: Score, config: EngineConfig = CONFIG, priority: Priority = Priority.ROUTINE) -> Scheduler:
    policy = scheduler(config)
    for handle, request in enumerate(requests):
        policy.add(handle, request, priority, 0.0)
    return policy


def right(outcome: Outcome, request: Score) -> bool:
    return list(outcome.result.logprobs) == [-float(token) for token in request.scored[1:]]


def test_a_window_and_its_alternates_cost_the_trunk_and_the_branches_and_no_token_more() -> None:
    requests = [window(), *(alternate(at) for at in range(1, 50))]
    policy = added(*requests)
    outcomes = run(policy)
    assert policy.tokens == 49 + sum(49 - at for at in range(1, 50))
    assert policy.trunk_tokens == 49
    assert policy.recomputed_tokens == 0
    assert all(right(outcomes[handle], request) for handle, request in enumerate(requests))


def test_alternates_without_their_window_take_the_trunk_no_further_than_they_need() -> None:
    policy = added(alternate(20), alternate(30))
    run(policy)
    assert policy.tokens == 30 + (49 - 20) + (49 - 30)


@pytest.mark.parametrize(("late", "recomputed"), [(8, 1), (16, 0), (21, 1), (1, 1)])
def test_a_branch_that_comes_late_costs_one_token_or_none_at_the_end_of_a_block(late: int, recomputed: int) -> None:
    """At 8 and 16 the state at the end of a block is kept; what is at 8 lies in a block that came before the trunk's first look."""
    policy = added(window())
    run(policy, 3)
    policy.add(1, alternate(late), Priority.ROUTINE, 0.0)
    outcomes = run(policy)
    expected = 0 if late % 8 == 0 else recomputed
    assert policy.tokens == 49 + (49 - late) + expected
    assert policy.recomputed_tokens == 0
    assert right(outcomes[1], alternate(late))


def test_a_window_that_comes_again_finds_its_blocks_and_their_scores() -> None:
    policy = added(window())
    run(policy)
    policy.add(1, window(), Priority.ROUTINE, 0.0)
    policy.add(2, alternate(45), Priority.ROUTINE, 0.0)
    outcomes = run(policy)
    assert policy.tokens == 49 + (49 - 48) + (49 - 45) + 1
    assert (outcomes[1].reused, right(outcomes[1], window()), right(outcomes[2], alternate(45))) == (48, True, True)


def test_one_laboratory_never_finds_what_another_computed() -> None:
    first, second = Sharing("laboratory", "one"), Sharing("laboratory", "two")
    policy = added(window(first))
    run(policy)
    for handle, sharing in enumerate((second, REFERENCE, PRIVATE), start=1):
        policy.add(handle, window(sharing), Priority.ROUTINE, 0.0)
        assert run(policy)[handle].reused == 0
    policy.add(9, window(first), Priority.ROUTINE, 0.0)
    assert run(policy)[9].reused == 48


def test_private_requests_neither_read_nor_write() -> None:
    policy = added(window(PRIVATE), window(PRIVATE), alternate(20, PRIVATE))
    run(policy)
    assert (policy.tokens, policy.pool.cached, len(policy.cache)) == (3 * 49, 0, 0)


def test_what_an_alternate_computes_by_itself_is_never_found() -> None:
    """Shared keys and values hold registered reference sequence only."""
    policy = added(alternate(20))
    run(policy)
    changed = alternate(20).scored
    policy.add(1, Score(changed, REFERENCE), Priority.ROUTINE, 0.0)
    assert run(policy)[1].reused == 16


def test_blocks_without_scores_are_not_taken_for_scored_ones() -> None:
    """Stale or missing log-probabilities at cached positions: a next token leaves keys and values, and no scores."""
    policy = scheduler(CONFIG)
    policy.add(0, NextToken(WINDOW, sharing=REFERENCE), Priority.ROUTINE, 0.0)
    run(policy)
    policy.add(1, window(), Priority.ROUTINE, 0.0)
    outcome = run(policy)[1]
    assert (outcome.reused, right(outcome, window())) == (0, True)
    policy.add(2, Generate(WINDOW, 2, sharing=REFERENCE), Priority.ROUTINE, 0.0)
    assert run(policy)[2].reused == 48


def test_a_trunk_is_as_urgent_as_its_most_urgent_waiter_also_while_it_waits() -> None:
    policy = scheduler(dataclasses.replace(CONFIG, slots=1))
    for handle in (0, 1):
        policy.add(handle, Score(WINDOW[::-1][handle:]), Priority.ASAP, 0.0)
    policy.add(2, window(), Priority.ROUTINE, 0.0)
    policy.add(3, alternate(30), Priority.STAT, 0.0)
    batch = policy.schedule(0.0)
    assert [row.handle for row in batch.rows] == [-1]
    policy.postprocess(batch, echo(batch))
    assert list(run(policy)) == [3, 0, 1, 2]  # when the STAT alternate has left it, the trunk is as routine as its window again


def test_a_trunk_goes_on_for_the_others_when_who_brought_it_is_cancelled() -> None:
    policy = added(window(), alternate(40), alternate(45))
    run(policy, 1)
    assert policy.cancel(0)
    outcomes = run(policy)
    assert (outcomes[0].state, right(outcomes[1], alternate(40)), right(outcomes[2], alternate(45))) == ("cancelled", True, True)
    assert policy.tokens == 45 + 9 + 4


@pytest.mark.parametrize("during", [False, True])
def test_a_trunk_that_nobody_waits_for_any_more_ends(during: bool) -> None:
    policy = added(window(), alternate(40))
    batch = policy.schedule(0.0)
    if not during:
        policy.postprocess(batch, echo(batch))
    assert policy.cancel(0)
    assert policy.cancel(1)
    if during:
        policy.add(2, alternate(40), Priority.ROUTINE, 0.0)  # comes while the deserted trunk is still being computed
        policy.postprocess(batch, echo(batch))
    outcomes = run(policy)
    assert (policy.running, policy.waiting, policy.ledger.promised) == (0, 0, 0)
    assert policy.pool.available == CONFIG.blocks
    assert not during or right(outcomes[2], alternate(40))


def test_when_a_trunk_fails_its_window_fails_and_alternates_do_without_it() -> None:
    policy = added(window(), alternate(10), alternate(40))
    for _ in range(2):
        batch = policy.schedule(0.0)
        outputs = [
            RowOutput(error=RowFailed()) if row.start == 16 else output for row, output in zip(batch.rows, echo(batch), strict=True)
        ]
        failed = policy.postprocess(batch, outputs)
    assert [(outcome.handle, outcome.state) for outcome in failed] == [(0, "failed")]
    outcomes = run(policy)
    assert right(outcomes[1], alternate(10))
    assert right(outcomes[2], alternate(40))


def test_branches_hold_no_more_than_what_lets_one_of_them_run() -> None:
    """Eight blocks: the trunk takes seven and all branches need some. Nobody waits for ever."""
    config = dataclasses.replace(CONFIG, blocks=13)
    policy = added(
        *(alternate(at) for at in range(1, 50, 3)), *(alternate(at, tokens=WINDOW[::-1]) for at in range(1, 50, 3)), config=config
    )
    outcomes = run(policy)
    assert all(outcome.state == "finished" for outcome in outcomes.values())
    assert len(outcomes) == 34


def test_where_trunk_and_branch_do_not_fit_together_the_alternate_is_computed_alone() -> None:
    policy = added(alternate(25), config=dataclasses.replace(CONFIG, blocks=8))
    outcomes = run(policy)
    assert (policy.tokens, policy.trunk_tokens, right(outcomes[0], alternate(25))) == (49, 0, True)


def test_static_batching_shares_nothing() -> None:
    policy = added(window(), alternate(40), window(), config=dataclasses.replace(CONFIG, mode="static"))
    run(policy)
    assert policy.tokens == 3 * 49


def test_what_is_no_longer_trusted_is_forgotten() -> None:
    policy = added(window())
    run(policy)
    policy.cache.forget()
    assert (policy.pool.cached, len(policy.cache)) == (0, 0)
    policy.add(1, window(), Priority.ROUTINE, 0.0)
    assert run(policy)[1].reused == 0


def test_a_longer_alternate_moves_everything_behind_it() -> None:
    inserted = Score(WINDOW, REFERENCE, Branch(20, (1, 2, 3, *WINDOW[20:47])))
    outcomes = drive(CONFIG, echo, [Arrival(0, window()), Arrival(1, inserted)])
    assert right(outcomes[1], inserted)


# What others hold already is not charged again.


@pytest.mark.parametrize("priority", [Priority.ROUTINE, Priority.STAT])
def test_who_begins_with_blocks_in_use_needs_room_for_the_rest_only(priority: Priority) -> None:
    """Two of twelve blocks each, which share their first eleven, in a pool of fourteen; nobody is sent away for what is there."""
    prompt = (WINDOW * 2)[:88]
    policy = scheduler(dataclasses.replace(CONFIG, blocks=14, token_budget=200))
    policy.add(0, Generate(prompt, 8, sharing=REFERENCE), Priority.ROUTINE, 0.0)
    run(policy, 7)
    policy.add(1, Generate((*prompt, 3), 7, sharing=REFERENCE), priority, 0.0)
    batch = policy.schedule(0.0)
    assert sorted(row.handle for row in batch.rows) == [0, 1]
    assert (policy.ledger.promised, policy.evictions) == (0, 0)
    policy.postprocess(batch, echo(batch))
    assert [outcome.reused for _, outcome in sorted(run(policy).items())] == [0, 88]


def test_what_is_found_and_in_nobodys_hands_is_charged() -> None:
    """It comes out of the same blocks that others may take."""
    policy = scheduler(dataclasses.replace(CONFIG, blocks=14))
    policy.add(0, NextToken(WINDOW[:49], sharing=REFERENCE), Priority.ROUTINE, 0.0)
    run(policy)
    assert policy.pool.cached == 6
    policy.add(1, Score((3,) * 73), Priority.ROUTINE, 0.0)
    policy.add(2, Generate(WINDOW[:49], 8, sharing=REFERENCE), Priority.ROUTINE, 0.0)
    batch = policy.schedule(0.0)
    assert [row.handle for row in batch.rows] == [1]  # nine of fourteen; the other needs seven, six of them cached
    policy.postprocess(batch, echo(batch))
    assert all(outcome.state == "finished" for outcome in run(policy).values())


def test_a_stat_request_sends_nobody_away_for_blocks_that_it_shares_with_him() -> None:
    """His blocks would come free only to be taken up again: the other one must go."""
    prompt = (WINDOW * 2)[:80]
    policy = scheduler(dataclasses.replace(CONFIG, blocks=25, token_budget=200))
    policy.add(0, Generate(prompt, 9, sharing=REFERENCE), Priority.ROUTINE, 0.0)
    policy.add(1, Generate((5,) * 90, 8), Priority.ROUTINE, 0.0)
    run(policy, 7)
    policy.add(2, Generate((*prompt, *prompt[:8]), 16, sharing=REFERENCE), Priority.STAT, 0.0)
    outcomes = run(policy)
    assert [outcomes[handle].preempted for handle in range(3)] == [0, 1, 0]
    assert outcomes[2].reused == 80
