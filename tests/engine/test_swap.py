"""Giving way to the arena: what goes there, what is not, what comes back, and what it costs."""

from __future__ import annotations

import dataclasses

import pytest

from engine.batch import Batch
from engine.blocks import BlockPool
from engine.config import EngineConfig
from engine.errors import BlockAccounting, ConfigRefused
from engine.request import REFERENCE, Branch, Embed, Generate, NextToken, Outcome, Priority, Request, Score
from engine.swap.content import Content, Outside, Where
from engine.swap.cost import Costs
from engine.swap.slots import ArenaSlots
from tests.engine.driving import LIMITS, Arrival, drive, echo, scheduler

CONFIG = EngineConfig(slots=3, token_budget=64, chunk=16, grid=4, blocks=24, block_size=8, swap_blocks=12)
WINDOW = tuple(range(11)) * 5


def score(length: int) -> Score:
    return Score(tuple(index % 11 for index in range(length)))


class Played:
    """Routine requests that have run for two steps, with an arena."""

    def __init__(self, *requests: Request, steps: int = 2, block_bytes: int = 0, window: int | None = None, **settings: object):
        config = dataclasses.replace(CONFIG, **settings)
        limits, outside = dataclasses.replace(LIMITS, window=window), Outside(config.arena_blocks, block_bytes)
        self.policy = scheduler(config, limits, outside=outside)
        self.swapping, self.outcomes = self.policy.swapping, dict[int, Outcome]()
        for handle, request in enumerate(requests):
            self.policy.add(handle, request, Priority.ROUTINE, 0.0)
        for _ in range(steps):
            self.step()

    def stat(self, request: Request) -> None:
        self.policy.add(9, request, Priority.STAT, 0.0)

    def end(self, batch: Batch) -> Batch:
        self.outcomes |= {outcome.handle: outcome for outcome in self.policy.postprocess(batch, echo(batch))}
        self.policy.check()
        return batch

    def step(self) -> Batch:
        return self.end(self.policy.schedule(0.0))

    def finish(self) -> dict[int, Outcome]:
        while self.policy.has_work:
            self.step()
        assert (self.policy.pool.available, self.policy.ledger.promised) == (self.policy.config.blocks, 0)
        assert (self.swapping.slots.used, self.policy.pool.draining) == (0, 0)
        return self.outcomes

    @property
    def state(self) -> tuple[int, int, int, int]:
        pool = self.policy.pool
        return pool.free, pool.used, pool.draining, self.swapping.slots.used


def handles(batch: Batch) -> list[int]:
    return [row.handle for row in batch.rows]


def test_it_comes_back_where_it_was_and_computes_nothing_twice() -> None:
    played = Played(score(60), score(60), score(60))
    played.stat(score(10))
    out = played.step()
    assert handles(out)[0] == 9  # a slot was enough
    assert len(out.swap_outs) >= 4
    assert len(played.step().swap_ins) >= 4
    outcomes = played.finish()
    assert (played.policy.tokens, played.policy.evictions) == (3 * 59 + 9, 1)
    assert [played.swapping.stats()[name] for name in ("swapped_out_blocks", "swapped_in_blocks", "swap_recomputed")] == [4, 4, 0]
    assert all(outcomes[handle].result == drive(CONFIG, echo, [Arrival(0, score(60))])[0].result for handle in range(3))


def test_a_block_inside_which_it_stands_comes_back_too() -> None:
    """Generation stands anywhere; nothing is computed again, not even the tokens of the last block."""
    played = Played(*(Generate((1, 2, 3), 40) for _ in range(3)), steps=20)
    played.stat(score(10))
    played.finish()
    assert played.policy.tokens == 3 * 42 + 9


@pytest.mark.parametrize("request_", [Embed(WINDOW), Score(WINDOW, alternatives=(1, 2), alternatives_from=5), NextToken(WINDOW)])
def test_sums_and_alternatives_go_on_as_well(request_: Request) -> None:
    """Without an arena they begin anew."""
    played = Played(request_, score(60), score(60))
    played.policy._evict(played.policy._by_handle[0])
    outcome = played.finish()[0]
    assert outcome.result == drive(CONFIG, echo, [Arrival(0, request_)])[0].result
    assert played.policy.tokens == len(WINDOW) - isinstance(request_, Score) + 2 * 59


