"""Who starts when there is room for some: the reserve for STAT, coming back, gathering blocks, ageing."""

from __future__ import annotations

import dataclasses
import math

import pytest

from engine.config import EngineConfig
from engine.errors import ConfigRefused
from engine.limits import Limits
from engine.request import Embed, Generate, Outcome, Priority, Request, Score
from engine.scheduler import Scheduler
from tests.engine.driving import echo, scheduler

pytestmark = pytest.mark.undisturbed("counts steps")

CONFIG = EngineConfig(
    slots=7,
    token_budget=64,
    chunk=16,
    grid=4,
    blocks=40,
    block_size=8,
    reserve=0,
    resume_margin=0,
    patience=5,
    ageing_seconds=math.inf,
)


def score(length: int) -> Score:
    return Score(tuple(index % 11 for index in range(length)))


def blocks(count: int) -> Score:
    """Needs so many blocks."""
    return score(8 * count + 1)


def stays(count: int, steps: int) -> Generate:
    """Needs so many blocks and runs for so many steps."""
    return Generate((1,) * (8 * count + 1 - steps), steps)


class Run:
    """A scheduler, and the time, which is the number of the step."""

    def __init__(self, **settings: object) -> None:
        self.policy: Scheduler = scheduler(dataclasses.replace(CONFIG, **settings))
        self.now, self.next, self.outcomes, self.first = 0.0, 0, dict[int, Outcome](), dict[int, float]()

    def add(self, request: Request, priority: Priority = Priority.ROUTINE, due: float = math.inf) -> int:
        self.policy.add(self.next, request, priority, self.now, due)
        self.next += 1
        return self.next - 1

    def step(self, count: int = 1) -> list[int]:
        """Handles of the last step's rows."""
        rows: list[int] = []
        for _ in range(count):
            batch = self.policy.schedule(self.now)
            self.now += 1.0
            rows = [row.handle for row in batch.rows]
            for handle in rows:
                self.first.setdefault(handle, self.now)
            self.outcomes |= {one.handle: one for one in self.policy.postprocess(batch, echo(batch))}
            self.policy.pool.check(self.policy.tables())
            assert self.policy.ledger.check()
            assert self.policy.idle_slot_steps == 0
        return rows

    def finish(self) -> dict[int, Outcome]:
        while self.policy.has_work:
            self.step()
        assert {one.state for one in self.outcomes.values()} <= {"finished", "cancelled"}
        assert (self.policy.pool.available, self.policy.ledger.promised) == (self.policy.config.blocks, 0)
        return self.outcomes


# The reserve.


def test_lower_work_leaves_room_for_one_stat_which_sends_nobody_away() -> None:
    run = Run(reserve=10)
    for _ in range(5):
        run.add(stays(7, 20))
    run.step()
    assert (run.policy.running, run.policy.ledger.spare) == (4, 12)
    stat = run.add(blocks(10), Priority.STAT)
    assert stat in run.step()
    assert run.policy.evictions == 0
    run.finish()


def test_without_a_reserve_stat_has_to_send_somebody_away() -> None:
    run = Run(reserve=0)
    for _ in range(5):
        run.add(stays(7, 20))
    run.step()
    run.add(blocks(10), Priority.STAT)
    run.step()
    assert run.policy.evictions == 1


def test_the_reserve_that_stat_took_fills_up_before_lower_work_starts() -> None:
    run = Run(reserve=10)
    short, *_ = [run.add(stays(7, steps)) for steps in (4, 40, 40, 40)]
    run.step()
    run.add(stays(10, 30), Priority.STAT)
    waits = run.add(blocks(2))
    while short not in run.outcomes:
        run.step()
    run.step()
    assert (run.policy.ledger.spare, waits in run.first) == (9, False)
    run.finish()


def test_one_slot_of_eight_is_left_for_stat() -> None:
    run = Run(slots=8, blocks=80)
    for _ in range(9):
        run.add(stays(2, 10))
    run.step()
    assert run.policy.running == 7
    run.add(stays(2, 5), Priority.STAT)
    run.step()
    assert (run.policy.running, run.policy.evictions) == (8, 0)


@pytest.mark.parametrize(("setting", "context", "kept"), [(6, 512, 6), (10, 512, 10), (11, 512, 0), (1000, 16, 2), (0, 512, 0)])
def test_a_reserve_is_no_more_than_a_request_can_need_and_none_in_a_small_pool(setting: int, context: int, kept: int) -> None:
    assert scheduler(dataclasses.replace(CONFIG, reserve=setting), Limits(11, context)).ledger.reserve == kept


