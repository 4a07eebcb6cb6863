"""The reception page, the page of one specimen, and what a requester reads of a rejection."""

from dataclasses import replace
from datetime import date

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Site
from accounts.roles import Role
from casefile.models import Draft
from dashboard import local_time
from foundation import clock
from orders import identity_decisions
from orders.models import Order
from orders.requests import PatientDetails
from tests.dashboard.desk import Desk
from tests.dashboard.people import Ward, logged_in, read, shown
from tests.factories import make_actor, make_provider, make_request
from tests.orders.people import check_of, seen

pytestmark = pytest.mark.django_db


@pytest.fixture
def ward() -> Ward:
    return Ward()


def accessioner(ward: Ward):
    return logged_in(Role.ACCESSIONER, ward.laboratory)


def post(client, order: Order, **data: str):
    return client.post(reverse("specimen", args=[order.pk]), data)


def now() -> str:
    return f"{clock.now():%Y-%m-%dT%H:%M}"


def test_a_scan_leads_to_the_order_with_two_identifiers_and_back_after_reception(ward: Ward) -> None:
    order, client = ward.order(), accessioner(ward)
    found = client.get(reverse("specimens"), {"scan": order.specimen.identifier})
    assert found["Location"] == reverse("specimen", args=[order.pk])
    page = client.get(found["Location"]).content.decode()
    assert "born 31 Jan 1970" in page and order.stated_mrn in page and order.specimen.identifier in page
    done = post(client, order, do="receive", received_at=now(), condition="acceptable")
    assert done["Location"] == reverse("specimens")
    order.specimen.refresh_from_db()
    assert order.specimen.state == "received"
    assert shown("Acceptable", read(client, "specimens")) and "Specimen received" in read(client, "order", order.pk)


def test_a_second_reception_is_refused_in_words_and_shows_the_first(ward: Ward) -> None:
    order, client = ward.order(), accessioner(ward)
    for status in (302, 409):
        answer = post(client, order, do="receive", received_at=now(), condition="acceptable")
        assert answer.status_code == status
    assert shown("This specimen was received before by", answer.content.decode()) and 'id="receive"' not in answer.content.decode()


def test_what_is_wrong_is_said_at_the_field_and_what_was_typed_stays(ward: Ward) -> None:
    order = ward.order()
    answer = post(accessioner(ward), order, do="receive", received_at="2020-01-01T00:00", condition="warm", words="30 degrees")
    page = answer.content.decode()
    assert answer.status_code == 409 and 'href="#id_received_at"' in page and 'href="#id_late_reason"' in page
    assert 'value="30 degrees"' in page and '<option value="warm" selected>' in page


def test_times_are_typed_and_shown_in_the_zone_of_the_performing_site(ward: Ward) -> None:
    order = ward.order()
    Site.objects.filter(pk=order.performing_site_id).update(time_zone="Asia/Tokyo")
    page = read(accessioner(ward), "specimen", order.pk)
    assert "Asia/Tokyo, JST, UTC+9" in page
    zone = Order.objects.get(pk=order.pk).performing_site.zone
    post(accessioner(ward), order, do="receive", received_at=local_time.shown(clock.now(), zone), condition="acceptable")
    order.specimen.refresh_from_db()
    assert abs((clock.now() - order.specimen.received_at).total_seconds()) < 120


def test_a_time_that_came_twice_is_asked_back(ward: Ward) -> None:
    order = ward.order()
    Site.objects.filter(pk=order.performing_site_id).update(time_zone="Europe/Berlin")
    answer = post(accessioner(ward), order, do="receive", received_at="2026-10-25T02:30", condition="acceptable")
    assert shown("this time came twice", answer.content.decode()) and 'id="id_received_fold"' in answer.content.decode()


def test_a_label_of_several_orders_is_chosen_from_and_an_unknown_one_says_what_to_do(ward: Ward) -> None:
    second = ward.order()
    label = second.specimen.identifier
    same = ward.order(specimen=replace(make_request(ward.intake()).specimen, identifier=label))
    page = read(accessioner(ward), "specimens", scan=label)
    assert second.accession in page and same.accession in page and "2 orders have the label" in page
    assert shown("call the sender", read(accessioner(ward), "specimens", scan="nowhere"))


def test_a_rejection_is_told_on_the_order_and_on_the_worklist_of_its_requester_until_he_has_read_it(ward: Ward) -> None:
    order, requester = ward.order(), ward.requester()
    answer = post(accessioner(ward), order, do="reject", reason="specimen.other", rejected_words="")
    assert 'href="#id_rejected_words"' in answer.content.decode()
    post(accessioner(ward), order, do="reject", reason="specimen.leaked", rejected_words="all of it")
    page = read(requester, "worklist")
    assert "1 specimen that you ordered on was rejected." in page and shown("The specimen has leaked. all of it", page)
    assert shown("The specimen has leaked. all of it", read(requester, "order", order.pk).replace("</b>", ""))
    assert post(requester, order, do="read")["Location"] == reverse("worklist")
    assert "you ordered on" not in read(requester, "worklist")


