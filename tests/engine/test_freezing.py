"""A pass stands still for STAT: what is pinned, lent, abandoned, capped and counted, without a model."""

from __future__ import annotations

import dataclasses

import pytest

from engine.batch import Batch
from engine.config import EngineConfig
from engine.errors import ConfigRefused
from engine.freezing import FreezingScheduler
from engine.request import REFERENCE, Branch, Generate, Outcome, Priority, Request, Score
from tests.engine.driving import Arrival, drive, echo, scheduler

CONFIG = EngineConfig(slots=3, token_budget=64, chunk=16, grid=4, blocks=24, block_size=8, freezes=2, frozen_seconds=50.0)
WINDOW = tuple(range(11)) * 5


def score(length: int, sharing: object = None) -> Score:
    tokens = tuple(index % 11 for index in range(length))
    return Score(tokens) if sharing is None else Score(tokens, REFERENCE)


class Played:
    """Routine requests that have run for a step, and whose second pass has been stopped; the time is the number of the call."""

    def __init__(self, *requests: Request, **settings: object) -> None:
        self.policy, self.now = scheduler(dataclasses.replace(CONFIG, **settings)), 0.0
        assert isinstance(self.policy, FreezingScheduler)
        self.outcomes: dict[int, Outcome] = {}
        for handle, request in enumerate(requests):
            self.policy.add(handle, request, Priority.ROUTINE, 0.0)
        self.step()
        self.stopped = self.stop()

    def schedule(self) -> Batch:
        self.now += 1.0
        return self.policy.schedule(self.now)

    def end(self, batch: Batch, *, stopped: bool = False) -> Batch:
        outcomes = self.policy.postprocess(batch, None if stopped else echo(batch))
        self.outcomes |= {outcome.handle: outcome for outcome in outcomes}
        self.policy.pool.check(self.policy.tables())
        assert self.policy.ledger.check()
        return batch

    def step(self) -> Batch:
        return self.end(self.schedule())

    def stop(self) -> Batch:
        batch = self.schedule()
        assert batch.stoppable
        return self.end(batch, stopped=True)

    def stat(self, handle: int, request: Request) -> None:
        self.policy.add(handle, request, Priority.STAT, self.now)

    def finish(self) -> dict[int, Outcome]:
        while self.policy.has_work:
            self.step()
        assert (self.policy.pool.available, self.policy.ledger.promised) == (self.policy.config.blocks, 0)
        return self.outcomes


def handles(batch: Batch) -> list[int]:
    return [row.handle for row in batch.rows]


def test_stat_runs_all_its_steps_and_then_the_pass_goes_on() -> None:
    played = Played(score(60), score(40))
    played.stat(9, Generate((1, 2, 3), 4))
    steps = [played.step() for _ in range(5)]
    assert [handles(step) for step in steps] == [[9], [9], [9], [9], [0, 1]]
    assert [(step.beside, step.stoppable, step.resumes) for step in steps] == [(True, False, False)] * 4 + [(False, True, True)]
    assert [id(row) for row in steps[-1].rows] == [id(row) for row in played.stopped.rows]
    assert (played.policy.freezes, played.policy.frozen_seconds) == (1, 4.0)


def test_no_token_is_computed_twice_and_nobody_gives_way() -> None:
    """Three slots, all taken: those of the pass are lent, and STAT has ended before it goes on."""
    played = Played(score(60), score(60), score(60), blocks=60)
    for handle in (7, 8, 9):
        played.stat(handle, score(17))
    played.finish()
    assert (played.policy.tokens, played.policy.evictions) == (3 * 59 + 3 * 16, 0)


def test_a_stop_without_stat_costs_nothing_and_counts_for_nothing() -> None:
    played = Played(score(60), score(40))
    played.policy.add(2, score(9), Priority.ASAP, 0.0)
    assert (handles(played.step()), played.policy.freezes, played.policy.frozen_seconds) == ([0, 1], 0, 0.0)
    assert handles(played.step())[0] == 2


def test_a_pass_with_short_stat_in_it_is_not_stopped() -> None:
    played = Played(score(60))
    played.stat(9, Generate((1, 2), 9))
    played.step()
    played.finish()
    played.stat(10, Generate((1, 2), 9))
    assert not played.schedule().stoppable


def test_a_pass_of_long_chunks_of_stat_is_stopped_for_a_short_one() -> None:
    played = Played(score(60), long=40, blocks=60)
    played.step()
    played.stat(8, score(200))
    assert 8 in handles(played.stop())
    played.stat(9, score(10))
    assert handles(played.step()) == [9]
    assert 8 in handles(played.step())