def test_what_fits_only_with_the_reserve_is_served_when_nothing_else_runs() -> None:
    run = Run(reserve=10)
    run.add(stays(3, 6))
    run.step()
    large = run.add(blocks(38))
    run.step(3)
    assert large not in run.first
    assert run.finish()[large].state == "finished"


# Coming back.


def oscillating(margin: int) -> Run:
    """One stays for long; another is sent away by STAT that comes every eighth step and stays for five."""
    run = Run(blocks=48, chunk=64, token_budget=160, resume_margin=margin)
    run.add(stays(16, 120))
    run.step(3)
    run.add(stays(21, 100))
    for number in range(80):
        if number % 8 == 3:
            run.add(stays(16, 3), Priority.STAT)
        run.step()
    return run


@pytest.mark.parametrize(("margin", "most"), [(12, 1), (8, 2), (3, 4)])
def test_one_that_was_sent_away_comes_back_only_with_a_margin_that_grows(margin: int, most: int) -> None:
    run = oscillating(margin)
    assert run.policy.evictions == most
    assert run.finish()[1].state == "finished"


def test_without_a_margin_it_is_sent_away_every_time() -> None:
    assert oscillating(0).policy.evictions == 10


def test_where_nothing_else_runs_no_margin_is_asked_for() -> None:
    run = Run(blocks=12, resume_margin=3)
    only = run.add(stays(10, 30))
    run.step(2)
    run.add(blocks(8), Priority.STAT)
    run.step(8)
    assert only in run.step()


def test_a_pool_that_is_too_small_for_the_margin_asks_for_none() -> None:
    assert [Run(blocks=40, resume_margin=margin).policy.ledger.margin for margin in (10, 11)] == [10, 0]


def test_one_that_comes_back_in_vain_is_counted() -> None:
    """An embedding begins anew, and STAT comes before it is as far as it had been."""
    run = Run(blocks=14)
    run.add(Embed((1,) * 100))
    run.step(4)
    for _ in range(3):
        run.add(blocks(6), Priority.STAT)
        run.step(5)
    assert (run.policy.evictions, run.policy.bounces) == (3, 2)


# Gathering.


def stream(run: Run, large: int, *classes: Priority, steps: int = 60) -> None:
    """Small ones of some classes come all the time."""
    for number in range(steps):
        if large in run.first:
            return
        run.add(stays(2, 6), classes[number % len(classes)])
        run.step()


def test_a_stream_of_small_ones_does_not_starve_a_large_one() -> None:
    run = Run()
    for steps in range(1, 8):
        run.add(stays(5, 3 * steps), Priority.URGENT)
    run.step()
    large = run.add(blocks(30), Priority.URGENT)
    stream(run, large, Priority.URGENT, Priority.ROUTINE)
    assert run.first[large] < 30
    run.finish()


def gathering() -> tuple[Run, int, list[int]]:
    """A large one has been passed over as often as it may be and ten blocks are free; it, and two small ones that wait for it."""
    run = Run()
    for _ in range(6):
        run.add(stays(5, 38), Priority.URGENT)
    run.step()
    large = run.add(blocks(20), Priority.URGENT)
    for _ in range(CONFIG.patience):
        run.add(blocks(1), Priority.URGENT)
        run.step()
    small = [run.add(blocks(1), priority) for priority in (Priority.URGENT, Priority.ROUTINE)]
    run.step()
    assert (run.policy.running, run.policy.ledger.spare) == (6, 10)
    assert not run.first.keys() & {large, *small}
    return run, large, small


def test_a_large_one_that_aged_gathers_among_those_of_the_class_above() -> None:
    """Among its own it would be the first; it is small urgent ones that take whatever comes free."""
    run = Run(ageing_seconds=10.0)
    for steps in range(1, 8):
        run.add(stays(5, 3 * steps), Priority.URGENT)
    run.step()
    large = run.add(blocks(40), Priority.ROUTINE)
    stream(run, large, Priority.URGENT, steps=200)
    assert 10 < run.first[large] < 80
    run.finish()


