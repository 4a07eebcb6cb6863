"""Who is next, against the rule in its plainest form; and what a chain of blocks brings, against every block looked at."""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Iterator

import pytest

from engine.blocks import BlockPool
from engine.config import EngineConfig
from engine.kinds import sequence_of
from engine.prefix import Entry, PrefixCache
from engine.request import PRIVATE, REFERENCE, Priority, Score
from engine.sequence import Sequence
from engine.waiting import SIGHT, Waiting

SIZE = 4
CONFIG = EngineConfig(ageing_seconds=math.inf)
PATIENCE = CONFIG.patience


def _sequence(handle: int, generator: random.Random) -> Sequence:
    """One that is new, a branch that has left its trunk, or one that stands aside."""
    found = sequence_of(handle, Score((1, 2, 3)), generator.choice(list(Priority)), 0.0)
    found.computed = generator.choice((0, 0, 1))
    found.started_at = generator.choice((None, 0.0))
    found.passed = generator.choice((0, 0, PATIENCE - 1, PATIENCE))
    return found


def _kind(sequence: Sequence) -> int:
    """Which of the three queues of a class: stands aside, branch, everybody else."""
    return 2 if sequence.computed == 0 else 0 if sequence.started_at is not None else 1


def _next(order: list[Sequence], impatient: list[Sequence], fitting: set[int], lowest: Priority) -> Sequence | None:
    """Class by class: who holds blocks goes first and may pass anybody; others only where nobody more urgent of them waits. Whoever
    was the first to be passed over too often goes before its class.
    """
    gathers = min(impatient, key=lambda one: one.priority, default=None)
    for priority in (one for one in Priority if one <= lowest):
        queues = [[one for one in order if one.priority == priority and _kind(one) == kind] for kind in range(3)]
        for one in (*queues[0][:SIGHT], *queues[1][:SIGHT]):
            if one.handle in fitting:
                return one
        if any(one.priority < priority and _kind(one) == 2 for one in order):
            continue
        if gathers is not None and gathers.priority == priority and gathers.handle in fitting:
            return gathers
        for one in queues[2][:SIGHT]:
            if one.handle in fitting:
                return one
            if one.passed >= PATIENCE:
                break
    return None


@pytest.mark.parametrize("seed", range(40))
def test_who_is_next_is_what_the_rule_says(seed: int) -> None:
    generator, waiting, order, impatient = random.Random(seed), Waiting(CONFIG), [], []
    for handle in range(120):
        new, first = _sequence(handle, generator), generator.random() < 0.2
        waiting.append(new, first=first)
        order.insert(0 if first else len(order), new)
        impatient += [new] if _kind(new) == 2 and new.passed >= PATIENCE else []
        fitting = {one.handle for one in order if generator.random() < 0.15}
        lowest = generator.choice(list(Priority))
        chosen = waiting.choose(lambda one, fitting=fitting: one.handle in fitting, lowest)
        assert chosen is _next(order, impatient, fitting, lowest)
        if chosen is not None and generator.random() < 0.7:
            before = [one for one in order[: order.index(chosen)] if one.place is chosen.place][:SIGHT]
            passed = [one.passed + 1 for one in before]
            waiting.start(chosen)
            order.remove(chosen)
            assert [one.passed for one in before] == passed
            late = [one for one in before if _kind(one) == 2 and one.passed >= PATIENCE]
            impatient = [one for one in [*impatient, *late] if one is not chosen]
            impatient = list(dict.fromkeys(impatient))
        if order and generator.random() < 0.2:
            gone = order.pop(generator.randrange(len(order)))
            waiting.take(gone)
            impatient = [one for one in impatient if one is not gone]
        assert {one.handle for one in waiting} == {one.handle for one in order}
        assert [waiting.count(one) for one in Priority] == [sum(each.priority == one for each in order) for one in Priority]
        assert waiting.first() is min(order, key=lambda one: (one.priority, _kind(one), order.index(one)), default=None)
        assert waiting.holding(Priority.STAT) == sorted(
            (one for one in order if one.priority != Priority.STAT and _kind(one) < 2),
            key=lambda one: (one.priority, _kind(one), order.index(one)),
        )


