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
    """Random taking, sharing, copying out and releasing: the accounts always balance."""

    def __init__(self) -> None:
        super().__init__()
        self.pool, self.tables, self.kept, self.draining = BlockPool(TOTAL), [], set(), []

    @rule(count=st.integers(1, 5))
    def allocate(self, count: int) -> None:
        if count <= self.pool.available:
            self.tables.append(self.pool.allocate(count))
            self.kept -= set(self.pool.drain_evicted())
            assert not self.kept & set(self.tables[-1])
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

    @rule(data=st.data())
    def keep(self, data: st.DataObject) -> None:
        if self.tables:
            block = data.draw(st.sampled_from(data.draw(st.sampled_from(self.tables))))
            self.pool.keep(block)
            self.kept.add(block)

    @rule(data=st.data())
    def drain(self, data: st.DataObject) -> None:
        if self.tables:
            table = self.tables.pop(data.draw(st.integers(0, len(self.tables) - 1)))
            own = [block for block in table if self.pool.references(block) == 1]
            self.pool.drain(own)
            self.pool.release([block for block in table if block not in own])
            self.draining.append(own)

    @rule()
    def drained(self) -> None:
        if self.draining:
            self.pool.drained(self.draining.pop())

    @rule(data=st.data())
    def find_again(self, data: st.DataObject) -> None:
        if findable := self.kept.difference(*self.draining):
            table = [data.draw(st.sampled_from(sorted(findable)))]
            self.pool.share(table)
            self.tables.append(table)

    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        if self.kept:
            block = data.draw(st.sampled_from(sorted(self.kept)))
            self.pool.forget(block)
            self.kept.remove(block)

    @invariant()
    def accounts_balance(self) -> None:
        self.pool.check(self.tables)
        held = {block for table in self.tables for block in table}
        assert (self.pool.used, self.pool.cached) == (len(held), len(self.kept.difference(held, *self.draining)))
        assert self.pool.draining == sum(map(len, self.draining))
        assert self.pool.free + self.pool.cached + self.pool.used + self.pool.draining == TOTAL


TestConservation = Conservation.TestCase
TestConservation.settings = settings(max_examples=200, stateful_step_count=50, deadline=None)  # 10,000 steps


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
    assert pool.drain_released() == tuple(reversed(first))
    pool.release(second)
    assert pool.drain_released() == tuple(second)


def test_what_is_kept_is_cached_and_given_away_last_the_least_recently_used_first() -> None:
    pool = BlockPool(4)
    table = pool.allocate(3)
    for block in table:
        pool.keep(block)
    pool.release(table)
    assert (pool.free, pool.cached, pool.available) == (1, 3, 4)
    pool.share(table[2:])  # used again: now the last to go
    pool.release(table[2:])
    assert pool.allocate(2) == [3, table[1]]
    assert pool.drain_evicted() == [table[1]]


def test_a_cached_chain_loses_its_end_before_its_beginning() -> None:
    pool = BlockPool(3)
    table = pool.allocate(3)
    for block in table:
        pool.keep(block)
    pool.release(table)
    assert pool.allocate(1) == [table[2]]


def test_a_forgotten_block_becomes_free() -> None:
    pool = BlockPool(2)
    (block,) = pool.allocate(1)
    pool.keep(block)
    pool.release([block])
    pool.forget(block)
    assert (pool.free, pool.cached) == (2, 0)
    assert pool.drain_released() == (block,)


def test_a_free_block_has_nothing_to_keep() -> None:
    with pytest.raises(BlockAccounting, match="no content"):
        BlockPool(2).keep(0)
