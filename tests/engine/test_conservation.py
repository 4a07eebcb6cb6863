"""A random life of scheduler and pool: whatever comes, no block is lost and every request ends exactly once."""

from __future__ import annotations

import dataclasses

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from engine.batch import RowOutput
from engine.config import EngineConfig
from engine.errors import RowFailed
from engine.request import Generate, Priority, Score
from tests.engine.driving import echo, scheduler

CONFIG = EngineConfig(slots=3, token_budget=24, chunk=16, grid=4, blocks=9, block_size=8)


class Life(RuleBasedStateMachine):
    """Adds, cancels before, between and during steps, failing rows."""

    mode = "continuous"

    def __init__(self) -> None:
        super().__init__()
        self.policy = scheduler(dataclasses.replace(CONFIG, mode=self.mode))
        self.next, self.open, self.ended = 0, set(), set()

    @rule(kind=st.booleans(), length=st.integers(1, 90), limit=st.integers(1, 12), priority=st.sampled_from(Priority))
    def add(self, kind: bool, length: int, limit: int, priority: Priority) -> None:
        tokens = tuple(index % 11 for index in range(length))
        self.policy.add(self.next, Score(tokens) if kind else Generate(tokens, limit, end=5), priority, 0.0)
        self.open.add(self.next)
        self.next += 1

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        if self.next:
            self.policy.cancel(data.draw(st.integers(0, self.next - 1)))

    @rule(data=st.data(), cancelled=st.integers(0, 60), fault=st.integers(0, 12))
    def step(self, data: st.DataObject, cancelled: int, fault: int) -> None:
        batch = self.policy.schedule(0.0)
        self.policy.cancel(cancelled)
        outputs = echo(batch)
        if fault < len(outputs):
            outputs[fault] = RowOutput(error=RowFailed())
        outcomes = {outcome.handle for outcome in self.policy.postprocess(batch, outputs)}
        assert outcomes <= self.open
        self.open -= outcomes
        assert self.policy.idle_slot_steps == 0

    @invariant()
    def nothing_is_lost(self) -> None:
        self.policy.pool.check(self.policy.tables())
        assert self.policy.running <= CONFIG.slots

    def teardown(self) -> None:
        for _ in range(2000):
            if not self.policy.has_work:
                break
            batch = self.policy.schedule(0.0)
            self.open -= {outcome.handle for outcome in self.policy.postprocess(batch, echo(batch))}
        assert not self.open
        assert self.policy.pool.free == CONFIG.blocks


class StaticLife(Life):
    """The same under static batching."""

    mode = "static"


LENGTHS = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestLife, TestStaticLife = Life.TestCase, StaticLife.TestCase
TestLife.settings = TestStaticLife.settings = LENGTHS
