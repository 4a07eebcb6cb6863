"""Under a sliding window a trunk keeps a window of tokens for each alternate that waits; when that is too much, it waits itself."""

from __future__ import annotations

import dataclasses
import random

import pytest

from engine.config import EngineConfig
from engine.limits import Limits
from engine.request import PRIVATE, REFERENCE, Branch, Generate, NextToken, Outcome, Priority, Request, Score
from engine.scheduler import Scheduler
from engine.waiting import SIGHT
from tests.engine.driving import scheduler
from tests.engine.remembering import VOCABULARY, Remembering, answer

SPAN = 16
LIMITS = Limits(VOCABULARY, 1024, window=SPAN)
CONFIG = EngineConfig(slots=2, token_budget=32, chunk=8, grid=4, blocks=24, block_size=8)
MOST = (SPAN + CONFIG.chunk) // 8 + 2  # blocks of one that slides
WINDOW = tuple(random.Random(4).choices(range(VOCABULARY), k=401))  # fifty blocks, twice the pool


def alternate(at: int, length: int = 9) -> Score:
    return Score(WINDOW, REFERENCE, Branch(at, ((WINDOW[at] + 1) % VOCABULARY,) * length))


class Played:
    """A scheduler and a model that reads its blocks; the most blocks in use after any step."""

    def __init__(self, config: EngineConfig = CONFIG) -> None:
        self.policy = scheduler(config, LIMITS)
        self.model = Remembering(config.blocks, config.block_size, SPAN, random.Random(1), faults=0, shortages=0)
        self.requests: dict[int, Request] = {}
        self.most = 0

    def add(self, *requests: Request, priority: Priority = Priority.ROUTINE) -> None:
        for request in requests:
            self.policy.add(len(self.requests), request, priority, 0.0)
            self.requests[len(self.requests)] = request

    def run(self, steps: int = 2000) -> dict[int, Outcome]:
        """So many steps, or to the end; every result is right and every account balanced."""
        found = {}
        while self.policy.has_work and steps:
            batch = self.policy.schedule(0.0)
            found |= {outcome.handle: outcome for outcome in self.policy.postprocess(batch, self.model.run(batch))}
            self.most = max(self.most, self.policy.pool.used)
            self.policy.pool.check(self.policy.tables())
            assert self.policy.ledger.check()
            steps -= 1
        for handle, outcome in found.items():
            assert [*map(list, answer(outcome.result))] == [*map(list, self.model.expected(self.requests[handle]))]
        return found


def test_a_trunk_of_twice_the_pool_is_computed_once_for_its_window_and_all_alternates() -> None:
    places, played = (40, 100, 101, 250, 390), Played()
    played.add(Score(WINDOW, REFERENCE), *(alternate(at) for at in places))
    assert len(played.run()) == 6
    policy = played.policy
    assert (policy.tokens, policy.trunk_tokens, policy.recomputed_tokens) == (400 + 5 * 8, 400, 0)
    assert played.most <= MOST + CONFIG.slots * MOST
    assert policy.pauses == 0


def test_a_trunk_stands_aside_when_too_many_alternates_wait_and_goes_on_when_they_have_ended() -> None:
    """Each that waits keeps two or three blocks, sixty would need six times the pool."""
    places, played = range(20, 380, 6), Played()
    played.add(*(alternate(at) for at in places))
    assert len(played.run()) == 60
    assert played.policy.pauses > 0
    assert (played.policy.tokens, played.policy.evictions) == (places[-1] + 60 * 8, 0)


@pytest.mark.parametrize("slots", [1, 2, 5])
@pytest.mark.parametrize("length", [2, 9, 60, 150])
def test_trunks_that_stand_aside_at_the_same_time_all_end(slots: int, length: int) -> None:
    played = Played(dataclasses.replace(CONFIG, slots=slots, blocks=30))
    others = [tuple((token + shift) % VOCABULARY for token in WINDOW[:300]) for shift in (1, 2)]
    for at in range(20, 280, 9):
        played.add(alternate(at, length), *(Score(other, REFERENCE, Branch(at, (3,) * length)) for other in others))
    played.add(*(Generate(WINDOW[:at], 9) for at in range(5, 100, 7)))
    assert all(outcome.state == "finished" for outcome in played.run().values())


