"""The STAT list for a downtime: every open STAT order in reach, what is needed to go on by hand, and when it was read."""

import pytest

from accounts.roles import Role
from orders import services
from orders.models import Order
from tests.dashboard.people import Ward, logged_in, read
from tests.factories import make_actor
from tests.reports.cases import patient

pytestmark = pytest.mark.django_db


def test_it_has_every_open_stat_order_in_reach_the_soonest_first_and_what_is_needed_by_hand() -> None:
    ward = Ward(time_zone="Europe/Berlin")
    first = ward.order(priority="stat", stat_reason="suspected sepsis", patient=patient(mrn="88·1204", family_name="Okafor"))
    second, routine, gone = ward.order(priority="stat"), ward.order(), ward.order(priority="stat")
    Ward().order(priority="stat", patient=patient(family_name="Elsewhere"))
    director = make_actor(role=Role.DIRECTOR, organisation=ward.laboratory)
    services.cancel(actor=director, order=gone, reason="placed twice", expected_edits=1)
    page = read(ward.analyst(), "stat-list")
    assert page.index(first.accession) < page.index(second.accession) and "2 open STAT orders, as of" in page
    assert routine.accession not in page and gone.accession not in page and "Elsewhere" not in page
    specimen = Order.objects.get(pk=first.pk).specimen.identifier
    assert all(words in page for words in ("Okafor", "88·1204", "suspected sepsis", specimen, "1970-01-31", ward.hospital.name))
    assert 'hx-trigger="every 30s"' in read(ward.requester(), "stat-list-live")


def test_who_sees_no_orders_gets_none_and_an_empty_list_says_so() -> None:
    ward = Ward()
    assert "No STAT order is open." in read(ward.analyst(), "stat-list")
    assert "Your role does not include orders." in read(logged_in(Role.OPERATOR, ward.laboratory), "stat-list")


def test_it_takes_as_many_queries_for_ten_orders_as_for_two(django_assert_max_num_queries) -> None:
    ward = Ward()
    client = ward.analyst()
    for _ in range(10):
        ward.order(priority="stat")
    with django_assert_max_num_queries(20):
        read(client, "stat-list")
