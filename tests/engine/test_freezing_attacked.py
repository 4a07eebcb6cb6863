"""A pass stands still and something else goes wrong: clocks, cancellations, faults, trunks that become urgent, STAT without end."""

from __future__ import annotations

import pytest

from engine.batch import RowOutput
from engine.errors import RowFailed
from engine.request import REFERENCE, Branch, Embed, Generate, NextToken, Priority, Request, Score
from tests.engine.driving import echo
from tests.engine.test_freezing import WINDOW, Played, handles, score
from tests.engine.test_freezing_loop import LAYERS, Layers
from tests.engine.test_loop import WAIT, Waiting, loop_for


def alternate(at: int) -> Score:
    return Score(WINDOW, REFERENCE, Branch(at, (3, *WINDOW[at + 1 :])))


def test_a_clock_that_is_set_back_does_not_let_a_pass_stand_still_for_longer() -> None:
    played = Played(score(60), frozen_seconds=4.5)
    played.stat(9, Generate((1,), 30))
    played.step()
    played.now -= 3600.0
    assert [handles(played.step()) for _ in range(5)] == [[9]] * 5
    assert played.step().resumes
    assert 4.5 <= played.policy.frozen_seconds < 7.0


def test_nobody_who_comes_later_passes_a_trunk_in_the_pass_that_has_become_stat() -> None:
    """STAT that came before it ends first, and the pass is not stopped any more."""
    played = Played(alternate(50), blocks=60)
    played.stat(7, Generate((1,), 3))
    assert handles(played.step()) == [7]
    played.stat(6, Generate((2,), 1))
    played.stat(8, alternate(40))
    played.now += 1.0
    played.stat(9, score(9))
    assert [handles(played.step()) for _ in range(2)] == [[7, 6], [7]]
    going = played.schedule()
    assert (going.resumes, going.stoppable) == (True, False)
    played.end(going)
    assert played.finish().keys() == {0, 6, 7, 8, 9}


def test_a_pass_of_which_everything_is_cancelled_is_not_computed_to_its_end() -> None:
    played = Played(score(60), score(40))
    played.policy.add(2, score(9), Priority.ROUTINE, 0.0)
    for handle in (0, 1):
        played.policy.cancel(handle)
    assert handles(played.step()) == []
    assert (played.outcomes[0].state, played.outcomes[1].state) == ("cancelled", "cancelled")
    assert handles(played.step()) == [2]
    assert (played.policy.abandoned_passes, played.policy.abandoned_tokens) == (1, played.stopped.tokens)


def test_a_trunk_in_the_pass_whose_last_alternate_is_cancelled_goes_at_once() -> None:
    played = Played(alternate(50))
    played.policy.cancel(0)
    played.step()
    assert (played.outcomes[0].state, played.policy.pool.used, played.policy.has_work) == ("cancelled", 0, False)


def test_who_comes_for_the_window_of_a_cancelled_trunk_in_the_pass_gets_another() -> None:
    played = Played(alternate(50), score(60), blocks=60)
    played.policy.cancel(0)
    played.stat(9, alternate(50))
    assert played.step().beside
    assert played.finish()[9].result == Played(alternate(50)).finish()[0].result


def test_what_is_forgotten_while_a_pass_stands_still_is_not_found_afterwards() -> None:
    played = Played(Generate(WINDOW[:40], 3, sharing=REFERENCE))
    played.policy.forget()
    assert len(played.policy.cache) == 0
    assert played.step().resumes
    played.stat(9, Generate(WINDOW[:40], 3, sharing=REFERENCE))
    assert (len(played.policy.cache), played.step().rows[0].start) == (0, 0)
    assert played.finish().keys() == {0, 9}


@pytest.mark.parametrize("lower", [alternate(50), score(60), Embed(WINDOW), NextToken(WINDOW, sharing=REFERENCE)])
def test_a_row_that_fails_beside_a_pass_takes_nobody_along(lower: Request) -> None:
    played = Played(lower, score(40), blocks=60)
    played.stat(8, Score(WINDOW[1:]))
    played.stat(9, score(9))
    batch = played.schedule()
    pairs = zip(batch.rows, echo(batch), strict=True)
    outputs = [output if row.handle == 9 else RowOutput(error=RowFailed()) for row, output in pairs]
    played.outcomes |= {one.handle: one for one in played.policy.postprocess(batch, outputs)}
    outcomes = played.finish()
    assert {handle for handle, one in outcomes.items() if one.state == "finished"} >= {0, 1, 9}


def test_routine_goes_on_under_stat_that_needs_the_blocks_of_every_pass() -> None:
    """Every pass is stopped, and STAT fits only without its blocks: the third in succession is let through."""
    played, passed = Played(score(100), blocks=24), []
    for handle in range(100, 160):
        played.stat(handle, score(90))
        while handle not in played.outcomes:
            batch = played.schedule()
            passed.append(batch.resumes)
            played.end(batch)
        if 0 in played.outcomes:
            break
        batch = played.schedule()
        played.end(batch, stopped=batch.stoppable and bool(batch.rows))
    assert played.outcomes[0].state == "finished"
    assert played.policy.abandoned_passes == 2 * sum(passed)
    assert played.policy.capped_starts == sum(passed) >= 4


def test_routine_goes_on_under_stat_that_comes_after_every_layer() -> None:
    """A pass of four layers can be stopped three times, and stands still for two of them."""
    played, stops = Played(score(90), score(60), blocks=60), 1
    for handle in range(100, 200):
        batch = played.schedule()
        stops = stops if batch.beside or batch.resumes else 0
        stopped = batch.stoppable and stops < 3
        stops += stopped
        played.end(batch, stopped=stopped)
        if stopped:
            played.stat(handle, Generate((1, 2), 1))
        if {0, 1} <= played.outcomes.keys():
            break
    assert {0, 1} <= played.outcomes.keys()
    assert played.policy.freezes >= 5
    assert played.policy.capped_starts >= 2
    assert played.policy.abandoned_passes == 0


def test_stop_without_drain_is_heard_between_two_layers() -> None:
    """Two of four layers: the cancelled pass is not computed to its end."""
    model, ended = Layers(), Waiting()
    loop = loop_for(model)
    loop.submit(Score((1,) * 30), priority=Priority.ROUTINE, on_outcome=ended)
    assert model.entered.acquire(timeout=WAIT)
    assert not loop.stop(drain=False, timeout=0.0)
    model.open.release(1)
    assert loop.stop(drain=False, timeout=WAIT)
    assert ended.all(1)[0].state == "cancelled"
    assert loop.engine.layers < LAYERS


def test_drained_while_a_pass_stands_still_everybody_ends() -> None:
    model, ended = Layers(), Waiting()
    loop = loop_for(model)
    loop.submit(Score((1,) * 30), priority=Priority.ROUTINE, on_outcome=ended)
    assert model.entered.acquire(timeout=WAIT)
    loop.submit(Generate((1, 2), 2), priority=Priority.STAT, on_outcome=ended)
    model.open.release(2)  # the second is the first layer of STAT
    assert model.entered.acquire(timeout=WAIT)
    model.open.release(1000)
    assert loop.stop(drain=True, timeout=WAIT)
    assert [outcome.state for outcome in ended.all(2)] == ["finished", "finished"]
    assert loop.stats()["freezes"] == 1