def test_trunks_that_stand_aside_hide_no_alternate_that_can_go_on() -> None:
    """More of them than are looked at for one that fits: whoever waits behind them runs, and they go on after it."""
    played = Played(dataclasses.replace(CONFIG, slots=32, token_budget=512, blocks=110))
    others = [tuple((token + place * shift) % VOCABULARY for place, token in enumerate(WINDOW[:100])) for shift in range(14)]
    played.add(*(Score(other, REFERENCE, Branch(at, (3,) * 60)) for other in others for at in range(10, 90, 6)))
    assert len(played.run()) == len(played.requests)
    assert played.policy.pauses > SIGHT


def standing_aside() -> Played:
    """A trunk that waits for its alternates, with nearly every block in use."""
    played = Played(dataclasses.replace(CONFIG, slots=1))
    played.add(*(alternate(at, 40) for at in range(20, 380, 6)))
    while not played.policy.pauses:
        played.run(1)
    return played


def test_a_stat_request_takes_the_blocks_of_a_trunk_that_stands_aside() -> None:
    played = standing_aside()
    played.add(Generate((1, 2, 3), 160), priority=Priority.STAT)
    (first, *_), evictions = played.run(), played.policy.evictions
    assert (first, evictions > 0) == (60, True)


def test_below_stat_nobody_takes_the_blocks_of_a_trunk_that_stands_aside() -> None:
    played = standing_aside()
    played.add(Generate((1, 2, 3), 30), priority=Priority.ASAP)
    played.run()
    assert played.policy.evictions == 0


def test_when_its_alternates_are_cancelled_a_trunk_that_stands_aside_ends_with_them() -> None:
    played = standing_aside()
    assert all(played.policy.cancel(handle) for handle in list(played.policy._by_handle) if handle >= 0)
    assert {outcome.state for outcome in played.policy.postprocess(played.policy.schedule(0.0), [])} == {"cancelled"}
    assert (played.policy.pool.used, played.policy.ledger.promised, played.policy.has_work) == (0, 0, False)


def test_an_alternate_that_comes_when_its_trunk_has_slid_on_is_computed_by_itself_from_what_is_still_cached() -> None:
    played = Played(dataclasses.replace(CONFIG, blocks=80))
    played.add(Score(WINDOW, REFERENCE))
    played.run(30)
    played.add(alternate(100))
    assert played.run()[1].reused == 96
    assert played.policy.tokens == 400 + 100 + 8 - 96


def drained(policy: Scheduler, blocks: int) -> None:
    """So many cached blocks are given to somebody else for a while, the longest unused first."""
    policy.pool.release(policy.pool.allocate(policy.pool.free + blocks))


def test_a_hit_needs_only_the_blocks_of_the_last_window() -> None:
    played = Played(dataclasses.replace(CONFIG, blocks=80))
    played.add(NextToken(WINDOW[:201], sharing=REFERENCE))
    played.run()
    assert played.policy.pool.cached == 25
    drained(played.policy, 22)
    played.add(NextToken(WINDOW[:201], sharing=REFERENCE))
    assert played.run()[1].reused == 200
    drained(played.policy, 2)  # now a block of the window is missing
    played.add(NextToken(WINDOW[:201], sharing=REFERENCE))
    assert played.run()[2].reused == 0


def test_a_score_takes_up_scores_of_everything_and_blocks_of_the_last_window() -> None:
    played = Played(dataclasses.replace(CONFIG, blocks=80))
    played.add(Score(WINDOW, REFERENCE))
    played.run()
    played.most = 0
    played.add(Score(WINDOW, REFERENCE))
    assert played.run()[1].reused == 392
    assert played.most <= MOST
    drained(played.policy, 1)  # the scores of the beginning have gone with their block
    played.add(Score(WINDOW, REFERENCE))
    assert played.run()[2].reused == 0


def test_who_keeps_its_beginning_to_itself_shares_nothing_under_a_window_either() -> None:
    played = Played()
    played.add(Score(WINDOW, PRIVATE), NextToken(WINDOW))
    played.run()
    assert (len(played.policy.cache), played.policy.tokens) == (0, 400 + 401)
