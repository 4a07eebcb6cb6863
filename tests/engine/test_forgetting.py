"""What nobody may find: what is private, what has no laboratory to belong to, and what is no longer trusted."""

from __future__ import annotations

import dataclasses
import random

import pytest

from engine.batch import Batch, RowOutput
from engine.blocks import BlockPool
from engine.config import EngineConfig
from engine.errors import InvalidRequest
from engine.limits import Limits
from engine.prefix import PrefixCache
from engine.request import REFERENCE, Branch, Generate, NextToken, Outcome, Priority, Request, Score, Sharing
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
        batch = policy.schedule(policy.clock())
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


# Origins: what was computed between two times, and all that is built on it.

OTHER, THIRD = (tuple(place * step % 11 for place in range(64)) for step in (3, 5))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def timed() -> Scheduler:
    made = scheduler(CONFIG, clock=Clock())
    made.seen = []
    return made


def reused(policy: Scheduler, now: float, tokens: tuple[int, ...]) -> int:
    """Score tokens at a time; how many of them were found."""
    policy.clock.now = now
    return run(policy, Score(tokens, REFERENCE))[0].reused


@pytest.mark.parametrize(
    ("span", "found"), [((15, 25), [48, 0, 48]), ((15,), [48, 0, 0]), ((0, 10), [0, 48, 48]), ((), [0, 0, 0]), ((31, 99), [48] * 3)]
)
def test_what_was_computed_between_two_times_is_forgotten_and_nothing_else(
    timed: Scheduler, span: tuple[float, ...], found: list[int]
) -> None:
    windows = [window[:50] for window in (WINDOW, OTHER, THIRD)]
    assert [reused(timed, now, window) for now, window in zip((10, 20, 30), windows, strict=True)] == [0, 0, 0]
    timed.forget(*span)
    assert timed.cache.forgotten == 6 * found.count(0)
    assert [reused(timed, 40, window) for window in windows] == found


@pytest.mark.parametrize(("span", "found"), [((5, 12), 0), ((15, 25), 32), ((10.5, 19), 32)])
def test_what_is_built_on_something_forgotten_is_forgotten_too(timed: Scheduler, span: tuple[float, float], found: int) -> None:
    assert reused(timed, 10, WINDOW[:34]) == 0
    assert reused(timed, 20, WINDOW) == 32
    timed.forget(*span)
    assert reused(timed, 40, WINDOW) == found


def test_what_is_built_on_something_that_was_given_away_is_forgotten_all_the_same() -> None:
    """Else it would be found again as soon as somebody computed its beginning anew."""
    clock, pool, size = Clock(), BlockPool(3), 8
    cache = PrefixCache(pool, size, "", clock)
    first, second, third = (pool.allocate(1)[0] for _ in range(3))
    clock.now = 10.0
    root = cache.root(REFERENCE)
    key = cache.add(root, WINDOW[:8], first, None, since=10.0)
    clock.now = 20.0
    cache.add(key, WINDOW[8:16], second, None, since=10.0)
    pool.release([first])
    assert pool.allocate(1) == [first]
    cache.forget(9.0, 12.0)
    cache.add(root, WINDOW[:8], third, None, since=30.0)
    assert [entry.block for entry in cache.match(cache.chain(root, WINDOW, [], 2), scored=False)] == [third]


class Descent:
    """A model that knows of every block at which steps it, and what it was computed from, was computed."""

    def __init__(self, blocks: int) -> None:
        self.blocks: list[frozenset[float]] = [frozenset()] * blocks
        self.arena: dict[int, frozenset[float]] = {}
        self.requests: dict[int, frozenset[float]] = {}

    def run(self, batch: Batch, now: float) -> list[RowOutput]:
        self.arena.update({slot: self.blocks[block] for block, slot in batch.swap_outs})
        for slot, block in batch.swap_ins:
            self.blocks[block] = self.arena[slot]
        for source, target in batch.copies:
            self.blocks[target] = self.blocks[source]
        for row in batch.rows:
            begun, first, end = (place - row.first for place in (-(-row.start // 8), row.start // 8, -(-row.commit // 8)))
            steps = frozenset({now}).union(*(self.blocks[block] for block in row.blocks[:begun]))
            for block in row.blocks[first:end]:
                self.blocks[block] = steps
            self.requests[row.handle] = self.requests.get(row.handle, frozenset()) | steps
        return echo(batch)


@pytest.mark.parametrize("window", [None, 12])
@pytest.mark.parametrize("seed", range(25))
def test_nobody_who_comes_later_is_given_anything_that_was_forgotten(seed: int, window: int | None) -> None:
    """Random lives, with trunks, branches and giving way; what is asked for after a quarantine descends from no step in it."""
    generator, clock = random.Random(seed), Clock()
    config, model = dataclasses.replace(CONFIG, slots=3, blocks=30), Descent(30)
    policy = scheduler(config, Limits(11, 512, window=window), clock)
    forgotten: list[tuple[int, float, float]] = []  # and the first handle that came after it
    computed_by: dict[int, int] = {}
    taken = 0
    for handle in range(120):
        tokens, at = generator.choice((WINDOW, OTHER, WINDOW[:40] + OTHER)), generator.randint(1, 60)
        plain = (Score(tokens, REFERENCE), NextToken(tokens, sharing=REFERENCE))
        request = generator.choice(
            (*plain, Score(tokens, REFERENCE, Branch(at, (1,) * 9)), Generate(tokens[:at], 5, sharing=REFERENCE))
        )
        policy.add(handle, request, Priority(generator.choice((0, 3, 3, 3))), clock.now)
        trunk = policy.trunks.of(policy._by_handle[handle])
        computed_by[handle] = trunk.handle if trunk and request == plain[0] else handle
        for _ in range(generator.randint(0, 4)):
            clock.now += 1
            batch = policy.schedule(clock.now)
            for outcome in policy.postprocess(batch, model.run(batch, clock.now)):
                steps = model.requests.get(computed_by[outcome.handle], frozenset())
                for come, since, until in forgotten:
                    assert outcome.handle < come or not any(since <= step <= until for step in steps)
                taken += outcome.reused > 0
        if generator.random() < 0.1:
            since = clock.now - generator.randint(0, 30)
            until = since + generator.randint(0, 10)
            policy.forget(since, until)
            forgotten.append((handle + 1, since, min(until, clock.now)))
    assert forgotten
    assert taken > 10