def test_who_comes_back_does_not_take_what_gathers() -> None:
    """It waits before the large one, and it is the large one's turn."""
    run = Run(blocks=40)
    back = run.add(stays(6, 40), Priority.URGENT)
    for _ in range(5):
        run.add(stays(6, 39), Priority.URGENT)
    run.step()
    large = run.add(blocks(36), Priority.URGENT)
    for _ in range(CONFIG.patience):
        run.add(blocks(1), Priority.URGENT)
        run.step()
    assert run.policy.hold(back)
    assert run.policy.release(back)  # at the head of its class
    while large not in run.first:
        run.step()
    assert (back in run.outcomes, run.finish()[back].state) == (False, "finished")


def test_what_gathers_is_never_at_the_cost_of_stat() -> None:
    run, _, _ = gathering()
    stat = run.add(blocks(10), Priority.STAT)
    assert stat in run.step()
    assert run.policy.evictions == 0


def test_a_more_urgent_class_does_not_wait_for_what_gathers() -> None:
    run, _, _ = gathering()
    asap = run.add(blocks(9), Priority.ASAP)
    assert asap in run.step()


def test_cancelling_who_gathers_gives_the_blocks_to_those_who_wait() -> None:
    run, large, small = gathering()
    assert run.policy.cancel(large)
    run.step(2)
    assert set(small) <= run.first.keys()
    run.finish()


@pytest.mark.parametrize("priority", [Priority.URGENT, Priority.ROUTINE])
def test_two_that_gather_do_not_wait_for_each_other(priority: Priority) -> None:
    run, large, _ = gathering()
    other = run.add(blocks(38), priority)
    stream(run, other, priority, steps=200)
    assert run.first[large] < run.first[other] < 150
    run.finish()


def test_what_needs_more_than_lies_beyond_the_reserve_gathers_until_nothing_else_runs() -> None:
    run = Run(reserve=10)
    run.add(stays(2, 6))
    run.step()
    large = run.add(blocks(38))
    stream(run, large, Priority.ROUTINE, steps=200)
    assert run.first[large] < 100
    run.finish()


# Ageing.


def under_urgent_load(ageing: float, waiting: int, steps: int = 100) -> Run:
    """Two slots; urgent ones come as fast as they end, and some routine ones have been there before."""
    run = Run(slots=2, ageing_seconds=ageing, ageing_every=4)
    for _ in range(waiting):
        run.add(stays(1, 2))
    for _ in range(4):
        run.add(stays(1, 2), Priority.URGENT)
    for _ in range(steps):
        run.add(stays(1, 2), Priority.URGENT)
        run.step()
    return run


def test_a_routine_request_that_waited_long_has_its_turn_among_urgent_ones() -> None:
    run = under_urgent_load(10.0, 1)
    assert 10 < run.first[0] <= 10 + 2 + 4
    assert under_urgent_load(math.inf, 1).first.get(0) is None


def test_however_many_have_aged_they_take_one_start_in_four() -> None:
    run = under_urgent_load(10.0, 60)
    routine = [handle for handle in run.first if handle < 60]
    assert len(routine) == pytest.approx(90 / 4, abs=3)


def test_what_aged_counts_one_class_higher_and_never_as_stat() -> None:
    """Neither does it pass a class that is two above it."""
    run = Run(slots=2, ageing_seconds=5.0)
    aged = [run.add(stays(1, 2), priority) for priority in (Priority.ROUTINE, Priority.ASAP)]
    above = {aged[0]: Priority.ASAP, aged[1]: Priority.STAT}
    for _ in range(4):
        for priority in above.values():
            run.add(stays(1, 2), priority)
    for _ in range(40):
        run.add(stays(1, 2), Priority.STAT)
        run.step()
    assert not set(aged) & run.first.keys()


# Time.


def beside(run: Run, steps: int) -> tuple[int, int]:
    """Tokens of STAT and of others in so many steps with STAT."""
    found = [0, 0]
    for _ in range(steps):
        batch = run.policy.schedule(run.now)
        run.now += 1.0
        for row in batch.rows:
            found[run.policy.described(row.handle)[0] != Priority.STAT] += len(row.tokens)
        run.policy.postprocess(batch, echo(batch))
    return found[0], found[1]


@pytest.mark.parametrize(("due", "others"), [(math.inf, 4 * 60), (400.0, 4 * 60), (30.0, 4)])
def test_where_stat_would_end_too_late_lower_work_pauses_but_for_what_it_is_owed(due: float, others: int) -> None:
    """A step lasts a second, a cell of the grid has four tokens: sixty of STAT owe lower work three, and eighty a cell."""
    run = Run(lower_share=0.05, blocks=60)
    for _ in range(4):
        run.add(stays(9, 70))
    run.step(2)
    run.add(Generate((1,), 79), Priority.STAT, due)
    run.step(2)
    stat, lower = beside(run, 60)
    assert stat == 60
    assert abs(lower - others) <= 4


