"""What the worklist says where no STAT order is open, how long the oldest one waits, and names on a screen that others see."""

from datetime import timedelta

import pytest
from django.urls import reverse

from foundation import clock
from orders.models import Order
from tests.dashboard.people import Ward, read, shown
from tests.forging import forge
from tests.reports.cases import patient

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


@pytest.fixture
def ward() -> Ward:
    return Ward(time_zone="Asia/Kolkata")


def stat(ward: Ward, *, placed: int, **columns: object) -> Order:
    """A STAT order placed so many minutes ago."""
    order, at = ward.order(priority="stat"), clock.now() - placed * MINUTE
    forge(order, placed_at=at, accepted_at=at, **columns)
    return Order.objects.get(pk=order.pk)


def test_the_system_line_says_how_long_the_oldest_stat_order_waits_for_results(ward: Ward) -> None:
    assert "No STAT waits" in read(ward.analyst(), "worklist")
    now = clock.now()
    stat(ward, placed=60, state="awaiting_review", started_at=now, scored_at=now)
    stat(ward, placed=40, hold_reason="hold.input", hold_agreed=True, clock_stopped_at=now)
    assert "No STAT waits" in read(ward.analyst(), "worklist")
    stat(ward, placed=12)
    stat(ward, placed=5, state="in_analysis", started_at=now)
    for client in (ward.analyst(), ward.requester()):
        assert "Oldest STAT waits <b>12 min</b>, since" in read(client, "worklist-live")
    assert "No STAT waits" in read(Ward().analyst(), "worklist")


def test_where_no_stat_order_is_open_the_last_one_that_finished_is_told_in_the_readers_zone(ward: Ward) -> None:
    at = clock.now() - timedelta(hours=1)
    closed = {"state": "cancelled", "ended_at": clock.now()}
    stat(ward, placed=200, started_at=at, scored_at=at - 90 * MINUTE, **closed)
    last = stat(ward, placed=72, started_at=at, scored_at=at, **closed)
    stat(ward, placed=30, **closed)  # never finished
    stat(ward, placed=31 * 24 * 60, started_at=at, scored_at=clock.now(), **closed)  # of last month
    page = read(ward.requester(), "worklist")
    local = last.scored_at.astimezone(ward.hospital.zone) if last.scored_at else at
    assert "No STAT orders" in page and f"{local:%H:%M}</time> in 12 min. An open STAT order" in page
    assert "Last one finished" in read(ward.analyst(), "worklist")
    assert "Last one finished" not in read(Ward().analyst(), "worklist")
    stat(ward, placed=1)
    assert "Last one finished" not in read(ward.analyst(), "worklist")


def test_names_are_shown_as_initials_to_who_chose_so_until_he_chooses_otherwise(ward: Ward) -> None:
    order = ward.order(patient=patient(family_name="ørsted", given_name="Anna Maria"))
    client, colleague = ward.analyst(), ward.analyst()
    answer = client.post(reverse("worklist-names"), {"names": "initials", "list": "chip=unassigned&evil=1"})
    assert answer["Location"] == f"{reverse('worklist')}?chip=unassigned"
    for name in ("worklist", "worklist-live"):
        page = read(client, name)
        assert shown("Ø., A.", page) and "rsted" not in page and "Anna" not in page and order.stated_mrn in page
        assert 'value="whole" aria-pressed="true"' in page
        assert shown("ørsted, Anna Maria", read(colleague, name))
    assert "rsted" in read(client, "order", order.pk)  # who opens an order wants to know whose it is
    client.post(reverse("worklist-names"), {"names": "whole"})
    assert shown("ørsted, Anna Maria", read(client, "worklist"))
