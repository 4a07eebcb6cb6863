"""The block pool: nothing is lost, nothing is held twice, and every fault is found."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from engine.blocks import BlockPool
from engine.errors import BlockAccounting

TOTAL = 13


class Conservation(RuleBasedStateMachine):
    """Random taking, sharing and releasing: the accounts always balance."""

    def __init__(self) -> None:
        super().__init__()
        self.pool, self.tables = BlockPool(TOTAL), []

    @rule(count=st.integers(1, 5))
    def allocate(self, count: int) -> None:
        if count <= self.pool.free:
            self.tables.append(self.pool.allocate(count))
        else:
            with pytest.raises(BlockAccounting):
                self.pool.allocate(count)

    @rule(data=st.data())
    def share(self, data: st.DataObject) -> None:
        if self.tables:
            table = list(data.draw(st.sampled_from(self.tables)))
            self.pool.share(table)
            self.tables.append(table)

    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        if self.tables:
            self.pool.release(self.tables.pop(data.draw(st.integers(0, len(self.tables) - 1))))

    @invariant()
    def accounts_balance(self) -> None:
        self.pool.check(self.tables)
        assert self.pool.free + self.pool.used == TOTAL


TestConservation = Conservation.TestCase
TestConservation.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_a_leaked_block_is_found() -> None:
    pool = BlockPool(4)
    pool.allocate(2)
    with pytest.raises(BlockAccounting, match="0 holders"):
        pool.check([])


def test_a_block_held_twice_without_a_reference_is_found() -> None:
    pool = BlockPool(4)
    table = pool.allocate(1)
    with pytest.raises(BlockAccounting, match="2 holders"):
        pool.check([table, table])


def test_a_second_release_is_refused() -> None:
    pool = BlockPool(4)
    table = pool.allocate(1)
    pool.release(table)
    with pytest.raises(BlockAccounting, match="more often"):
        pool.release(table)


def test_a_free_block_cannot_be_shared() -> None:
    with pytest.raises(BlockAccounting, match="free"):
        BlockPool(4).share([0])


def test_blocks_set_free_are_told_once() -> None:
    pool = BlockPool(4)
    first, second = pool.allocate(2), pool.allocate(1)
    pool.release(first)
    assert pool.drain_released() == tuple(first)
    pool.release(second)
    assert pool.drain_released() == tuple(second)
