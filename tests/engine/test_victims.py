"""Who is sent away: strictly by class, and nobody for nothing, whatever is shared among whom."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.blocks import BlockPool
from engine.kinds import sequence_of
from engine.preemption import Leaving, victims
from engine.request import Priority, Score
from engine.sequence import Reserve, Sequence

Row = tuple[Priority, int, int, int, bool]  # class, own blocks, blocks of the common ones, promised, in the common reserve
ROWS = st.lists(
    st.tuples(st.sampled_from(Priority), st.integers(0, 5), st.integers(0, 3), st.integers(0, 3), st.booleans()), max_size=8
)


def candidates(rows: list[Row]) -> tuple[BlockPool, list[Sequence]]:
    """Running sequences that hold blocks of their own, share some, and some of which have a reserve in common."""
    pool, found = BlockPool(64), list[Sequence]()
    common = pool.allocate(3)
    members = [number for number, row in enumerate(rows) if row[4]]
    reserve = None
    for number, (priority, own, shared, promised, _) in enumerate(rows):
        one = sequence_of(number, Score((1,) * 60), priority, 0.0)
        pool.share(common[:shared])
        one.blocks, one.promise, one.running, one.computed = [*common[:shared], *pool.allocate(own)], promised, True, 7 * number % 5
        if number in members:
            reserve = reserve or Reserve(4, one, members=len(members))
            one.reserve = reserve
        found.append(one)
    pool.release(common)
    return pool, found


def freed(pool: BlockPool, leaving: list[Sequence]) -> int:
    return sum(map(Leaving(pool).add, leaving))


def enough(pool: BlockPool, leaving: list[Sequence], slots: int, blocks: int) -> bool:
    return len(leaving) >= slots and freed(pool, leaving) >= blocks


@settings(max_examples=400, deadline=None)
@given(rows=ROWS, slots=st.integers(-1, 4), blocks=st.integers(-3, 25))
def test_no_victim_is_needless_and_none_goes_where_lower_ones_would_do(rows: list[Row], slots: int, blocks: int) -> None:
    pool, running = candidates(rows)
    chosen = victims(running, slots=slots, blocks=blocks, leaving=Leaving(pool), cost=lambda one: one.computed)
    lower = [one for one in running if one.priority is not Priority.STAT]
    assert all(one.priority is not Priority.STAT for one in chosen)
    assert bool(chosen) <= enough(pool, chosen, slots, blocks)
    if not chosen:
        assert (slots <= 0 and blocks <= 0) or not enough(pool, lower, slots, blocks)
    for victim in chosen:
        others = [one for one in chosen if one is not victim]
        below = [one for one in lower if one.priority > victim.priority and one not in others]
        assert not enough(pool, others, slots, blocks)
        assert not enough(pool, [*others, *below], slots, blocks)
