"""What pages say of the end of an order, of its pauses, and of being late before it is: in words, in the zone of the site."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from engine_queue.models import Job, Run, Worker
from foundation import clock
from orders import risk
from orders.models import Order
from tests.dashboard.people import Ward, logged_in, read
from tests.factories import make_request
from tests.forging import forge
from tests.orders.test_estimates import claimed, measured, works

pytestmark = pytest.mark.django_db
AT = r"<time[^>]*>(?:yesterday |tomorrow )?([\d:]+)</time>"


@pytest.fixture
def ward():
    made = Ward(time_zone="Asia/Kolkata")
    measured(made, items=10, seconds=10)
    works(made)
    return made


def scoring(order):
    Order.objects.filter(pk=order.pk).update(state="in_analysis", started_at=clock.now())
    return order


def paused(order, *spans, attempt=1):
    """Its job stood still between these seconds from now; the last one may last."""
    now = clock.now()
    told = [
        {"attempt": attempt, "how": "frozen", "since": now.timestamp() + since, "until": until and now.timestamp() + until}
        for since, until in spans
    ]
    Job.objects.filter(run__order_id=order.pk).update(
        state="running", attempt=attempt, started_at=now - timedelta(hours=1), began_at=now - timedelta(hours=1), pauses=told
    )
    return now


def test_the_order_page_says_between_which_moments_in_the_zone_of_the_site(ward):
    order = ward.order(variants=600)
    page = read(ward.requester(), "order", order.pk)
    low, high = (clock.now() + timedelta(seconds=seconds) for seconds in (400, 900))
    (said,) = re.findall(rf"All scored between <b>{AT}</b> and <b>{AT}</b>", page)
    local = [[f"{moment.astimezone(ward.hospital.zone) + timedelta(minutes=n):%H:%M}" for n in (-1, 0)] for moment in (low, high)]
    assert said[0] in local[0] and said[1] in local[1]


def test_the_worklist_says_it_too_and_without_a_worker_nobody_promises_anything(ward):
    order = ward.order(variants=5)
    assert len(re.findall(rf"<small>done {AT}–{AT}</small>", read(ward.analyst(), "worklist"))) == 1
    Worker.objects.all().delete()
    assert "<small>done" not in read(ward.analyst(), "worklist")
    page = read(ward.analyst(), "order", order.pk)
    assert "no estimate: no engine worker serves it now" in page and 'id="expected"' not in page


def test_a_pause_is_told_with_its_times_and_one_that_lasts_as_such(ward):
    order = scoring(ward.order())
    now = paused(order, (-60, -57), (-5, None))
    page = read(ward.requester(), "order", order.pk)
    began, ended, lasts = (f"{(now + timedelta(seconds=n)).astimezone(ward.hospital.zone):%H:%M:%S}" for n in (-60, -57, -5))
    assert re.findall(rf"Paused for more urgent work {AT}<small>resumed {AT}, after 3.0 s; results unchanged", page) == [
        (began, ended)
    ]
    assert re.findall(rf"<b>Paused</b> since {AT} for more urgent work", page) == [lasts]
    assert re.findall(rf"Paused for more urgent work {AT}<small>it goes on by itself", page) == [lasts]


def test_many_pauses_are_summed_up_but_for_the_latest(ward):
    order = scoring(ward.order())
    paused(order, *((-100 + 2 * n, -99 + 2 * n) for n in range(20)))
    page = read(ward.analyst(), "order", order.pk)
    assert page.count("Paused for more urgent work") == 6 and "14 earlier pauses for more urgent work, 14 s in all" in page


def test_a_pause_is_news_that_changes_the_timeline_of_an_open_page(ward):
    order, client = scoring(ward.order()), ward.analyst()
    paused(order)

    def rereads():
        seen = re.search(r'live\?shown=([^"]+)"', read(client, "order", order.pk)).group(1)
        return lambda: 'id="timeline" hx-swap-oob' in read(client, "order-live", order.pk, shown=seen)

    before = rereads()
    assert not before()
    paused(order, (-5, None))
    assert before()
    during = rereads()
    assert not during()
    paused(order, (-5, -1))
    assert during()


def test_a_row_whose_work_stands_still_says_so(ward):
    order = scoring(ward.order())
    claimed(order, low=60, high=90, state="paused")
    assert "paused for more urgent work · done <time" in read(ward.analyst(), "worklist")


@pytest.mark.parametrize(("told", "silent"), [(0, False), (60, True)])
def test_an_order_that_is_paused_is_not_taken_for_one_whose_worker_stopped(ward, told, silent):
    order = ward.order()
    Order.objects.filter(pk=order.pk).update(state="in_analysis", started_at=clock.now() - timedelta(seconds=40))
    claimed(order, low=60, high=90, told=told, state="paused")
    page = read(ward.analyst(), "order", order.pk)
    assert ("no score for 40 s" in page) == silent and ('id="expected"' in page) != silent


def test_an_order_at_risk_is_marked_in_words_listed_and_told_on_its_page_and_on_the_engine_page(ward):
    order = ward.order(variants=20)
    ward.order(variants=1, priority="urgent")
    forge(order, result_due=clock.now() + timedelta(seconds=20))
    risk.watch()
    listed = read(ward.analyst(), "worklist", chip="risk")
    assert re.findall(r'data-order="([^"]+)"', listed) == [str(order.pk)]
    assert "▲ at risk" in listed and "At risk<b>1</b>" in listed and "the later end of the estimate passes" in listed
    page = read(ward.analyst(), "order", order.pk)
    assert "At risk of being late.</b> Results are due" in page and "and may come only at <time" in page
    assert re.search(rf"At risk of being late {AT}<small>between {AT} and {AT}, due {AT}", page)
    engine = read(logged_in("operator", ward.laboratory), "engine")
    assert f"{ward.test.deployment_id}: 1 order is at risk of being late." in engine


def test_a_late_order_is_told_in_its_timeline(ward):
    order = ward.order()
    forge(order, result_due=clock.now() - timedelta(seconds=20))
    risk.watch()
    page = read(ward.analyst(), "order", order.pk)
    assert re.search(rf'class="red">Late {AT}', page) and 'id="risk"' not in page


def test_an_order_on_hold_promises_nothing(ward):
    order = ward.order()
    forge(order, hold_reason="hold.specimen")
    Run.objects.filter(order_id=order.pk).update(held=True)
    page = read(ward.analyst(), "order", order.pk)
    assert "<b>On hold</b>" in page and 'id="expected"' not in page and "in line" not in page


def held(order):
    """On hold, as the service leaves it."""
    forge(order, hold_reason="hold.specimen")
    Run.objects.filter(order_id=order.pk).update(held=True)
    Job.objects.filter(run__order_id=order.pk).update(held=True)
    return order


def test_an_order_on_hold_says_what_would_be_if_it_went_on(ward):
    ward.order(variants=30, priority="urgent")
    order = held(ward.order(variants=30))
    page = read(ward.analyst(), "order", order.pk)
    said = re.findall(rf"If it went on now, all would be scored between <b>{AT}</b> and <b>{AT}</b>, after 30 items of other", page)
    assert len(said) == 1
    Worker.objects.all().delete()
    assert "If it went on" not in read(ward.analyst(), "order", order.pk)


def test_the_worklist_shows_what_is_on_hold_and_why_and_lists_it(ward):
    order = held(scoring(ward.order()))
    ward.order()
    page = read(ward.analyst(), "worklist", chip="hold")
    assert re.findall(r'data-order="([^"]+)"', page) == [str(order.pk)]
    assert "On hold · 0 of 3" in page and "A question about the specimen" in page and "On hold<b>1</b>" in page


@pytest.mark.parametrize(
    ("state", "ahead", "told", "long", "short"),
    [
        ("waiting", 38, 0, "38 computations ahead of it in the engine", "38 ahead in the engine"),
        ("paused", 1, 0, "1 computation ahead of it in the engine", "1 ahead in the engine"),
        ("waiting", 0, 0, "next in the engine", "next in the engine"), ("running", 5, 0, "", ""), ("waiting", 38, 60, "", ""),
    ],
)  # fmt: skip
def test_where_an_order_stands_in_the_engine_is_said_while_nothing_of_it_runs_and_the_engine_says_so(
    ward, state, ahead, told, long, short
):
    order = scoring(ward.order())
    claimed(order, low=60, high=90, told=told, state=state)
    Job.objects.filter(run__order_id=order.pk).update(engine_ahead=ahead)
    page, listed = read(ward.analyst(), "order", order.pk), read(ward.analyst(), "worklist")
    said = re.findall(r"<b>Scoring · 0 of 3</b>(?: · ([^<]+))?</span>", page)
    assert said == [long] and f"Scoring · 0 of 3{' · ' + short if short else ''}</td>" in listed
    assert "before it" not in page


def test_an_order_between_two_parts_says_where_its_next_part_stands(ward):
    ward.order(variants=1, priority="urgent")
    order = scoring(ward.order())
    assert "Scoring · 0 of 3</b> · next part 2nd in line" in read(ward.analyst(), "order", order.pk)


def test_an_order_that_waits_in_an_engine_is_not_taken_for_one_whose_worker_stopped(ward):
    order = ward.order()
    Order.objects.filter(pk=order.pk).update(state="in_analysis", started_at=clock.now() - timedelta(seconds=40))
    claimed(order, low=60, high=90, state="waiting")
    page = read(ward.analyst(), "order", order.pk)
    assert "no score for" not in page and 'id="expected"' in page


def test_an_order_of_which_a_part_waits_for_a_person_promises_nothing(ward):
    order = scoring(ward.order(variants=60))
    first = Job.objects.filter(run__order_id=order.pk).earliest("pk")
    Job.objects.filter(pk=first.pk).update(attention="job.cannot-start")
    page = read(ward.analyst(), "order", order.pk)
    assert "no estimate: a part of it waits for a person" in page and 'id="expected"' not in page
    assert "<small>done" not in read(ward.analyst(), "worklist")


def test_an_order_that_is_parked_has_no_place_in_the_line(ward):
    order = ward.order()
    somebody = replace(make_request(order.intake).patient, mrn=order.stated_mrn)
    parked = ward.order(patient=somebody)
    assert parked.state == "submitted"
    page = read(ward.analyst(), "order", parked.pk)
    assert "It has no place in the line: nothing of it is scored." in page and "as long as it is parked" in page
    assert "</b></span>\n    </div>" in page, "no time left is shown where none is promised"
