"""A random life of scheduler and pool: whatever comes, no block is lost, every promise can be kept, every request ends exactly once
and no log-probability is lost on the way.
"""

from __future__ import annotations

import dataclasses

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from engine.batch import RowOutput
from engine.config import EngineConfig
from engine.errors import RowFailed
from engine.limits import Limits
from engine.request import (
    PRIVATE,
    REFERENCE,
    Branch,
    Embed,
    Generate,
    NextToken,
    Outcome,
    Priority,
    Request,
    Score,
    Sharing,
)
from engine.swap.content import Outside
from engine.trunks import Trunk
from tests.engine.driving import LIMITS, echo, scheduler

CONFIG = EngineConfig(
    slots=3, token_budget=24, chunk=16, grid=4, blocks=9, block_size=8, long=40, deep=32,
    reserve=2, resume_margin=1, patience=2, ageing_seconds=5.0, ageing_every=2,
)  # fmt: skip
WINDOWS = [tuple((index * step) % 11 for index in range(length)) for step, length in ((1, 40), (3, 40), (5, 23), (1, 60))]
SHARINGS = st.sampled_from((PRIVATE, REFERENCE, REFERENCE, Sharing("laboratory", "a"), Sharing("laboratory", "b")))


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """Every kind; windows are few, so that they meet."""
    length, sharing, window = draw(st.integers(1, 90)), draw(SHARINGS), draw(st.sampled_from(WINDOWS))
    tokens = tuple(index % 11 for index in range(length))
    at = draw(st.integers(1, len(window) - 1))
    plain = st.sampled_from((
        Score(tokens, sharing),
        Score(window, sharing),
        Score(window, alternatives=(3, 4), alternatives_from=at),
        Generate(tokens, length % 12 + 1, end=5, sharing=sharing),
        Generate(window, 3, sharing=sharing),
        NextToken(window, sharing=sharing),
        Embed(tokens),
    ))  # fmt: skip
    branches = st.builds(lambda token: Score(window, sharing, Branch(at, (token, *window[at + 1 :]))), st.integers(0, 10))
    return draw(st.one_of(plain, branches, branches))


def promised(outcome: Outcome, request: Request) -> None:
    """A finished score holds exactly what the model says of its tokens, whatever happened on the way."""
    if outcome.state != "finished":
        return
    if isinstance(request, Score):
        assert list(outcome.result.logprobs) == [-float(token) for token in request.scored[1:]]
        lines = len(request.tokens) - request.alternatives_from if request.alternatives else 0
        assert list(outcome.result.alternatives) == [-float(token) for token in request.alternatives] * lines
    if isinstance(request, Embed):
        assert outcome.result.vector == (sum(request.tokens) / len(request.tokens),)
    if isinstance(request, NextToken):
        assert len(outcome.result.logprobs) == 11


class Life(RuleBasedStateMachine):
    """Adds, cancels, other classes and pauses before, between and during steps, failing rows."""

    mode, limits = "continuous", LIMITS

    def __init__(self) -> None:
        super().__init__()
        self.policy = scheduler(dataclasses.replace(CONFIG, mode=self.mode), self.limits, outside=self.outside())
        self.next, self.open, self.now = 0, {}, 0.0

    def outside(self) -> Outside | None:
        return None

    @rule(request=requests(), priority=st.sampled_from(Priority))
    def add(self, request: Request, priority: Priority) -> None:
        self.policy.add(self.next, request, priority, self.now, due=self.now + self.next % 20)
        self.open[self.next] = request
        self.next += 1

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        if self.next:
            self.policy.cancel(data.draw(st.integers(0, self.next - 1)))

    @rule(data=st.data(), priority=st.sampled_from(Priority), what=st.sampled_from(("reclass", "hold", "release")))
    def steer(self, data: st.DataObject, priority: Priority, what: str) -> None:
        if self.next:
            handle = data.draw(st.integers(0, self.next - 1))
            given = [priority, data.draw(st.sampled_from((None, self.now, self.now + 9.0)))] if what == "reclass" else []
            getattr(self.policy, what)(handle, *given)

    @rule(request=requests(), cancelled=st.integers(0, 60), fault=st.integers(0, 12), late=st.booleans())
    def step(self, request: Request, cancelled: int, fault: int, late: bool) -> None:
        self.now += 1.0
        batch = self.policy.schedule(self.now)
        self.policy.hold(cancelled - 30)
        self.policy.reclass(cancelled - 20, Priority.STAT)
        if late:
            self.add(request, Priority.STAT)
        self.policy.cancel(cancelled)
        outputs = echo(batch)
        if fault < len(outputs):
            outputs[fault] = RowOutput(error=RowFailed())
        self.end(self.policy.postprocess(batch, outputs))
        assert self.policy.idle_slot_steps == 0

    def end(self, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            promised(outcome, self.open.pop(outcome.handle))

    @invariant()
    def nothing_is_lost(self) -> None:
        self.policy.check()
        assert self.policy.running <= CONFIG.slots

    @invariant()
    def nobody_waits_for_a_lower_class(self) -> None:
        """A trunk has the class of its most urgent waiter, queued, running, sent away or standing aside."""
        trunks = [one for one in self.policy._by_handle.values() if isinstance(one, Trunk) and one.waiters]
        assert [one.priority for one in trunks] == [min(waiter.priority for waiter in one.waiters.values()) for one in trunks]

    @invariant()
    def rows_that_stand_ready_are_those_that_would_be_cut(self) -> None:
        for group in self.policy._slots._groups:
            if group.drawing is not None:
                ready = [dataclasses.replace(row, tokens=list(row.tokens)) for row in group.drawing]
                assert ready == [dataclasses.replace(one.row(one.target)) for one in group.values()]
                assert {one.handle for one in group.short} >= {one.handle for one in group.values() if one.target > one.room}

    @invariant()
    def stat_waits_in_the_order_of_its_due_times(self) -> None:
        for queue in self.policy._waiting._queues[Priority.STAT]:
            dues = [one.due for one in queue.values()]
            assert dues == sorted(dues)
        for one in self.policy._by_handle.values():
            if isinstance(one, Trunk) and one.waiters and one.priority is Priority.STAT:
                assert one.due == min(waiter.due for waiter in one.waiters.values() if waiter.priority is Priority.STAT)

    def teardown(self) -> None:
        for handle in self.open:
            self.policy.release(handle)
        for _ in range(2000):
            if not self.policy.has_work:
                break
            self.now += 1.0
            batch = self.policy.schedule(self.now)
            self.end(self.policy.postprocess(batch, echo(batch)))
        assert not self.open
        assert self.policy.pool.available == CONFIG.blocks
        assert self.policy.ledger.promised == 0


class SlidingLife(Life):
    """The same with a sliding window, so that blocks are given back on the way."""

    limits = Limits(vocabulary=11, context=512, window=12, layers=2)


class StaticLife(Life):
    """The same under static batching."""

    mode = "static"


TestLife, TestSlidingLife, TestStaticLife = Life.TestCase, SlidingLife.TestCase, StaticLife.TestCase
TestLife.settings = settings(max_examples=200, stateful_step_count=50, deadline=None)  # 10,000 steps
TestSlidingLife.settings = TestStaticLife.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