def test_blocks_that_drain_are_nobodys_until_they_have_been_copied_and_stat_is_next() -> None:
    played = Played(score(100), blocks=14, swap_blocks=6)
    played.stat(score(100))
    batch = played.policy.schedule(0.0)
    assert (handles(batch), len(batch.swap_outs), played.state) == ([], 4, (10, 0, 4, 4))
    played.end(batch)
    assert played.state == (14, 0, 0, 4)
    assert handles(played.step()) == [9]
    assert played.finish()[0].preempted == 1


def test_nobody_of_a_lower_class_takes_what_drains_for_stat() -> None:
    played = Played(score(100), blocks=14, swap_blocks=6)
    played.policy.add(1, score(20), Priority.ROUTINE, 0.0)
    played.stat(score(90))
    played.step()
    assert handles(played.step()) == [9]


def test_a_pass_that_stands_still_does_not_go_on_while_blocks_drain_for_stat() -> None:
    """The budget is too small for both routine ones: the other is not pinned and gives way."""
    played = Played(score(60), score(60), blocks=20)
    played.policy.budget.now = 16
    batch = played.policy.schedule(0.0)
    played.policy.postprocess(batch, None)
    played.stat(score(96))
    out = played.step()
    assert (handles(out), out.resumes, out.beside, len(out.swap_outs) > 0) == ([], False, True, True)
    assert handles(played.step()) == [9]
    assert {outcome.state for outcome in played.finish().values()} == {"finished"}


def test_what_others_hold_is_not_copied_and_is_found_again() -> None:
    """Two share a prompt of five blocks: whoever gives way leaves them to the other."""
    prompt = Generate(WINDOW[:41], 20, sharing=REFERENCE)
    played = Played(prompt, blocks=60, steps=4)
    played.policy.add(1, prompt, Priority.ROUTINE, 0.0)
    played.step()
    first, second = (played.policy._by_handle[handle] for handle in (0, 1))
    shared = second.blocks[:5]
    assert first.blocks[:5] == shared
    played.policy._evict(second)
    assert [place is not None for place in second.swapped.places] == [True] * 5 + [False] * (len(second.swapped.places) - 5)
    played.step()
    assert second.blocks[:5] == shared
    played.finish()
    assert played.policy.tokens == 41 + 1 + 2 * 19


def test_when_what_others_held_is_gone_it_computes_again() -> None:
    prompt = Generate(WINDOW[:41], 20, sharing=REFERENCE)
    played = Played(prompt, blocks=60, steps=4)
    played.policy.add(1, prompt, Priority.ROUTINE, 0.0)
    played.step()
    played.policy._evict(played.policy._by_handle[1])
    played.policy.forget()
    outcomes = played.finish()
    assert played.swapping.recomputed == 1
    assert outcomes[1].result == outcomes[0].result


def test_of_a_sliding_window_only_its_blocks_go() -> None:
    played = Played(score(300), window=16, chunk=8, steps=20)
    (sequence,) = played.policy._slots
    held = len(sequence.blocks)
    assert sequence.first > 10
    played.policy._evict(sequence)
    assert (played.policy.progress(0)[0], sequence.swapped.size <= held <= 4) == (160, True)
    played.finish()
    assert played.policy.tokens == 299


def test_a_trunk_goes_and_comes_back_and_its_alternates_wait_for_it() -> None:
    window = WINDOW + WINDOW
    alternates = [Score(window, REFERENCE, Branch(at, (3, *window[at + 1 :]))) for at in (40, 90)]
    played = Played(*alternates, blocks=60, swap_blocks=30)
    (trunk,) = played.policy._slots
    played.policy._evict(trunk)
    played.step()
    assert trunk.computed > 32
    outcomes = played.finish()
    assert played.policy.trunk_tokens == 90
    assert [list(outcomes[handle].result.logprobs) for handle in (0, 1)] == [
        [-float(token) for token in request.scored[1:]] for request in alternates
    ]


