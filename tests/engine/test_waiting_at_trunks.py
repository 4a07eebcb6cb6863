"""Who waits at a trunk, how long, and what that costs the others: nobody waits for ever, nobody behind a lower class, and coming
and going costs the same however many there are.
"""

from __future__ import annotations

import dataclasses

import pytest

from engine.config import EngineConfig
from engine.limits import Limits
from engine.request import REFERENCE, Branch, Generate, Outcome, Priority, Score
from engine.scheduler import Scheduler
from engine.trunks import Trunk
from tests.engine.driving import echo, scheduler

CONFIG = EngineConfig(slots=4, token_budget=32, chunk=8, grid=4, blocks=20, block_size=8)
WINDOW = tuple(place % 11 for place in range(64))
OTHER = tuple(place * 3 % 11 for place in range(64))


def alternate(at: int, length: int = 3, tokens: tuple[int, ...] = WINDOW) -> Score:
    return Score(tokens, REFERENCE, Branch(at, ((tokens[at] + 1) % 11,) * length))


def run(policy: Scheduler, steps: int = 400) -> dict[int, Outcome]:
    """So many steps, or to the end; outcomes in the order in which they came."""
    found = {}
    while policy.has_work and steps:
        batch = policy.schedule(0.0)
        found |= {outcome.handle: outcome for outcome in policy.postprocess(batch, echo(batch))}
        policy.pool.check(policy.tables())
        assert policy.ledger.check()
        steps -= 1
    return found


def add(policy: Scheduler, handle: int, request: Score, priority: Priority = Priority.ROUTINE) -> None:
    policy.add(handle, request, priority, 0.0)


@pytest.mark.parametrize("priority", [Priority.STAT, Priority.ASAP])
def test_an_alternate_that_holds_nothing_keeps_no_blocks_from_others(priority: Priority) -> None:
    """A late branch at the very beginning takes nothing from its trunk; what was put aside for those that do is not for it."""
    policy = scheduler(dataclasses.replace(CONFIG, slots=1))
    add(policy, 0, Score(WINDOW, REFERENCE))
    add(policy, 1, alternate(60))
    run(policy, 3)
    add(policy, 2, alternate(1, 63))
    add(policy, 3, Score((3,) * 158), priority)  # needs every block
    assert {handle: outcome.state for handle, outcome in run(policy).items()} == dict.fromkeys(range(4), "finished")


def test_late_alternates_of_windows_that_ran_alone_find_room_too() -> None:
    """Two windows fill the pool when an alternate of each comes; both would hold their window's blocks and wait for the other's."""
    policy = scheduler(dataclasses.replace(CONFIG, blocks=16, slots=2))
    add(policy, 0, Score(WINDOW, REFERENCE))
    add(policy, 1, Score(OTHER, REFERENCE))
    run(policy, 2)
    add(policy, 2, alternate(60, 30))
    add(policy, 3, alternate(60, 30, OTHER))
    assert {handle: outcome.state for handle, outcome in run(policy).items()} == dict.fromkeys(range(4), "finished")


def test_a_deserted_trunk_takes_no_newer_one_along() -> None:
    """One that comes while a deserted trunk still computes has a trunk of its own, which it can leave."""
    policy = scheduler(CONFIG)
    add(policy, 0, Score(WINDOW, REFERENCE))
    batch = policy.schedule(0.0)
    policy.cancel(0)
    add(policy, 1, Score(WINDOW, REFERENCE))
    policy.postprocess(batch, echo(batch))
    assert policy.cancel(1)
    assert [outcome.state for outcome in run(policy).values()] == ["cancelled"]
    assert (list(policy.trunks), policy.pool.used) == ([], 0)


def test_a_stat_alternate_does_not_wait_for_the_routine_rest_of_its_trunk() -> None:
    """The only slot is the trunk's, which is routine again as soon as the STAT alternate has left it."""
    policy = scheduler(dataclasses.replace(CONFIG, slots=1, blocks=200))
    window = tuple(place % 11 for place in range(500))
    add(policy, 0, Score(window, REFERENCE))
    run(policy, 2)
    add(policy, 1, alternate(40, 9, window), Priority.STAT)
    assert run(policy, 5).keys() == {1}
    assert list(run(policy)[0].result.logprobs) == [-float(token) for token in window[1:]]


