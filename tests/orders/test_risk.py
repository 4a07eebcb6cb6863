"""At risk before it is late, once, and not again and again; late when the time has passed; neither when results are there."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import IntegrityError, connection

from audit.models import Event
from engine_queue.models import Run, Worker
from engine_queue.outcomes import Fact
from foundation import clock
from orders import progress, risk, services
from orders.clocks import Working
from orders.models import Order
from orders.risk import AT_RISK, LATE, judged
from registry.hours import Hours
from tests.dashboard.people import Ward
from tests.engine_queue.rows import in_thread_of_its_own
from tests.factories import make_actor
from tests.forging import forge
from tests.orders.test_estimates import measured, works

SINCE, NOW, DUE = (datetime(2026, 3, 1, 12, minute, tzinfo=UTC) for minute in (0, 10, 40))


def minutes(number):
    return SINCE + timedelta(minutes=number)


@pytest.mark.parametrize(
    ("before", "now", "high", "after"),
    [
        ("", 10, 39, ""), ("", 10, 40, ""), ("", 10, 41, AT_RISK),
        (AT_RISK, 10, 39, AT_RISK), (AT_RISK, 10, 36, ""), (AT_RISK, 10, 41, AT_RISK),
        ("", 10, None, ""), ("", 31, None, ""), ("", 32, None, AT_RISK), (AT_RISK, 10, None, AT_RISK),
        ("", 40, 41, LATE), (AT_RISK, 50, None, LATE), (LATE, 10, 20, ""), (LATE, 10, 50, AT_RISK),
    ],
)  # fmt: skip
def test_the_later_end_decides_and_what_was_said_is_taken_back_with_a_margin(before, now, high, after):
    found = judged(before, now=minutes(now), since=SINCE, due=DUE, high=None if high is None else minutes(high))
    assert found == after


def test_where_nothing_is_known_the_time_that_is_used_counts_by_the_calendar():
    hours = Hours(((),) * 6 + (((12 * 60 + 30, 12 * 60 + 40),),))  # a Sunday with ten working minutes
    working = Working(hours, ZoneInfo("UTC"))
    found = [judged("", now=minutes(at), since=SINCE, due=DUE, high=None, working=working) for at in (37, 38)]
    assert found == ["", AT_RISK]


@pytest.fixture
def ward(db):
    made = Ward()
    measured(made, items=10, seconds=10)
    works(made)
    return made


def due_in(order, seconds):
    now = clock.now()
    forge(order, accepted_at=now - timedelta(seconds=60), result_due=now + timedelta(seconds=seconds))


def told(order):
    actions = Event.objects.filter(object_type="orders.order", object_id=str(order.pk)).order_by("id")
    return [
        action for action in actions.values_list("action", flat=True) if action.startswith("order.") and action != "order.placed"
    ]


def test_it_is_raised_once_before_it_is_late_and_then_it_is_late(ward):
    order = ward.order(variants=20)
    due_in(order, 25)
    version = Order.objects.get(pk=order.pk).version
    assert [risk.watch().changed for _ in range(3)] == [1, 0, 0]
    order.refresh_from_db()
    assert (order.risk, order.version, told(order)) == (AT_RISK, version + 1, ["order.at_risk"])
    facts = Event.objects.get(action="order.at_risk").facts
    assert facts["due"] == order.result_due.isoformat() < facts["high"]
    due_in(order, -1)
    assert [risk.watch().changed for _ in range(2)] == [1, 0]
    assert told(order) == ["order.at_risk", "order.late"]


def test_it_is_taken_back_when_the_estimate_recovers(ward):
    order = ward.order(variants=20)
    due_in(order, 29)
    risk.watch()
    due_in(order, 31)  # the estimate ends in 30 seconds: in time, but with no margin
    assert risk.watch().changed == 0
    due_in(order, 60)
    assert risk.watch().changed == 1
    assert told(order) == ["order.at_risk", "order.in_time_again"]


def test_an_order_of_which_nothing_can_be_foreseen_is_at_risk_before_it_is_late(db):
    order = Ward().order()
    due_in(order, 30)
    assert risk.watch().changed == 0
    due_in(order, 10)
    risk.watch()
    assert told(order) == ["order.at_risk"]


def test_without_a_worker_it_is_at_risk_when_one_could_no_longer_do_it(ward):
    Worker.objects.all().delete()
    order = ward.order(variants=20)
    due_in(order, 600)
    assert risk.watch().changed == 0
    due_in(order, 25)
    assert risk.watch().changed == 1


def test_results_end_it_and_a_scored_order_is_never_at_risk(ward):
    order = ward.order(variants=20)
    due_in(order, 25)
    risk.watch()
    run = Run.objects.get(order_id=order.pk)
    progress.apply(Fact("started", run, worker="w"))
    progress.apply(Fact("scored", run, worker="w"))
    due_in(order, -25)
    assert risk.watch().changed == 0
    assert Order.objects.get(pk=order.pk).risk == ""
    with pytest.raises(IntegrityError):
        Order.objects.filter(pk=order.pk).update(risk=AT_RISK)


def test_a_cancelled_order_is_not_at_risk(ward):
    order = ward.order(variants=20)
    due_in(order, 25)
    risk.watch()
    order.refresh_from_db()
    actor = make_actor(role="accessioner", organisation=ward.laboratory)
    services.cancel(actor=actor, order=order, reason="twice", expected_edits=order.edits)
    assert Order.objects.get(pk=order.pk).risk == "" and risk.watch().changed == 0


def test_two_that_watch_at_the_same_time_say_it_once(clone_db, monkeypatch):
    """Even without the lock that keeps a second one out."""
    ward = Ward()
    orders = [ward.order(variants=1) for _ in range(4)]
    for order in orders:
        due_in(order, 5)
    monkeypatch.setattr(risk, "alone", lambda _: _everybody())
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda _: in_thread_of_its_own(risk.watch), range(2)))
    risk.watch()
    assert sum(one.changed for one in done) <= 4
    assert [told(order) for order in orders] == [["order.at_risk"]] * 4


class _everybody:
    def __enter__(self):
        return True

    def __exit__(self, *error):
        return None


def test_a_second_one_leaves_the_work_to_the_first(clone_db):
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [risk.LOCK])
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(in_thread_of_its_own, risk.watch).result().active is False
