"""A random life of the real scheduler with passes that are stopped, while clocks jump, rows fail, and requests are cancelled,
forgotten and overtaken: after every step no block is lost, what stands still is pinned, and no limit is passed.
"""

from __future__ import annotations

import dataclasses

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from engine.batch import Batch, RowOutput
from engine.errors import RowFailed
from engine.request import Priority, Request
from tests.engine.driving import echo, scheduler
from tests.engine.test_conservation import CONFIG, Life, SlidingLife, requests

LIMITED = dataclasses.replace(CONFIG, freezes=2, frozen_seconds=3.0)


class FrozenLife(Life):
    """Every pass that may be stopped can be, as often as it likes."""

    def __init__(self) -> None:
        super().__init__()
        self.policy = scheduler(LIMITED, self.limits, outside=self.outside())
        self.now = 0.0
        self.seen = (0.0, 0)

    @rule(seconds=st.sampled_from((-1000.0, 0.0, 0.5, 2.0, 50.0)))
    def tick(self, seconds: float) -> None:
        self.now += seconds

    @rule(since=st.floats(-1, 1), until=st.floats(0, 2))
    def forget(self, since: float, until: float) -> None:
        self.policy.forget(since, until)

    @rule(request=requests(), cancelled=st.integers(0, 60), fault=st.integers(0, 12), late=st.booleans())
    def step(self, request: Request, cancelled: int, fault: int, late: bool) -> None:
        batch = self._scheduled(request, cancelled, late=late)
        outputs = echo(batch)
        if fault < len(outputs):
            outputs[fault] = RowOutput(error=RowFailed())
        self.end(self.policy.postprocess(batch, outputs))

    @rule(request=requests(), cancelled=st.integers(0, 60), late=st.booleans())
    def stop(self, request: Request, cancelled: int, late: bool) -> None:
        batch = self._scheduled(request, cancelled, late=late)
        self.end(self.policy.postprocess(batch, None if batch.stoppable and batch.rows else echo(batch)))

    @rule(request=requests(), cancelled=st.integers(0, 60), late=st.booleans())
    def stop_whatever_it_is(self, request: Request, cancelled: int, late: bool) -> None:
        """As where somebody changes a request on its way: a pass with STAT in it too."""
        batch = self._scheduled(request, cancelled, late=late)
        self.end(self.policy.postprocess(batch, None if batch.rows else echo(batch)))

    def _scheduled(self, request: Request, cancelled: int, *, late: bool) -> Batch:
        """A step that computes; meanwhile requests come, are cancelled, held, promoted and demoted."""
        batch = self.policy.schedule(self.now)
        assert self.policy.idle_slot_steps == 0
        if late:
            self.add(request, Priority.STAT)
        self.policy.hold(cancelled - 30)
        self.policy.reclass(cancelled - 20, Priority.STAT)
        self.policy.reclass(cancelled - 10, Priority.URGENT)
        self.policy.cancel(cancelled)
        return batch

    @invariant()
    def nothing_is_lost(self) -> None:
        self.policy.check()
        most = max(self.policy.places, sum(one.priority is Priority.STAT for one in self.policy._slots))
        assert self.policy.running <= most  # a trunk in the pass may have become STAT beside STAT that runs in the slots lent

    @invariant()
    def no_limit_is_passed(self) -> None:
        one, before = self.policy._standing, self.seen
        self.seen = self.policy.frozen_seconds, self.policy.freezes
        assert before[0] <= self.seen[0]
        assert before[1] <= self.seen[1]
        assert one is None or one.freezes <= LIMITED.freezes
        assert self.policy._in_vain <= LIMITED.freezes
        assert bool(self.policy.held) is (one is not None or self.policy._halted is not None)
        assert self.policy._doomed <= self.policy.held | self.policy._by_handle.keys()

    @invariant()
    def what_stands_still_is_pinned(self) -> None:
        one, halted = self.policy._standing, self.policy._halted
        self.policy.cache.strike_out()  # as whoever looks for blocks does first
        for row in (*(one.batch.rows if one else ()), *(halted.rows if halted else ())):
            sequence = self.policy._by_handle[row.handle]
            assert sequence.running
            assert sequence.computed == row.start or sequence.computed < row.commit
            assert row.blocks is sequence.blocks
            assert all(self.policy.pool.references(block) > 0 for block in row.blocks)
            assert not any(block in self.policy.cache._keys for block in row.blocks[-(-row.start // 8) - row.first :])


class FrozenSlidingLife(FrozenLife):
    """The same with a sliding window."""

    limits = SlidingLife.limits


TestFrozenLife, TestFrozenSlidingLife = FrozenLife.TestCase, FrozenSlidingLife.TestCase
TestFrozenLife.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
TestFrozenSlidingLife.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
