"""The policy: who runs, who enters, who is refused, who can be cancelled when."""

from __future__ import annotations

import dataclasses
from array import array

import pytest

from engine.config import EngineConfig
from engine.errors import ConfigRefused, ContextTooLong, InvalidRequest, RequestTooLarge
from engine.request import Generate, GenerateResult, Priority, Request, Score
from engine.scheduler import Scheduler
from tests.engine.driving import Arrival, drive, echo, scheduler
from tests.engine.preempting_by_force import Forced

CONFIG = EngineConfig(slots=2, token_budget=64, chunk=32, grid=8, blocks=8, block_size=16)


def score(length: int) -> Score:
    return Score(tuple(index % 11 for index in range(length)))


def planned(*requests: Request, config: EngineConfig = CONFIG, priority: Priority = Priority.ROUTINE) -> Scheduler:
    """A scheduler with requests 0, 1, … waiting."""
    found = scheduler(config)
    for handle, request in enumerate(requests):
        found.add(handle, request, priority, 0.0)
    return found


def step(policy: Scheduler) -> list[int]:
    """One step; the handles it settled."""
    batch = policy.schedule(0.0)
    return [outcome.handle for outcome in policy.postprocess(batch, echo(batch))]


def handles(policy: Scheduler) -> list[int]:
    return [row.handle for row in policy.schedule(0.0).rows]


def test_the_second_time_and_only_then_it_is_preempted(request: pytest.FixtureRequest) -> None:
    everywhere = request.config.getoption("--forced-preemption", default=False)
    again = everywhere or request.node.callspec.params["by_force"]
    assert isinstance(scheduler(CONFIG), Forced) is again


def test_classes_enter_in_order_and_within_a_class_the_first_come() -> None:
    policy = scheduler(dataclasses.replace(CONFIG, slots=1))
    for handle, priority in enumerate((Priority.ROUTINE, Priority.URGENT, Priority.STAT, Priority.ASAP, Priority.STAT)):
        policy.add(handle, score(10), priority, 0.0)
    assert [step(policy) for _ in range(5)] == [[2], [4], [3], [1], [0]]


@pytest.mark.undisturbed("counts steps")
@pytest.mark.parametrize(("handle", "why"), [(-1, "below 0"), (0, "has not ended"), (1, "has not ended"), (2, "has not ended")])
def test_a_handle_that_is_in_use_or_a_trunks_own_is_refused_and_harms_nobody(handle: int, why: str) -> None:
    """Running, waiting or on hold: whose handle was taken over would never hear of its end."""
    policy = planned(score(40), score(100), score(10))
    policy.hold(2)
    step(policy)
    with pytest.raises(ValueError, match=why):
        policy.add(handle, score(20), Priority.STAT, 0.0)
    policy.release(2)
    assert sorted(ended for _ in range(9) for ended in step(policy)) == [0, 1, 2]
    policy.add(0, score(20), Priority.ROUTINE, 0.0)  # it has ended, and is free again


@pytest.mark.parametrize("priority", [Priority.ASAP, Priority.URGENT, Priority.ROUTINE])
def test_below_stat_nobody_sends_anybody_away(priority: Priority) -> None:
    policy = planned(score(100), score(100), score(10), config=dataclasses.replace(CONFIG, blocks=20))
    step(policy)
    policy.add(9, score(10), priority, 0.0)
    assert handles(policy) == [0, 1]
    assert policy.evictions == 0


def test_an_admitted_stat_is_served_first_from_the_budget() -> None:
    policy = planned(score(100), config=dataclasses.replace(CONFIG, token_budget=32, blocks=20))
    step(policy)
    policy.add(9, score(30), Priority.STAT, 0.0)
    assert handles(policy) == [9]


def test_a_slot_that_a_step_frees_is_filled_by_the_next() -> None:
    policy = planned(score(10), score(60), score(10))
    assert step(policy) == [0]
    assert handles(policy) == [1, 2]


def test_admission_waits_for_the_whole_need_and_holds_the_place() -> None:
    policy = planned(score(100), score(40), config=CONFIG)
    assert handles(policy) == [0]
    assert policy.waiting == 1


def test_small_ones_pass_a_large_one_that_does_not_fit_but_not_for_ever() -> None:
    """A stream of small ones keeps seven of the eight blocks busy; the large one needs all eight and gets them."""
    config, entered = dataclasses.replace(CONFIG, slots=9), []
    policy = planned(*(Generate((1,), limit=1 + handle) for handle in range(1, 8)), config=config)
    policy.add(100, score(128), Priority.ROUTINE, 0.0)
    for handle in range(101, 400):
        policy.add(handle, Generate((1,), limit=7), Priority.ROUTINE, 0.0)
        batch = policy.schedule(0.0)
        entered += [row.handle for row in batch.rows if row.start == 0]
        policy.postprocess(batch, echo(batch))
    assert 64 <= entered.index(100) - 7 <= 64 + 8