def test_a_mistake_is_taken_back_on_the_page_and_both_can_still_be_read(ward: Ward) -> None:
    order, client = ward.order(priority="stat", stat_reason=""), accessioner(ward)
    post(client, order, do="reject", reason="specimen.leaked", rejected_words="all of it")
    lines = read(ward.analyst(), "worklist")
    assert "Specimen rejected; STAT without a reason" in lines  # each of what needs a person
    page = read(client, "specimen", order.pk)
    assert 'id="take-back"' in page and 'id="take-back"' not in read(ward.analyst(), "specimen", order.pk)
    assert post(client, order, do="take_back", version="2", correction_words="").status_code == 409
    assert post(client, order, do="take_back", version="2", correction_words="another tube").status_code == 302
    for shows in (read(client, "specimen", order.pk), read(ward.requester(), "order", order.pk)):
        assert "The specimen has leaked. all of it</s>" in shows and "A mistake: another tube" in shows
    assert "Rejection taken back" in read(ward.requester(), "order", order.pk)


def test_a_recollection_is_the_same_order_on_a_new_specimen_linked_both_ways(ward: Ward) -> None:
    provider = make_provider(ward.hospital, "Dr Rita")
    order, desk = ward.order(provider_id=provider.pk, priority="stat"), Desk(ward)
    assert desk.client.post(reverse("order-recollect", args=[order.pk]))["Location"] == reverse("order", args=[order.pk])
    post(accessioner(ward), order, do="reject", reason="specimen.leaked")
    assert 'id="recollect"' in read(desk.client, "order", order.pk)
    form = desk.client.get(desk.client.post(reverse("order-recollect", args=[order.pk]))["Location"]).content.decode()
    for kept in (order.stated_mrn, "Muster", "Dr Rita", order.stat_reason, f'value="{order.pk}"'):
        assert kept in form, kept
    assert order.specimen.identifier not in form and 'name="intake"' not in form
    assert "add the file that comes from it" in form and "file are filled in" not in form
    new = ward.order(provider_id=provider.pk, patient=_of(order), repeats=order.pk)
    assert new.accession in read(desk.client, "order", order.pk) and "Recollected as" in read(desk.client, "order", order.pk)
    assert "Recollected for" in read(desk.client, "order", new.pk) and "you ordered on" not in read(desk.client, "worklist")


def test_an_order_whose_recollection_was_rejected_is_ordered_again_once_more(ward: Ward) -> None:
    order, requester, clerk = ward.order(), ward.requester(), make_actor(role=Role.ACCESSIONER, organisation=ward.laboratory)
    post(accessioner(ward), order, do="reject", reason="specimen.leaked")
    parked = ward.order(patient=replace(_of(order), birth_date=date(1971, 1, 31)), repeats=order.pk)
    assert 'id="recollect"' not in read(requester, "order", order.pk)
    check = check_of(parked)
    identity_decisions.reject(check=check, words="nobody knows", actor=clerk, expected=seen(check))
    page = read(requester, "order", order.pk)
    assert 'id="recollect"' in page and parked.accession in page and "which ended before it was accepted" in page


def test_an_order_whose_specimen_was_rejected_is_not_repeated_on_its_old_file(ward: Ward) -> None:
    order, requester = ward.order(), ward.requester()
    assert 'id="repeat"' in read(requester, "order", order.pk)
    post(accessioner(ward), order, do="reject", reason="specimen.leaked")
    assert 'id="repeat"' not in read(requester, "order", order.pk)
    forged = requester.post(reverse("order-repeat", args=[order.pk]), {"specimen": "same"}, follow=True)
    assert "order again on a new one" in forged.content.decode()
    assert not Draft.objects.exists()


def _of(order: Order) -> PatientDetails:
    it = order.patient
    return PatientDetails(order.stated_mrn, it.family_name, it.given_name, it.birth_date, it.sex)


def test_a_requester_is_offered_nothing_on_the_page_of_a_specimen_and_a_forged_form_is_refused(ward: Ward) -> None:
    order, requester = ward.order(), ward.requester()
    page = read(requester, "specimen", order.pk)
    assert 'id="receive"' not in page and 'id="reject"' not in page
    for deed in (
        {"do": "receive", "received_at": now(), "condition": "acceptable"},
        {"do": "reject", "reason": "specimen.leaked"},
        {},
    ):
        assert post(requester, order, **deed).status_code == 409


def test_a_long_list_costs_no_query_for_each_row(ward: Ward) -> None:
    client = accessioner(ward)
    ward.order()
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            read(client, "specimens")
        counts.append(len(queries))
        for _ in range(4):
            ward.order()
    assert counts[0] == counts[1]