@pytest.mark.parametrize("left", ["cancelled", "on its own"])
def test_a_trunk_is_not_more_urgent_than_who_still_waits(left: str) -> None:
    policy = scheduler(CONFIG)
    add(policy, 0, Score(WINDOW, REFERENCE), Priority.URGENT)
    add(policy, 1, alternate(40), Priority.STAT)
    (trunk,) = policy.trunks
    assert trunk.priority is Priority.STAT
    if left == "cancelled":
        policy.cancel(1)
    else:
        run(policy, 40 // 8)
    assert trunk.priority is Priority.URGENT
    run(policy)


def test_a_list_of_tokens_harms_nobody_else() -> None:
    """A caller's mistake is met before anything is shared; taking the request back must not fail as well."""
    policy = scheduler(CONFIG)
    with pytest.raises(TypeError):
        add(policy, 0, Score(list(WINDOW), REFERENCE))
    assert policy.cancel(0)
    add(policy, 1, Score(WINDOW, REFERENCE))
    assert run(policy)[1].state == "finished"


def test_coming_to_a_trunk_and_leaving_it_looks_at_no_other_waiter(monkeypatch: pytest.MonkeyPatch) -> None:
    """With thousands at one trunk, each that looked at all the others would stop everybody for seconds."""
    policy = scheduler(CONFIG)
    for handle in range(200):
        add(policy, handle, alternate(1 + handle % 63))

    class Unlooked(dict):
        def __iter__(self) -> None:
            raise AssertionError("every waiter is looked at")

        values = items = keys = __iter__

    (trunk,) = policy.trunks
    assert isinstance(trunk, Trunk)
    trunk.waiters = Unlooked(trunk.waiters)
    add(policy, 200, alternate(63), Priority.STAT)
    assert policy.progress(7) == (0, 3 + 7)
    assert all(policy.cancel(handle) for handle in range(100))
    assert (trunk.target, trunk.priority) == (63, Priority.STAT)


def with_branches_waiting(count: int) -> Scheduler:
    """A trunk has ended, its branches hold its blocks and wait for slots."""
    policy = scheduler(CONFIG)
    add(policy, 0, Score(WINDOW, REFERENCE))
    for handle in range(1, count + 1):
        add(policy, handle, alternate(60, 24))
    while 0 in policy._by_handle:
        run(policy, 1)
    return policy


@pytest.mark.parametrize("priority", [Priority.STAT, Priority.ASAP])
def test_an_urgent_request_does_not_wait_for_every_branch_that_holds_blocks(priority: Priority) -> None:
    """It needs nearly every block; those who run may end before it if it is not STAT, and nobody else."""
    policy = with_branches_waiting(100)
    add(policy, 999, Score((3,) * 150), priority)
    outcomes = run(policy)
    assert list(outcomes).index(999) <= (0 if priority is Priority.STAT else CONFIG.slots)
    assert all(
        list(outcomes[handle].result.logprobs) == [-float(t) for t in alternate(60, 24).scored[1:]] for handle in range(1, 101)
    )
    assert policy.tokens < 149 + 2 * 63 + 100 * 25  # what they gave up is computed once again for all of them


def test_two_that_share_blocks_give_way_together() -> None:
    """Neither alone would give back what both hold."""
    policy = scheduler(dataclasses.replace(CONFIG, slots=2))
    for handle in (0, 1):
        add(policy, handle, alternate(60, 30))
    run(policy, 10)
    assert [sequence.blocks[:7] for sequence in policy._slots] == [policy._by_handle[0].blocks[:7]] * 2
    add(policy, 2, Score((3,) * 150), Priority.STAT)
    batch = policy.schedule(0.0)
    assert [row.handle for row in batch.rows] == [2]
    policy.postprocess(batch, echo(batch))
    assert next(iter(run(policy))) == 2


def test_branches_keep_what_they_share_with_a_trunk_that_runs() -> None:
    """It would not come free, and each would have to look for it again by itself."""
    policy = scheduler(CONFIG)
    add(policy, 0, Score(WINDOW, REFERENCE))
    for handle in (1, 2, 3):
        add(policy, handle, alternate(10, 80))
    run(policy, 2)
    add(policy, 4, Score((3,) * 150), Priority.ASAP)
    run(policy, 3)
    assert [policy._by_handle[handle].preempted for handle in (0, 1, 2, 3)] == [0, 0, 0, 0]
    outcomes = run(policy)
    assert list(outcomes)[:3] == [0, 1, 4]
    assert [outcomes[handle].preempted for handle in (0, 1, 2, 3)] == [0, 0, 1, 1]


LONG_WINDOW = tuple(place * place % 11 for place in range(3000))
LONG = EngineConfig(slots=4, token_budget=128, chunk=64, grid=4, blocks=900, block_size=8, long=1000, long_chunk=8)


def test_a_stat_alternate_computes_its_own_where_that_is_sooner_than_a_long_trunk() -> None:
    """The trunk of a long window goes eight tokens a step, the alternate ends early and goes sixty-four."""
    policy = scheduler(LONG, Limits(11, 4096))
    add(policy, 0, Score(LONG_WINDOW, REFERENCE))
    run(policy, 5)
    add(policy, 1, alternate(900, tokens=LONG_WINDOW), Priority.STAT)
    (outcome,) = run(policy, -(-868 // 64) + 1).values()
    assert (outcome.handle, outcome.reused) == (1, 40)
    assert list(outcome.result.logprobs) == [-float(token) for token in alternate(900, tokens=LONG_WINDOW).scored[1:]]


@pytest.mark.parametrize(("at", "priority"), [(45, Priority.STAT), (900, Priority.ASAP)])
def test_who_is_not_sooner_alone_or_not_stat_waits_at_the_trunk(at: int, priority: Priority) -> None:
    policy = scheduler(LONG, Limits(11, 4096))
    add(policy, 0, Score(LONG_WINDOW, REFERENCE))
    run(policy, 5)
    add(policy, 1, alternate(at, tokens=LONG_WINDOW), priority)
    assert run(policy)[1].reused == at
    assert policy.tokens == 2999 + 2


def test_a_stat_alternate_does_not_wait_for_room_that_only_its_trunk_needs() -> None:
    policy = scheduler(dataclasses.replace(CONFIG, blocks=20))
    add(policy, 0, Generate((1, 2, 3), 110), Priority.STAT)
    add(policy, 1, Score(WINDOW, REFERENCE))
    run(policy, 2)
    add(policy, 2, alternate(20, 4), Priority.STAT)
    assert list(run(policy)) == [2, 0, 1]