def test_who_runs_on_a_reserve_is_not_copied_where_nobody_else_could_run_on_it_meanwhile() -> None:
    """It gives the reserve back at once, and its blocks only when they have drained."""
    window = tuple(index * 3 % 11 for index in range(40))
    alternates = [Score(window, REFERENCE, Branch(16, (token, *window[17:]))) for token in (1, 2)]
    played = Played(*alternates, blocks=9, token_budget=24, swap_blocks=6)
    (on_reserve,) = [one for one in played.policy._slots if one.reserved]
    played.policy._evict(on_reserve)
    played.policy.check()
    assert on_reserve.swapped is None
    assert {outcome.state for outcome in played.finish().values()} == {"finished"}


def test_where_computing_again_is_cheaper_nothing_is_copied() -> None:
    """Four blocks of a megabyte each at a gigabyte a second, out and in, against 32 tokens."""
    costly = Played(score(60), score(60), score(60), block_bytes=1 << 20, swap_bandwidth=1e9, recompute_rate=1e4)
    cheap = Played(score(60), score(60), score(60), block_bytes=1 << 20, swap_bandwidth=1e9, recompute_rate=1e3)
    for played, blocks, again in ((costly, 0, 1), (cheap, 4, 0)):
        played.stat(score(10))
        played.finish()
        assert (played.swapping.blocks_out, played.swapping.recomputed) == (blocks, again)


def test_where_the_arena_has_no_room_it_is_computed_again() -> None:
    played = Played(score(60), score(60), score(60), swap_blocks=3)
    played.stat(score(10))
    outcomes = played.finish()
    assert (played.swapping.blocks_out, played.swapping.recomputed, outcomes[9].state) == (0, 1, "finished")


def test_the_cheapest_of_a_class_gives_way_by_what_it_costs_to_have_it_back() -> None:
    """One under a window has computed most and holds least: copying it is cheapest, and computing it again would be dearest."""
    played = Played(score(300), score(40), window=16, chunk=8, steps=4, block_bytes=1 << 20, recompute_rate=1.0, blocks=60)
    for _ in range(14):
        played.step()
    played.policy.add(2, score(90), Priority.ROUTINE, 0.0)
    played.policy.add(3, score(90), Priority.ROUTINE, 0.0)
    for _ in range(6):
        played.step()
    costs = {sequence.handle: played.swapping.cost(sequence) for sequence in played.policy._slots}
    cheapest = min(costs, key=lambda handle: costs[handle])
    computed = {sequence.handle: sequence.computed for sequence in played.policy._slots}
    played.stat(score(10))
    played.step()
    (gone,) = [one.handle for one in played.policy._by_handle.values() if one.swapped is not None]
    assert costs[gone] == costs[cheapest]
    assert computed[gone] >= min(computed.values())


def test_costs_follow_what_was_measured() -> None:
    costs = Costs(1000, bandwidth=1e6, rate=100.0)
    assert (costs.swap(5), costs.recompute(50)) == (0.01, 0.5)
    for _ in range(100):
        costs.copied(1 << 20, 1.0)
        costs.computed(64, 0.1)
        costs.computed(1, 1.0)  # one token tells nothing
        costs.copied(10, 1.0)
        costs.computed(64, 0.0)
    assert costs.bandwidth == pytest.approx(1 << 20, rel=1e-2)
    assert costs.rate == pytest.approx(640.0, rel=1e-2)


def test_the_first_measurement_takes_the_place_of_what_was_configured() -> None:
    costs = Costs(1000, bandwidth=1e6, rate=100.0)
    assert costs.measured == (0, 0)
    costs.copied(1 << 20, 0.5)
    costs.computed(64, 0.5)
    assert (costs.bandwidth, costs.rate, costs.measured) == (1 << 21, 128.0, (1, 1))
    costs.computed(64, 1.0)
    assert costs.rate == (128.0 + 64.0) / 2
    for _ in range(50):
        costs.computed(64, 1.0)
    costs.computed(640, 1.0)
    assert costs.rate == pytest.approx(64.0 + 57.6, rel=0.02)  # a tenth of the newest


