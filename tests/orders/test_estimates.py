"""Between which two moments an order is done: from what is before it, from who works, and from what an engine foresees of it."""

from datetime import timedelta

import pytest

from engine_queue import line
from engine_queue.models import Job, Run, Worker
from engine_queue.reporter import FRESH_SECONDS
from foundation import clock
from orders.estimates import SPREAD, Finish, estimate, finishes
from orders.models import Order
from tests.dashboard.people import Ward
from tests.factories import make_order

pytestmark = pytest.mark.django_db
SOON = pytest.approx


@pytest.fixture
def ward():
    return Ward()


def measured(ward, *, items=10, seconds=10.0, worker="engine-1", ago=0.0):
    """An order of which one worker had one job, for so long."""
    order, ended = ward.order(variants=items), clock.now() - timedelta(seconds=ago)
    run = Run.objects.get(order_id=order.pk)
    Run.objects.filter(pk=run.pk).update(items_cut=items, items_done=items, state="running")
    Run.objects.filter(pk=run.pk).update(state="scored")
    for state in ("running", "succeeded"):
        started = ended - timedelta(seconds=seconds)
        Job.objects.filter(run=run).update(state=state, started_at=started, ended_at=ended, lease_owner=f"{worker}/x")
    return order


def works(ward, name="engine-1", *, seconds=30, **stats):
    now = clock.now()
    Worker.objects.create(
        name=name, kind="engine", incarnation=f"{name}/x", host="h", pid=1, deployments=[ward.test.deployment_id],
        started_at=now, seen_at=now, lease_until=now + timedelta(seconds=seconds), stats=stats,
    )  # fmt: skip


def finish_of(order) -> Finish | None:
    return finishes([Order.objects.get(pk=order.pk)]).get(order.pk)


def seconds(finish) -> tuple[float, float]:
    now = clock.now()
    return (finish.low - now).total_seconds(), (finish.high - now).total_seconds()


def expected(value):
    return pytest.approx((value / SPREAD, value * SPREAD), abs=0.3)


def test_nothing_measured_is_no_estimate(ward):
    works(ward)
    assert finish_of(ward.order()) is None


def test_what_is_left_and_what_is_before_it_at_the_measured_rate(ward):
    measured(ward)
    works(ward)
    ward.order(variants=4, priority="urgent")
    order = ward.order(variants=8)
    ward.order(variants=50)
    Run.objects.filter(order_id=order.pk).update(items_cut=8, items_done=6)
    finish = finish_of(order)
    assert (seconds(finish), finish.ahead, finish.served) == (expected(2 + 4), 4, True)


def test_it_is_the_form_s_own_estimate(ward):
    """What was promised before the order was placed is what its page says right afterwards."""
    measured(ward)
    works(ward)
    ward.order(variants=5, priority="urgent")
    intake = ward.intake(variants=5)
    promised = {one.priority: (one.seconds_low, one.seconds_high) for one in estimate(intake).expectations}
    for_page = seconds(finish_of(make_order(intake=intake)))
    assert for_page == pytest.approx(promised["routine"], abs=0.3)


@pytest.mark.parametrize("priority", ["stat", "asap", "urgent", "routine"])
def test_more_load_never_makes_it_earlier_and_no_end_lies_in_the_past(ward, priority):
    measured(ward)
    works(ward)
    order = ward.order(variants=3, priority=priority)
    before = seconds(finish_of(order))
    for other in ("routine", "urgent", "asap", "stat"):
        ward.order(variants=5, priority=other)
        Job.objects.filter(state="queued").exclude(run__order_id=order.pk).update(state="running")
        after = seconds(finish_of(order))
        assert 0 < after[0] <= after[1] and after[0] >= before[0] - 0.3 and after[1] >= before[1] - 0.3
        before = after


def test_lower_work_that_runs_already_widens_the_later_end_but_never_for_stat(ward):
    measured(ward)
    works(ward)
    ward.order(variants=10)
    Job.objects.filter(state="queued").update(state="running")
    urgent, stat = ward.order(variants=1, priority="urgent"), ward.order(variants=1, priority="stat")
    assert seconds(finish_of(stat)) == expected(1)
    low, high = seconds(finish_of(urgent))
    assert low == SOON(2 / SPREAD, abs=0.3) and high == SOON((2 + 10) * SPREAD, abs=0.3)


def test_the_rates_of_those_who_live_are_added_up(ward):
    measured(ward, worker="engine-1", seconds=10)
    measured(ward, worker="engine-2", seconds=5)
    kind = (ward.test.deployment_id, "variant")
    alone = {name: 1300 / spent for name, spent in (("engine-1", 10), ("engine-2", 5))}
    assert line.rates([kind])[kind] == line.Rate(SOON(sum(alone.values()) / 2, rel=0.01), served=False)
    works(ward, "engine-1")
    assert line.rates([kind])[kind] == line.Rate(SOON(alone["engine-1"], rel=0.01), served=True)
    works(ward, "engine-2")
    assert line.rates([kind])[kind].tokens_per_second == SOON(sum(alone.values()), rel=0.01)
    works(ward, "engine-3")
    works(ward, "engine-4", seconds=-1)
    works(ward, "engine-5", halted="the database is away")
    assert line.rates([kind])[kind].tokens_per_second == SOON(1.5 * sum(alone.values()), rel=0.01)


def test_jobs_side_by_side_and_idle_time_between_orders_do_not_make_a_worker_slow(ward):
    measured(ward, seconds=10)
    measured(ward, seconds=10)
    measured(ward, seconds=10, ago=3600)
    works(ward)
    kind = (ward.test.deployment_id, "variant")
    assert line.rates([kind])[kind].tokens_per_second == SOON(3 * 1300 / 20, rel=0.01)


def claimed(order, *, low, high, told=0.0, state="running"):
    now = clock.now()
    Job.objects.filter(run__order_id=order.pk).update(
        state="running", engine_state=state, finish_low=now + timedelta(seconds=low), finish_high=now + timedelta(seconds=high),
        reported_at=now - timedelta(seconds=told),
    )  # fmt: skip


def test_what_an_engine_has_taken_in_it_foresees_itself(ward):
    order = ward.order(variants=3)
    claimed(order, low=7, high=9, state="paused")
    finish = finish_of(order)
    assert seconds(finish) == pytest.approx((7, 9), abs=0.3) and finish.paused


def test_a_foresight_that_has_passed_is_now_and_no_earlier(ward):
    order = ward.order(variants=3)
    claimed(order, low=-7, high=-5)
    assert seconds(finish_of(order)) == pytest.approx((0, 0), abs=0.3)


def test_what_a_worker_said_long_ago_is_not_believed(ward):
    order = ward.order(variants=3)
    claimed(order, low=7, high=9, told=2 * FRESH_SECONDS)
    assert finish_of(order) is None


def test_what_waits_for_a_person_is_in_nobody_s_way_and_has_no_end(ward):
    measured(ward)
    works(ward)
    stuck, order = ward.order(variants=5, priority="urgent"), ward.order(variants=2)
    Job.objects.filter(run__order_id=stuck.pk).update(attention="job.worker-died")
    assert finish_of(stuck) is None and seconds(finish_of(order)) == expected(2)


def test_an_order_that_is_scored_has_no_estimate(ward):
    measured(ward)
    works(ward)
    assert finish_of(ward.scored()) is None