def test_chunks_end_on_the_absolute_grid_or_at_the_target() -> None:
    config = dataclasses.replace(CONFIG, slots=3, token_budget=40, blocks=30)
    policy, ends = planned(score(78), score(50), score(30), config=config), []
    while policy.has_work:
        batch = policy.schedule(0.0)
        ends += [(row.handle, row.start + len(row.tokens)) for row in batch.rows]
        policy.postprocess(batch, echo(batch))
    targets = {(0, 77), (1, 49), (2, 29)}
    assert all(end % CONFIG.grid == 0 for handle, end in ends if (handle, end) not in targets)
    assert targets <= set(ends)


def test_every_token_is_scored_once_and_in_order() -> None:
    outcomes = drive(CONFIG, echo, [Arrival(handle, score(length)) for handle, length in enumerate((2, 33, 64, 65, 100))])
    for handle, length in enumerate((2, 33, 64, 65, 100)):
        assert list(outcomes[handle].result.logprobs) == [-float(token) for token in score(length).tokens[1:]]


def test_generation_stops_at_its_limit_or_at_the_end_token() -> None:
    requests = [Generate((1, 2, 3), limit=5), Generate((1, 2, 3), limit=9, end=6)]
    outcomes = drive(CONFIG, echo, [Arrival(handle, request) for handle, request in enumerate(requests)])
    assert outcomes[0].result == GenerateResult((3, 4, 5, 6, 0), array("f", [-1.0] * 5), "length")
    assert outcomes[1].result == GenerateResult((3, 4, 5, 6), array("f", [-1.0] * 4), "end")


@pytest.mark.parametrize("mode", ["continuous", "static"])
def test_what_can_never_fit_is_refused_alone(mode: str) -> None:
    config = dataclasses.replace(CONFIG, mode=mode)
    outcomes = drive(config, echo, [Arrival(0, score(300), Priority.STAT), Arrival(1, score(20)), Arrival(2, score(600))])
    refusal = outcomes[0].error
    assert isinstance(refusal, RequestTooLarge)
    assert (refusal.blocks_needed, refusal.blocks_total, refusal.permanent) == (19, 8, True)
    assert isinstance(outcomes[2].error, ContextTooLong)
    assert outcomes[1].state == "finished"


@pytest.mark.parametrize(
    "request_",
    [Score(()), Score((3,)), Score((1, 11)), Score((1, -1)), Generate((), limit=3), Generate((1,), limit=0)],
)
def test_an_invalid_request_is_refused_with_a_reason(request_: Request) -> None:
    outcome = drive(CONFIG, echo, [Arrival(0, request_)])[0]
    assert (outcome.state, type(outcome.error), outcome.steps) == ("failed", InvalidRequest, 0)


def test_cancelling_a_waiting_request_takes_it_from_the_queue() -> None:
    policy = planned(score(100), score(100), score(10), config=dataclasses.replace(CONFIG, slots=1))
    step(policy)
    assert policy.cancel(1)
    assert step(policy) == [1]


def test_cancelling_a_running_request_between_steps_frees_its_blocks_at_once() -> None:
    policy = planned(score(100))
    step(policy)
    assert policy.cancel(0)
    assert policy.pool.free == CONFIG.blocks


def test_cancelling_while_a_step_computes_keeps_the_blocks_until_it_ends() -> None:
    policy = planned(score(100))
    batch = policy.schedule(0.0)
    assert policy.cancel(0)
    assert not policy.cancel(0)
    assert policy.pool.used == 2
    (outcome,) = policy.postprocess(batch, echo(batch))
    assert (outcome.state, policy.pool.used) == ("cancelled", 0)


def test_a_running_request_without_a_row_in_the_step_can_be_cancelled_too() -> None:
    policy = planned(score(60), score(60), config=dataclasses.replace(CONFIG, token_budget=32))
    batch = policy.schedule(0.0)
    assert [row.handle for row in batch.rows] == [0]
    assert policy.cancel(1)
    assert [outcome.handle for outcome in policy.postprocess(batch, echo(batch))] == [1]


def test_an_ended_or_unknown_request_cannot_be_cancelled() -> None:
    policy = planned(score(10))
    step(policy)
    assert not policy.cancel(0)
    assert not policy.cancel(77)


def test_static_batching_admits_nobody_until_its_longest_has_ended() -> None:
    policy = planned(score(10), score(30), score(10), config=dataclasses.replace(CONFIG, mode="static"))
    assert step(policy) == [0, 1]
    assert step(policy) == [2]


def test_static_batching_computes_padding_that_continuous_batching_does_not() -> None:
    computed = {}
    for mode in ("continuous", "static"):
        policy = planned(score(10), Generate((1,) * 20, limit=9), config=dataclasses.replace(CONFIG, mode=mode))
        while policy.has_work:
            step(policy)
        computed[mode] = policy.tokens
    assert computed == {"continuous": 9 + 20 + 8, "static": 2 * 20 + 2 * 8}


@pytest.mark.parametrize(
    "wrong",
    [
        {"slots": 0},
        {"block_size": 48},
        {"grid": 24},
        {"token_budget": 4},
        {"mode": "dynamic"},
        {"isa": "sse"},
        {"precision": "int3"},
        {"long_share": 0.0},
        {"blocks": 1 << 25},
        {"slots": 1 << 17},
        {"long_chunk": 0},
    ],
)
def test_contradictory_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigRefused, match=next(iter(wrong))):
        dataclasses.replace(CONFIG, **wrong)