class Plain:
    """What has been made findable, by all the tokens that lead to it: (block, scores, since, until)."""

    def __init__(self) -> None:
        self.kept: dict[tuple[bytes, tuple[int, ...]], tuple[int, array[float] | None, float, float]] = {}

    def drop(self, blocks: set[int]) -> None:
        self.kept = {key: entry for key, entry in self.kept.items() if entry[0] not in blocks}

    def usable(self, root: bytes, tokens: tuple[int, ...], *, scored: bool, window: int | None) -> list[int | None]:
        """The longest beginning of which every block is there that is read, and all of them where scores are wanted."""
        blocks = []
        for end in range(SIZE, len(tokens) + 1, SIZE):
            entry = self.kept.get((root, tokens[:end]))
            blocks.append(None if entry is None or (scored and entry[1] is None) else entry[0])
        for count in range(len(blocks), 0, -1):
            first = 0 if scored or window is None else max(0, count * SIZE - max(window, 2) + 1) // SIZE
            if all(block is not None for block in blocks[first:count]):
                return blocks[:count]
        return []


def _chains(generator: random.Random) -> Iterator[tuple[int, ...]]:
    base = tuple(generator.choices(range(3), k=24))
    while True:
        at = generator.randrange(0, 25, SIZE)
        yield (*base[:at], *generator.choices(range(3), k=24 - at))


@pytest.mark.parametrize("seed", range(60))
def test_what_a_chain_brings_is_what_every_block_looked_at_brings(seed: int) -> None:
    generator, now = random.Random(seed), [0.0]
    pool, plain = BlockPool(40), Plain()
    cache = PrefixCache(pool, SIZE, "fingerprint", lambda: now[0])
    roots, chains, held = [cache.root(PRIVATE), cache.root(REFERENCE)], _chains(generator), []
    for _ in range(60):
        now[0] += 1.0
        root, tokens, scored = generator.choice(roots), next(chains), generator.random() < 0.5
        if generator.random() < 0.6 and pool.available >= 6:
            _add(generator, cache, plain, pool, root, tokens, scored, held, now[0])
        while held and generator.random() < 0.6:
            pool.release(held.pop(generator.randrange(len(held))))
        if generator.random() < 0.1:
            since = generator.uniform(0, now[0])
            cache.forget(since, since + 5.0)
            plain.drop({block for block, _, begun, ended in plain.kept.values() if begun <= since + 5.0 and since <= ended})
        window = generator.choice((None, 1, 5, 9))
        seen = None if window is None else lambda position, window=window: max(0, position - max(window, 2) + 1) // SIZE
        found = cache.match(cache.chain(root, tokens, [], len(tokens) // SIZE), scored=scored, seen_from=seen)
        assert [None if one is None else one.block for one in _known(found, scored)] == _known(
            plain.usable(root, tokens, scored=scored, window=window), scored
        )
        assert len(cache) == len(plain.kept)
        pool.check(held)


def _known(found: list[Entry | None] | list[int | None], _scored: bool) -> list:
    return found


def _add(
    generator: random.Random, cache: PrefixCache, plain: Plain, pool: BlockPool, root: bytes, tokens: tuple[int, ...],
    scored: bool, held: list[list[int]], now: float,
) -> None:  # fmt: skip
    """Somebody computed these tokens from some block on, and holds the blocks."""
    blocks, key = pool.allocate(6), root
    plain.drop(set(blocks))
    since = generator.uniform(now - 10, now)
    for number, block in enumerate(blocks):
        piece = tokens[number * SIZE : (number + 1) * SIZE]
        scores = array("f", [float(now)] * SIZE) if scored else None
        key = cache.add(key, piece, block, scores, since)
        place = (root, tokens[: (number + 1) * SIZE])
        there = plain.kept.get(place)
        if there is None or (there[1] is None and scores is not None):
            if there is not None:
                plain.drop({there[0]})
            plain.kept[place] = block, scores, since, now
    held.append(blocks)