@pytest.mark.parametrize(
    ("bandwidth", "rate", "copied"), [(None, None, 4), (1e6, None, 0), (None, 1e9, 0), (1e6, 10.0, 4), (1e12, 1e5, 4)]
)
def test_who_gives_way_goes_by_the_way_that_was_measured_to_be_cheaper(
    bandwidth: float | None, rate: float | None, copied: int
) -> None:
    """Four blocks of 64 KiB, out and in again, against 32 tokens, of which 2,000 a second are computed as configured."""
    played = Played(score(60), score(60), score(60), block_bytes=1 << 16)
    if bandwidth is not None:
        played.swapping.costs.copied(1 << 20, (1 << 20) / bandwidth)
    if rate is not None:
        played.swapping.costs.computed(64, 64 / rate)
    played.stat(score(10))
    played.finish()
    stats = played.swapping.stats()
    assert (stats["swapped_out_blocks"], stats["swap_recomputed"]) == (copied, int(not copied))
    assert stats["swap_bandwidth"] == pytest.approx(bandwidth or CONFIG.swap_bandwidth)
    assert stats["recompute_rate"] == pytest.approx(rate or CONFIG.recompute_rate)


@pytest.mark.parametrize("state", ["draining", "swapped", "back, in a step", "back"])
def test_cancelling_leaks_nothing_in_any_state(state: str) -> None:
    played = Played(score(60), score(60), score(60))
    sequence = played.policy._by_handle[0]
    played.policy._evict(sequence)
    assert sequence.swapped.where is Where.LEAVING
    if state == "draining":
        assert played.policy.cancel(0)
    else:
        played.stat(score(30))
        played.step()
        assert sequence.swapped.where is Where.ARENA
        if state == "swapped":
            assert played.policy.cancel(0)
            assert played.swapping.slots.used == 0
        else:
            batch = played.policy.schedule(0.0)
            while not sequence.running:
                played.end(batch)
                batch = played.policy.schedule(0.0)
            assert len(batch.swap_ins) == 4
            if state == "back":
                played.end(batch)
            assert played.policy.cancel(0)
            if state != "back":
                played.end(batch)
    assert played.finish()[0].state == "cancelled"


def test_sent_away_in_the_very_step_in_which_it_came_back_it_stays_outside() -> None:
    played = Played(score(60), score(60), score(60))
    sequence = played.policy._by_handle[0]
    played.policy._evict(sequence)
    played.step()
    played.policy._evict(sequence)
    kept = played.policy.swapping
    kept.take_up(sequence)  # as `_start` does
    content = sequence.swapped
    kept.out(sequence)
    assert (sequence.swapped, content.moving, kept._arriving) == (content, False, [])
    played.finish()
    assert played.policy.tokens == 3 * 59


def test_slots_with_two_owners_or_none_are_found() -> None:
    def content(number: int) -> Content:
        return Content(number, 8, 0, 0, b"", False, (None,), 1)

    slots, one, two = ArenaSlots(3), content(1), content(2)
    assert slots.take(one)
    slots.check([one])
    two.slots = one.slots
    with pytest.raises(BlockAccounting, match="two owners"):
        slots.check([one, two])
    with pytest.raises(BlockAccounting, match="have an owner"):
        slots.check([])


def test_a_block_that_drains_can_be_neither_shared_nor_drained_again() -> None:
    pool = BlockPool(2)
    table = pool.allocate(1)
    pool.drain(table)
    for wrong in (pool.share, pool.drain, pool.release):
        with pytest.raises(BlockAccounting):
            wrong(table)
    assert (pool.free, pool.used, pool.draining) == (1, 0, 1)
    pool.drained(table)
    assert (pool.free, pool.draining) == (2, 0)


def test_a_block_that_others_found_before_is_cached_when_it_has_drained() -> None:
    pool = BlockPool(2)
    table = pool.allocate(1)
    pool.keep(table[0])
    pool.drain(table)
    pool.drained(table)
    assert (pool.free, pool.cached) == (1, 1)


@pytest.mark.parametrize(
    "settings",
    [{"swap_blocks": -1}, {"swap_blocks": True}, {"swap_file_bytes": 0}, {"swap_seconds": 0.0}, {"swap_bandwidth": float("nan")},
     {"recompute_rate": -1.0}, {"swap_folder": 3}, {"swap_encrypted": 1}],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigRefused, match=next(iter(settings))):
        EngineConfig(**settings)


def test_the_arena_is_half_the_pool_unless_said_otherwise_and_static_batching_has_none() -> None:
    assert EngineConfig(blocks=100).arena_blocks == 50
    assert EngineConfig(blocks=100, swap_blocks=7).arena_blocks == 7
    assert EngineConfig(blocks=100, mode="static").arena_blocks == 0
