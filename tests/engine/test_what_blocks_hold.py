"""Random lives of an engine whose model reads its blocks: whatever is shared, copied, given back, taken away, cancelled, failed,
forgotten or computed in parts, every request that finishes has read its own tokens and no others, and every request ends.
"""

from __future__ import annotations

import dataclasses
import random

import pytest

from engine.config import EngineConfig, Mode
from engine.limits import Limits
from engine.request import PRIVATE, REFERENCE, Branch, Embed, Generate, NextToken, Priority, Request, Sampling, Score, Sharing
from engine.swap.content import Outside
from tests.engine.driving import scheduler
from tests.engine.remembering import VOCABULARY, Remembering, answer

SHARINGS = (PRIVATE, REFERENCE, REFERENCE, Sharing("laboratory", "a"), Sharing("laboratory", "b"))
CLASSES = ((0, 1, 2, 3), (0, 3), (3,), (0, 3, 3, 3, 3, 3, 3))
STEPS = 30  # in which requests come


class Life:
    """One engine with settings of its own, and what came and went."""

    def __init__(self, seed: int, mode: Mode) -> None:
        self.generator = generator = random.Random(seed)
        size, grid = generator.choice((1, 2, 4, 8)), generator.choice((1, 2, 4))
        window = generator.choice((None, None, 5, 9))
        self.config = EngineConfig(
            slots=generator.choice((1, 1, 2, 3, 6)),
            token_budget=grid * generator.choice((4, 8, 16)),
            chunk=grid * generator.choice((1, 2, 3, 5)),
            grid=grid,
            blocks=generator.choice((48, 80, 128, 240)) // size,
            block_size=size,
            long=generator.choice((6, 20, 999)),
            deep=generator.choice((8, 999)),
            mode=mode,
        )
        shares = {"faults": generator.choice((0, 0, 0.05)), "shortages": generator.choice((0, 0.02))}
        self.model = Remembering(self.config.blocks, size, window, generator, **shares)
        self.policy = scheduler(self.config, Limits(VOCABULARY, 96, window=window, layers=1), outside=self.outside())
        self.windows = [tuple(generator.choices(range(VOCABULARY), k=generator.randint(2, 50))) for _ in range(2)]
        self.windows.append((*self.windows[0][: len(self.windows[0]) // 2 + 1], *self.windows[1]))
        self.classes, self.rate = generator.choice(CLASSES), generator.choice((0.3, 1, 2.5))
        self.open: dict[int, Request] = {}
        self.added = self.finished = self.idle = 0

    def outside(self) -> Outside | None:
        return None

    def request(self) -> Request:
        """Of any kind, about one of few windows."""
        choose, window, sharing = self.generator.choice, self.generator.choice(self.windows), self.generator.choice(SHARINGS)
        at, some = self.generator.randint(1, len(window) - 1), window[: self.generator.randint(1, len(window))]
        tails = (window[at:], window[at + 1 :] or (5,), (*window[at:], 1, 2), (3, *window[at + 1 :]), (7,))
        kinds = (
            *(Score(window, sharing, Branch(at, tail)) for tail in tails),
            Score(window, sharing),
            Score(window, sharing, alternatives=(3, 4), alternatives_from=at),
            Generate(some, choose((1, 9)), Sampling(seed=choose((1, 2))), choose((None, 3)), sharing),
            NextToken(some, choose(((), (2, 5))), sharing),
            Embed(some, choose(("mean", "last"))),
        )
        return choose(kinds)

    def happen(self, share: float) -> None:
        """Somebody comes, somebody is cancelled; between steps or while one computes."""
        while self.generator.random() < share / (share + 1):
            request = self.open[self.added] = self.request()
            self.policy.add(self.added, request, Priority(self.generator.choice(self.classes)), 0.0)
            self.added += 1
        if self.added and self.generator.random() < 0.1:
            self.policy.cancel(self.generator.randrange(self.added))

    def step(self, *, open_to_all: bool) -> None:
        if open_to_all:
            self.happen(self.rate)
            if self.generator.random() < 0.03:
                self.policy.forget()
        work, batch = bool(self.policy.running or self.policy.waiting), self.policy.schedule(0.0)
        if open_to_all:
            self.happen(0.3)
        outcomes = self.policy.postprocess(batch, self.model.run(batch))
        gets_on = batch.rows or batch.swap_outs or outcomes or not work or self.policy.swapping.loading
        self.idle = 0 if gets_on else self.idle + 1
        assert self.idle < 2, "nobody gets on"  # a pass that nobody wants any more is given up in a step of its own
        for outcome in outcomes:
            request = self.open.pop(outcome.handle)
            if outcome.result is not None:
                self.finished += 1
                expected = self.model.expected(request)
                assert [*map(list, answer(outcome.result))] == [*map(list, expected)], request
        self.policy.check()

    def end(self) -> None:
        while self.policy.has_work:
            self.step(open_to_all=False)
        assert not self.open
        assert (self.policy.pool.used, self.policy.ledger.promised, list(self.policy.trunks)) == (0, 0, [])


def lived(seed: int, mode: Mode = "continuous") -> Life:
    life = Life(seed, mode)
    for _ in range(STEPS):
        life.step(open_to_all=True)
    life.end()
    return life


@pytest.mark.parametrize("block", range(5))
def test_whatever_happens_each_reads_its_own_tokens(block: int) -> None:
    lives = [lived(seed) for seed in range(block * 40, block * 40 + 40)]
    assert sum(life.finished for life in lives) > 200
    assert sum(life.policy.evictions for life in lives) > 0
    assert sum(life.policy.reused_tokens for life in lives) > 0


def test_static_batching_reads_its_own_tokens_too() -> None:
    assert sum(lived(seed, "static").finished for seed in range(30)) > 200


def test_control_a_branch_without_its_copy_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: what is looked for above can be found."""
    run = Remembering.run
    monkeypatch.setattr(Remembering, "run", lambda self, batch: run(self, dataclasses.replace(batch, copies=())))
    with pytest.raises(AssertionError, match="reads"):
        for seed in range(40):
            lived(seed)
