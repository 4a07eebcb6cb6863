"""When a request stood still for more urgent work: with times, while it does and on its outcome; what never did says nothing."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from engine.config import EngineConfig
from engine.kinds import sequence_of
from engine.request import REFERENCE, Branch, Interruption, Priority, Score
from engine.sequence import KEPT
from tests.engine.driving import echo, scheduler
from tests.engine.test_freezing import Played, score

CONFIG = EngineConfig(slots=1, token_budget=64, chunk=16, grid=4, blocks=24, block_size=8, freezes=0)
WINDOW = tuple(index % 11 for index in range(60))


class Clocked:
    """A scheduler without freezing whose clock goes on by one with every step."""

    def __init__(self, *requests: Score, **settings: object) -> None:
        self.now = 0.0
        self.policy = scheduler(dataclasses.replace(CONFIG, **settings), clock=lambda: self.now)
        for handle, request in enumerate(requests):
            self.policy.add(handle, request, Priority.ROUTINE, 0.0)
        self.outcomes = {}

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            self.now += 1.0
            batch = self.policy.schedule(self.now)
            self.outcomes |= {outcome.handle: outcome for outcome in self.policy.postprocess(batch, echo(batch))}

    def state(self, handle: int) -> str:
        found = self.policy.whereabouts(handle)
        return found.state if found else "ended"

    def finish(self) -> None:
        while self.policy.has_work:
            self.step()


def test_who_gives_way_says_from_when_to_when() -> None:
    played = Clocked(score(60))
    assert played.state(0) == "waiting"
    played.step(2)
    assert played.state(0) == "running"
    played.policy.add(9, score(20), Priority.STAT, played.now)
    played.step(1)
    assert played.state(0) == "paused"
    assert played.policy.whereabouts(0).interruptions == (Interruption("evicted", 3.0, None),)
    played.step(2)
    assert played.state(0) == "running"
    played.finish()
    assert played.outcomes[0].interruptions == (Interruption("evicted", 3.0, 5.0),)
    assert played.outcomes[0].started_at == 1.0
    assert played.outcomes[9].interruptions == () and played.policy.whereabouts(0) is None


def test_a_pass_that_stands_still_is_told_of_all_its_rows() -> None:
    played = Played(score(60), score(40))
    played.stat(9, score(33))
    began = played.now + 1
    played.step()
    assert [played.policy.whereabouts(handle).state for handle in (0, 1, 9)] == ["paused", "paused", "running"]
    outcomes = played.finish()
    (told,) = {outcomes[handle].interruptions for handle in (0, 1)}
    assert told == (Interruption("frozen", began, began + 2),)
    assert sum(one.until - one.since for one in told) == played.policy.frozen_seconds


def test_a_pass_that_is_stopped_without_stat_was_not_interrupted() -> None:
    played = Played(score(60), score(40))
    played.policy.add(2, score(9), Priority.ASAP, 0.0)
    assert {outcome.interruptions for outcome in played.finish().values()} == {()}


def test_who_is_sent_away_from_a_pass_that_is_abandoned_does_not_go_on_with_it() -> None:
    """Both stood still; the STAT that needs their blocks sends one of them away, and that one waits on."""
    played = Played(score(60), score(40), blocks=14)
    played.stat(9, score(90))
    played.step()
    assert played.policy.abandoned_passes == 1
    states = [played.policy.whereabouts(handle).state for handle in (0, 1)]
    assert "paused" in states
    for handle, state in enumerate(states):
        assert (played.policy._by_handle[handle].running, state) in {(True, "running"), (False, "paused")}
    assert all(one.until is not None for outcome in played.finish().values() for one in outcome.interruptions)


def test_what_waits_at_a_trunk_is_where_the_trunk_is() -> None:
    window = Score(WINDOW, REFERENCE)
    played = Clocked(window, dataclasses.replace(window, branch=Branch(50, WINDOW[:9])), slots=1)
    played.step(2)
    assert (played.state(0), played.state(1)) == ("running", "running")
    played.policy.add(9, score(10), Priority.STAT, played.now)
    played.step()
    assert (played.state(0), played.state(1)) == ("paused", "paused")
    played.finish()
    assert [one.how for one in played.outcomes[0].interruptions] == ["evicted"]


@pytest.mark.parametrize("times", [3, 3 * KEPT])
def test_the_latest_are_kept_and_no_more_than_that(times: int) -> None:
    sequence, moments = sequence_of(1, score(9), Priority.ROUTINE, 0.0), itertools.count(1.0)
    for _ in range(times):
        sequence.stand_still("evicted", next(moments))
        sequence.go_on(next(moments))
    assert len(sequence.interruptions) == min(times, KEPT)
    assert sequence.interruptions[-1] == Interruption("evicted", 2.0 * times - 1, 2.0 * times)


def test_a_clock_that_is_set_back_gives_no_negative_time() -> None:
    sequence = sequence_of(1, score(9), Priority.ROUTINE, 0.0)
    sequence.stand_still("evicted", 100.0)
    sequence.go_on(40.0)
    assert sequence.interruptions == (Interruption("evicted", 100.0, 100.0),)