@pytest.mark.parametrize(("due", "others"), [(None, 60 * 4), (400.0, 60 * 4), (30.0, 4)])
def test_what_is_promoted_has_the_due_time_it_was_promoted_with(due: float | None, others: int) -> None:
    run = Run(lower_share=0.05, blocks=60)
    for _ in range(4):
        run.add(stays(9, 70))
    promoted = run.add(Generate((1,), 79), due=5000.0)
    run.step(2)
    assert run.policy.reclass(promoted, Priority.STAT, due)
    run.step(2)
    stat, lower = beside(run, 60)
    assert stat == 60
    assert abs(lower - others) <= 4


def test_a_token_deep_in_its_context_counts_for_more_beside_stat() -> None:
    """Four tokens are left beside sixteen of STAT: a sequence beyond four times `deep` has none, and others do not wait for it."""
    run = Run(deep=16, chunk=16, blocks=60)
    deep = run.add(score(200))
    while run.policy.progress(deep)[0] <= 64:
        run.step()
    shallow = run.add(score(16))
    run.add(score(17), Priority.STAT)
    assert run.step()[1:] == [shallow]


def test_beside_stat_without_end_even_the_deepest_has_its_share() -> None:
    run = Run(deep=16, chunk=16, blocks=60, lower_share=0.25)
    deep = run.add(score(200))
    run.step(8)
    before = run.policy.progress(deep)[0]
    run.add(Generate((1,), 190), Priority.STAT)
    run.step(180)
    assert run.policy.progress(deep)[0] > before


# A steady load of STAT, in made-up time.


def half_stat(share: float, due: float) -> tuple[list[float], float, float]:
    """STAT computes half of the time, eight routine requests the rest: latencies of STAT, its latency alone, and the part of what
    routine requests would have computed without STAT that they did compute.
    """

    def play(stat: bool, routine: bool) -> tuple[list[float], int]:
        config = dataclasses.replace(
            CONFIG, slots=9, blocks=4000, token_budget=128, chunk=64, grid=16, lower_share=share, freezes=0, reserve=64
        )
        policy, now, arrivals, ended, handle = scheduler(config, Limits(11, 4096)), 0.0, dict[int, float](), list[float](), 1000
        for number in range(8 if routine else 0):
            policy.add(number, Generate((1,) * 16, 2400), Priority.ROUTINE, 0.0)
        tokens, coming = 0, 0.5
        while now < 20.0:
            if stat and now >= coming:
                policy.add(handle, Generate((1,) * 200, 16), Priority.STAT, now, now + due)
                arrivals[handle], handle, coming = coming, handle + 1, coming + 0.5
            batch = policy.schedule(now)
            tokens += sum(len(row.tokens) for row in batch.rows if row.handle < 1000)
            now = now + 0.01 + 0.0002 * batch.tokens if batch.rows else coming
            outcomes = policy.postprocess(batch, echo(batch))
            ended += [now - arrivals[one.handle] for one in outcomes if one.handle >= 1000]
        return ended, tokens

    alone, _ = play(stat=True, routine=False)
    beside_stat, tokens = play(stat=True, routine=True)
    _, undisturbed = play(stat=False, routine=True)
    return beside_stat, max(alone), tokens / undisturbed


@pytest.mark.parametrize(("due", "bound", "least"), [(math.inf, 1.5, 0.5), (0.26, 1.25, 0.4)])
def test_under_half_a_load_of_stat_routine_work_has_its_share_and_stat_its_bound(due: float, bound: float, least: float) -> None:
    latencies, alone, share = half_stat(0.05, due)
    assert len(latencies) > 30
    assert 0.2 < alone < 0.3  # of every half second
    assert max(latencies) <= bound * alone
    assert share >= least


@pytest.mark.parametrize(
    "wrong",
    [
        {"reserve": -1},
        {"reserve_slots": 1.5},
        {"resume_margin": True},
        {"patience": 0},
        {"ageing_every": 0},
        {"ageing_seconds": 0.0},
        {"ageing_seconds": math.nan},
        {"lower_share": 1.5},
        {"lower_share": -0.1},
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigRefused, match=next(iter(wrong))):
        dataclasses.replace(CONFIG, **wrong)
