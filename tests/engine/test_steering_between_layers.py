"""Whatever a pass computes, and also where its rows are computed again after a fault, it stops after its layer for who is
cancelled, held or promoted; nobody else's bits change.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence

import pytest

from engine.batch import Batch, RowOutput, Signal
from engine.freezing import FreezingScheduler
from engine.request import Generate, Outcome, Priority, Request, Score
from engine.runner import Runner
from tests.engine.conftest import CONFIG
from tests.engine.driving import LIMITS, alone, bits, echo, scheduler
from tests.engine.test_freezing import Played, handles, score
from tests.engine.test_freezing_bits import LOWER, SMALL, WINDOW, Faulty

pytestmark = pytest.mark.undisturbed("stops its passes itself, step by step")


def alone_with_stat(*requests: Request) -> Played:
    """No pass stands still; these STAT requests have handles from 20 on, and one step of them has been computed."""
    played = Played(score(20))
    played.finish()
    for handle, request in enumerate(requests, start=20):
        played.stat(handle, request)
    played.step()
    return played


def halted(played: Played) -> Batch:
    """The next pass, which is stopped although it may not stop for STAT."""
    batch = played.schedule()
    assert batch.rows and not batch.stoppable
    return played.end(batch, stopped=True)


def test_it_goes_on_with_the_next_step_and_nobody_runs_in_between() -> None:
    played = alone_with_stat(score(60))
    stopped = halted(played)
    played.stat(30, score(9))
    played.policy.cancel(30)
    played.stat(31, score(9))
    batch = played.step()
    assert [id(row) for row in batch.rows] == [id(row) for row in stopped.rows]
    assert (batch.resumes, batch.beside, batch.stoppable, played.policy.freezes) == (True, False, False, 0)
    assert played.policy.tokens == 19 + 2 * 16
    assert handles(played.step()) == [20, 31]
    assert played.finish()[20].result.logprobs == score_of(60)


def score_of(length: int) -> object:
    return alone(CONFIG, echo, score(length)).result.logprobs


def test_beside_a_pass_that_stands_still_it_goes_on_before_that_one() -> None:
    played = Played(score(60), score(40))
    played.stat(9, score(40))
    halted(played)
    assert [(handles(batch), batch.resumes, batch.beside) for batch in (played.step(), played.step())] == [
        ([9], True, True),
        ([9], False, True),
    ]
    halted(played)
    played.step()
    assert (handles(played.step()), played.policy.freezes, played.policy.tokens) == ([0, 1], 1, 39 + 4 * 16)
    outcomes = played.finish()
    assert [outcomes[handle].result.logprobs for handle in (0, 1, 9)] == [score_of(length) for length in (60, 40, 40)]


@pytest.mark.parametrize("how", ["cancel", "hold"])
@pytest.mark.parametrize("beside", [False, True])
def test_nobody_is_left_who_wants_it_and_it_is_dropped(how: str, beside: bool) -> None:
    played = Played(score(60)) if beside else alone_with_stat(score(60), score(60))
    for handle in (20, 21) if beside else ():
        played.stat(handle, score(60))
    dropped = halted(played)
    for handle in (20, 21):
        assert getattr(played.policy, how)(handle)
    assert handles(played.step()) == []
    before = played.policy.tokens
    assert {handle: outcome.state for handle, outcome in played.outcomes.items() if handle >= 20} == (
        {20: "cancelled", 21: "cancelled"} if how == "cancel" else {}
    )
    batch = played.step()
    assert handles(batch) == ([0] if beside else [])
    assert (played.policy.tokens - before, played.policy.abandoned_tokens) == (batch.tokens, dropped.tokens)
    if how == "cancel":
        return
    played.finish()
    for handle in (20, 21):
        assert played.policy.release(handle)
    assert played.finish()[21].result.logprobs == score_of(60)


def test_what_is_left_of_it_below_stat_stands_still_for_the_next_stat() -> None:
    """Otherwise that one would wait for the end of a pass in which nobody urgent is left."""
    played = alone_with_stat(score(60))
    played.policy.add(0, score(60), Priority.ROUTINE, played.now)
    batch = halted(played)
    assert handles(batch) == [20, 0]
    played.policy.cancel(20)
    played.stat(21, score(9))
    assert (handles(played.step()), 20 in played.outcomes) == ([21], False)
    goes_on = played.step()
    assert (handles(goes_on), goes_on.resumes, goes_on.stoppable) == (handles(batch), True, True)
    assert played.outcomes[20].state == "cancelled"
    assert played.finish()[0].result.logprobs == score_of(60)


def test_demoted_it_stands_still_for_stat() -> None:
    played = alone_with_stat(score(60))
    halted(played)
    assert played.policy.reclass(20, Priority.ROUTINE)
    played.stat(21, score(9))
    assert handles(played.step()) == [21]
    assert played.step().resumes


def test_cancelled_in_a_pass_that_stands_still_stat_does_not_keep_it_from_stopping_again() -> None:
    played = Played(score(60), score(40))
    assert played.policy.reclass(1, Priority.STAT)
    assert played.policy.cancel(1)
    assert played.schedule().stoppable


def test_where_passes_never_stand_still_this_one_does_not_either() -> None:
    assert not scheduler(dataclasses.replace(SMALL, freezes=0)).steerable
    assert scheduler(SMALL).steerable


# With a model.

STAT: list[Request] = [Generate(WINDOW[3:25], limit=2), Score(WINDOW[:80]), Score(WINDOW[9:50])]


def started(requests: Sequence[Request] = LOWER, **signal: bool) -> FreezingScheduler:
    """Routine requests in a scheduler whose signal is so."""
    policy = scheduler(SMALL, LIMITS)
    assert isinstance(policy, FreezingScheduler)
    policy.signal = Signal(**signal)
    for handle, request in enumerate(requests):
        policy.add(handle, request, Priority.ROUTINE, 0.0)
    return policy


def ended(policy: FreezingScheduler, runner: Runner, stopped: Callable[[int], None]) -> dict[int, Outcome]:
    """Step by step to the end; after each pass that was stopped, `stopped` hears how many were before it."""
    outcomes, stops = dict[int, Outcome](), 0
    while policy.has_work:
        batch = policy.schedule(0.0)
        outputs = runner.run(batch)
        outcomes |= {outcome.handle: outcome for outcome in policy.postprocess(batch, outputs)}
        policy.check()
        if outputs is None:
            stopped(stops)
            stops += 1
    return outcomes


def played_to_the_end(runner: Runner, cancelled: int | None) -> tuple[dict[int, Outcome], FreezingScheduler, int]:
    """Lower requests whose first pass stands still, and STAT beside it that is stopped after every layer; how often all were."""
    policy, stops = started(raised=True), 0

    def stopped(before: int) -> None:
        nonlocal stops
        stops = before + 1
        if not before:
            policy.signal.raised, policy.signal.steered = False, True
            for handle, request in enumerate(STAT, start=len(LOWER)):
                policy.add(handle, request, Priority.STAT, 0.0)
        if stops == 3 and cancelled is not None:
            policy.cancel(len(LOWER) + cancelled)

    return ended(policy, runner, stopped), policy, stops


@pytest.mark.parametrize("cancelled", [None, 0, 1])
def test_stopped_after_every_layer_all_have_the_bits_of_one_alone(runner: Runner, cancelled: int | None) -> None:
    outcomes, policy, stops = played_to_the_end(runner, cancelled)
    for handle, request in enumerate(LOWER + STAT):
        if cancelled is not None and handle == len(LOWER) + cancelled:
            assert outcomes[handle].state == "cancelled"
        else:
            assert bits(outcomes[handle]) == bits(alone(CONFIG, runner.run, request))
    assert (policy.freezes, policy.abandoned_passes) == (1, 0)
    assert stops > 10 * (runner.model.layers - 1)


# Computed again after a fault, or in parts where memory is short.


@pytest.fixture
def steps(runner: Runner) -> Iterator[list[tuple[int, bool]]]:
    """Layers that each run of a batch computed, and whether it was stopped."""
    found: list[tuple[int, bool]] = []
    run = runner.run

    def counted(batch: Batch) -> list[RowOutput] | None:
        before = batch.signal.layers
        outputs = run(batch)
        found.append((batch.signal.layers - before, outputs is None))
        return outputs

    runner.run = counted  # type: ignore[method-assign]
    yield found
    del runner.run


@pytest.mark.parametrize("error", [ValueError("broken"), MemoryError()], ids=["raises", "runs out of memory"])
def test_rows_that_are_computed_again_are_stopped_after_their_layer_too(
    runner: Runner, steps: list[tuple[int, bool]], error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first pass raises in its last layer; STAT comes in the first layer of its first half."""
    policy, layer, failed = started(), runner.model.layer, []

    def raising(index: int, *rest: object) -> object:
        if index == runner.model.layers - 1 and not failed:
            failed.append(index)
            raise error
        policy.signal.raised = policy.signal.raised or (index == 0 and bool(failed) and len(failed) == 1)
        return layer(index, *rest)

    def stopped(before: int) -> None:
        policy.signal.raised = False
        failed.append(-1)
        policy.add(len(LOWER), STAT[0], Priority.STAT, 0.0)

    monkeypatch.setattr(runner.model, "layer", raising)
    outcomes = ended(policy, runner, stopped)
    assert steps[0] == (runner.model.layers - 1 + 1, True)  # all but the last of the whole pass, one of the half
    assert policy.freezes == 1
    monkeypatch.undo()
    for handle, request in enumerate([*LOWER, STAT[0]]):
        assert bits(outcomes[handle]) == bits(alone(CONFIG, runner.run, request))


def test_a_pass_that_is_given_up_between_its_halves_leaves_nothing_behind(
    runner: Runner, steps: list[tuple[int, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped after every layer, raises in its last, and everybody is cancelled when one layer of its first half is done."""
    policy, faulty = started(LOWER[:2], raised=True), Faulty(runner, ValueError("broken"), monkeypatch)
    for _ in range(runner.model.layers):
        batch = policy.schedule(0.0)
        policy.postprocess(batch, faulty.run(batch))
    assert steps == [(1, True)] * runner.model.layers
    assert len(runner._kept) == 1
    for handle in (0, 1):
        policy.cancel(handle)
    batch = policy.schedule(0.0)
    assert {outcome.state for outcome in policy.postprocess(batch, runner.run(batch))} == {"cancelled"}
    assert (runner._kept, policy.abandoned_passes, policy.pool.used) == ([], 1, 0)
