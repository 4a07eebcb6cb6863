"""Late orders say whether anybody was told; the turnaround report says its figures in words, a picture and a file."""

import itertools
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.urls import reverse

from accounts.roles import Role
from dashboard import local_time, turnaround_page
from foundation import clock
from orders.models import DelayNotice, Order
from tests.dashboard.people import Ward, logged_in, read, shown
from tests.factories import make_laboratory
from tests.forging import forge

pytestmark = pytest.mark.django_db


@pytest.fixture
def ward():
    return Ward()


@pytest.fixture
def late(ward, monkeypatch) -> Order:
    now = clock.now()
    with monkeypatch.context() as before:
        before.setattr(clock, "_source", lambda: now - timedelta(hours=1))
        order = ward.order()
    forge(order, result_due=now - timedelta(minutes=3))
    return Order.objects.get(pk=order.pk)


def told(client, order: Order, **said):
    moment = clock.now() - timedelta(minutes=2)
    values = {"told": "Dr Ordering", "means": "phone", "told_at": f"{moment:%Y-%m-%dT%H:%M}", "words": "", **said}
    return client.post(reverse("order-delay", args=[order.pk]), values)


def test_worklist_and_order_page_say_that_nobody_was_told_and_then_that_somebody_was(ward, late):
    client = ward.analyst()
    for page in (read(client, "worklist"), read(client, "order", late.pk).lower()):
        assert "nobody told yet" in page
    assert told(client, late).status_code == 302
    assert "delay told" in read(client, "worklist") and "nobody told" not in read(client, "worklist")
    page = read(client, "order", late.pk)
    assert shown("Delay told: Dr Ordering", page) and "Told of the delay" in page
    assert "Record" not in read(ward.requester(), "order", late.pk)


def test_a_form_that_is_wrong_says_so_at_the_field_and_keeps_what_was_typed(ward, late):
    answer = told(ward.analyst(), late, told="", means="", words="a word", told_at="2199-01-01T00:00")
    page = answer.content.decode()
    assert answer.status_code == 409 and not DelayNotice.objects.exists()
    for words in ("Who was told: Say who was told", "Choose how", "lies in the future", 'value="a word"', 'id="id_told_error"'):
        assert words in page, words


@pytest.mark.parametrize("typed", ["", "soon", "2026-02-30T00:00", "0001-01-01T00:00"])
def test_digits_that_are_no_time_are_refused(ward, late, typed):
    assert told(ward.analyst(), late, told_at=typed).status_code == 409


def test_a_time_that_came_twice_is_asked_back():
    zone = ZoneInfo("Europe/Berlin")
    with pytest.raises(local_time.Unclear, match="came twice"):
        local_time.read("2026-10-25T02:30", "", zone)
    with pytest.raises(local_time.Unclear, match="skipped"):
        local_time.read("2026-03-29T02:30", "", zone)
    assert local_time.read("2026-10-25T02:30", "1", zone) == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


def test_an_order_on_hold_tells_a_clock_that_stands(ward):
    order = ward.order()
    stopped = clock.now() - timedelta(hours=3)
    forge(order, hold_reason="hold.input", clock_stopped_at=stopped, result_due=stopped + timedelta(minutes=20))
    page = read(ward.analyst(), "worklist")
    assert "20 min left" in page and "clock stopped" in page and "nobody told" not in page


def test_the_report_has_picture_table_and_file_with_links_for_those_who_may_list(ward, late):
    ward.scored()
    page = read(ward.analyst(), "turnaround")
    assert "<svg" in page and 'aria-label="Turnaround by wall clock.' in page and "?chip=late" in page
    assert "open and late" in page and shown("accepted to scored", page)
    auditor = logged_in(Role.AUDITOR, ward.laboratory)
    assert "?chip=late" not in read(auditor, "turnaround")
    rows = auditor.get(reverse("turnaround.csv")).content.decode().split("\r\n")
    assert rows[0].startswith("by,name,orders,through,wall_median_seconds") and rows[1].startswith("segment,placed to accepted,2,2")


def test_a_name_that_a_spreadsheet_would_compute_is_disarmed():
    assert turnaround_page.disarmed("=1+1") == "'=1+1"


@pytest.mark.parametrize(
    ("query", "words"),
    [({"from": "yesterday"}, "is no day"), ({"from": "2026-03-02", "to": "2026-03-01"}, "ends before it begins"),
     ({"from": "2020-01-01", "to": "2026-03-01"}, "At most 400 days"), ({"from": "0001-01-01"}, "is no day")],
)  # fmt: skip
def test_a_period_that_cannot_be_shown_is_said_in_words(ward, query, words):
    assert words in read(ward.analyst(), "turnaround", **query)


def test_a_laboratory_of_others_and_a_test_of_nobody_show_nothing(ward, late):
    stranger = logged_in(Role.DIRECTOR, make_laboratory())
    assert stranger.get(reverse("turnaround"), {"laboratory": ward.laboratory.code}).status_code == 404
    assert "No order was placed" in read(stranger, "turnaround")
    assert "No order was placed" not in read(ward.analyst(), "turnaround", test="nonsense", priority="soon")


def test_a_telephone_gets_a_narrow_picture_with_the_same_words_and_marks_that_do_not_touch(ward):
    ward.scored()
    pictures = re.findall(r"<svg.*?</svg>", read(ward.analyst(), "turnaround"), re.DOTALL)
    wide, narrow = (set(re.findall(r"<text[^>]*>([^<]+)", one)) for one in pictures)
    assert narrow <= wide and "accepted to scored" in narrow
    marks = [float(x) for x in re.findall(r'<text x="([\d.]+)"[^>]*class="axis"', pictures[1])]
    assert all(abs(a - b) >= 44 for a, b in itertools.pairwise(marks))