@pytest.mark.parametrize("limit", [{"freezes": 1}, {"frozen_seconds": 2.5}])
def test_at_a_limit_the_pass_goes_on_and_those_who_wait_are_counted(limit: dict[str, float]) -> None:
    played = Played(score(60), slots=2, **limit)
    played.stat(9, Generate((1,), 2))
    assert [handles(played.step()) for _ in range(2)] == [[9], [9]]
    if "frozen_seconds" in limit:
        played.stat(7, Generate((1,), 1))
        assert handles(played.step()) == [7]
    assert played.policy.capped_starts == 0
    played.end(played.schedule(), stopped=True)
    played.stat(10, score(9))
    assert handles(played.step()) == [0]
    assert played.policy.capped_starts == 1
    assert handles(played.step())[0] == 10


def test_slots_that_were_lent_are_given_back_by_lower_work() -> None:
    played = Played(score(60), score(60), score(60), blocks=60, frozen_seconds=1.5)
    for handle in (8, 9):
        played.stat(handle, Generate((1,), 30))
    assert [len(played.step().rows) for _ in range(2)] == [2, 2]
    assert (handles(played.step()), played.policy.running, played.policy.evictions) == ([0, 1, 2], 3, 2)
    assert {outcome.state for outcome in played.finish().values()} == {"finished"}


def test_where_stat_fits_only_without_the_pinned_blocks_the_pass_is_abandoned() -> None:
    played = Played(score(90), score(60), blocks=20)
    before = played.policy.tokens
    played.stat(9, score(120))
    batch = played.schedule()
    assert (handles(batch)[0], batch.beside, batch.resumes) == (9, False, False)
    assert (played.policy.abandoned_passes, played.policy.abandoned_tokens) == (1, played.stopped.tokens)
    assert played.policy.tokens == before
    played.end(batch)
    outcomes = played.finish()
    for handle, length in ((0, 90), (1, 60), (9, 120)):
        assert outcomes[handle].result == drive(CONFIG, echo, [Arrival(0, score(length))])[0].result


def test_who_has_no_row_in_the_pass_gives_way_before_it_is_abandoned() -> None:
    """The budget was too small for all: only those with a row in the pass are pinned."""
    played = Played(score(60), score(60), token_budget=16, blocks=20)
    (pinned,) = handles(played.stopped)
    played.stat(9, score(60))
    assert handles(played.step()) == [9]
    assert (played.policy.abandoned_passes, played.policy.evictions) == (0, 1)
    assert played.policy.progress(pinned)[0] > 0


def test_cancelled_in_a_pass_that_stands_still_a_row_keeps_its_blocks_until_the_pass_has_ended() -> None:
    played = Played(score(60), score(40))
    used = played.policy.pool.used
    assert played.policy.cancel(0)
    assert not played.policy.cancel(0)
    played.stat(9, score(9))
    played.step()
    assert (played.policy.pool.used, 0 in played.outcomes) == (used, False)
    assert handles(played.step()) == [0, 1]
    assert played.outcomes[0].state == "cancelled"
    assert played.finish()[1].state == "finished"


def test_cancelled_in_a_pass_that_is_abandoned_a_row_goes_at_once() -> None:
    played = Played(score(90), score(60), blocks=20)
    played.policy.cancel(1)
    played.stat(9, score(150))
    played.step()
    assert (played.outcomes[1].state, played.policy.abandoned_passes) == ("cancelled", 1)
    assert played.finish()[0].state == "finished"


def test_blocks_of_a_pass_that_stands_still_are_not_found_by_others() -> None:
    """The second chunk of a shared prompt is under way: STAT with the same prompt finds the first alone."""
    played = Played(Generate(WINDOW[:40], 3, sharing=REFERENCE))
    played.stat(9, Generate(WINDOW[:40], 3, sharing=REFERENCE))
    (row,) = played.step().rows
    assert row.start == 16
    assert set(row.blocks[2:]).isdisjoint(played.stopped.rows[0].blocks)


def test_a_stat_alternate_that_waits_at_a_trunk_in_the_pass_lets_it_go_on() -> None:
    played = Played(Score(WINDOW, REFERENCE), long=4096)
    played.stat(9, Score(WINDOW, REFERENCE, Branch(40, (3, *WINDOW[41:]))))
    assert played.step().resumes
    assert {0, 9} <= played.finish().keys()


def test_a_limit_that_makes_no_sense_is_refused() -> None:
    for settings in ({"freezes": -1}, {"frozen_seconds": 0.0}, {"frozen_seconds": float("nan")}):
        with pytest.raises(ConfigRefused, match="frozen_seconds"):
            EngineConfig(**settings)


def test_where_passes_never_stand_still_none_is_stopped() -> None:
    policy = scheduler(dataclasses.replace(CONFIG, freezes=0))
    policy.add(0, score(60), Priority.ROUTINE, 0.0)
    assert not policy.schedule(0.0).stoppable
